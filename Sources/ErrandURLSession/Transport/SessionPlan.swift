internal import ErrandCore
internal import ErrandFormats
internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The decisions about the task of a request, before the task is created.
struct SessionPlan: Sendable {
    let rules: SessionExchange.Machine.Rules
    /// Whether the task needs a session of its own.
    let ownsSession: Bool

    /// - Parameters:
    ///   - sent: the request of the session, with its bytes in memory, after the closure `configure` of the transport has run.
    ///   - hasStream: whether the session reads the body from a stream.
    ///   - isChanged: whether the closure `configure` has changed the URL or the credentials.
    init(
        for request: Request, sending sent: URLRequest, hasStream: Bool, isChanged: Bool, tls: SessionTLS = .system,
        abilities: SessionAbilities = .current
    ) {
        let hasBytes = sent.httpBody?.isEmpty == false
        var rules = SessionExchange.Machine.Rules(for: request, tls, abilities)
        if isChanged { rules.notes = [.requestChanged] }
        rules.decidedServer = SessionExchange.Machine.Rules.decidedServer(of: request, at: sent.url)
        rules.reportsSentBytes = hasBytes || hasStream && request.body.length ?? 0 > 0
        self.rules = rules
        ownsSession =
            rules.needsOwnSession
            || abilities.needsOwnSession(sent.httpMethod ?? "GET", body: hasStream ? .stream : hasBytes ? .inMemory : .none)
    }
}

extension SessionExchange.Machine.Rules {
    init(for request: Request, _ tls: SessionTLS = .system, _ abilities: SessionAbilities = .current) {
        self.init(
            canSuspend: abilities.canSuspend, requestLength: request.body.length,
            canRestartBody: request.body.replay.canRestart,
            mayRepeatSentBody: request.method.isIdempotent, checksServerTrust: tls.trust.isNeeded,
            isUncheckedServer: request.origin.map { tls.trust.uncheckedHosts.contains($0.host) } ?? false,
            hasClientCertificate: tls.clientCredential != nil)
    }

    /// Returns the server about whose certificates a request decides. `nil` if the request has no closure, or if the URL has no TLS.
    ///
    /// - Parameter url: the URL of the session's request. The closure `configure` of the transport may have changed the URL.
    static func decidedServer(of request: Request, at url: URL?) -> Origin? {
        guard request.options.onServerTrust != nil else { return nil }
        let origin = url.flatMap { try? HTTPURL($0).origin } ?? request.origin
        return (origin?.scheme).isExactly("https") ? origin : nil
    }

    /// Whether the task needs a session of its own. A session shares its connections between its tasks, and reports the certificates only
    /// once for each connection.
    var needsOwnSession: Bool { decidedServer != nil }
}
