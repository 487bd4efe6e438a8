import Errand
import Synchronization

/// Shows on standard error what is sent and received, without secrets: connections, requests and responses as they are on the wire.
final class Narration: EventSink, Sendable {
    private struct State {
        /// The request that waits for its connection.
        var pending: (@Sendable (_ version: String) -> String)?
        /// By the connection's number.
        var versions: [Int: String] = [:]
        /// That of the connection which was opened last.
        var lastVersion = "1.1"
    }

    private let state = Mutex(State())

    /// A connection was opened that speaks this version of HTTP.
    func opened(_ version: String) { state.withLock { $0.lastVersion = version } }

    /// The request is shown when there is a connection for it, with the version that is spoken there.
    func announce(_ text: @escaping @Sendable (_ version: String) -> String) { state.withLock { $0.pending = text } }

    func record(_ event: ExchangeEvent) {
        guard event.kind == .connectionAcquired || event.kind == .requestHeadSent else { return }
        let lines = state.withLock { state -> [String] in
            var lines: [String] = []
            var version = state.lastVersion
            if let connection = event.connection {
                version = state.versions[connection.number] ?? version
                state.versions[connection.number] = version
                if let address = connection.peerAddress, let port = connection.peerPort {
                    lines.append("* \(connection.isReused ? "reused the connection" : "connected") to \(address) port \(port)")
                }
            }
            if let pending = state.pending { lines.append(pending(version)) }
            state.pending = nil
            return lines
        }
        for line in lines { Terminal.say(line) }
    }
}

/// Shows each exchange. Innermost, so that it sees each attempt and each hop.
struct ExchangeNarrator: HTTPMiddleware {
    let narration: Narration
    /// Whether requests for http URLs go through a proxy, which is sent the whole URL.
    let hasProxy: Bool
    let decompresses: Bool

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        let (hasProxy, decompresses) = (hasProxy, decompresses)
        narration.announce { version in Self.text(of: request, version: version, hasProxy: hasProxy, decompresses: decompresses) }
        let response = try await next.send(request)
        var text = "< HTTP/\(response.metadata.httpVersion ?? "?") \(response.status.code) \(response.status.reasonPhrase.shownSafely())\n"
        for (name, value) in request.options.sensitivity.shown(response.headers) {
            text += "< \(name): \(value.shownSafely(limit: 4000))\n"
        }
        Terminal.say(text + "<")
        return response
    }

    /// The head as the transport sends it, with the fields that it adds.
    static func text(of request: Request, version: String, hasProxy: Bool, decompresses: Bool) -> String {
        let sensitivity = request.options.sensitivity
        let target = hasProxy && request.head.scheme == "http" ? request.redactedURL : sensitivity.redactedURL(request.head.path ?? "/")
        var text = "> \(request.method.rawValue) \(target) HTTP/\(version)\n"
        let fields = request.headers
        if !fields.contains(where: { $0.name.canonicalName == "host" }) { text += "> Host: \(request.url?.authority ?? "")\n" }
        for (name, value) in sensitivity.shown(fields) where !["content-length", "transfer-encoding"].contains(name.lowercased()) {
            text += "> \(name): \(value.shownSafely(limit: 4000))\n"
        }
        if decompresses, fields[.acceptEncoding] == nil, fields[.range] == nil { text += "> Accept-Encoding: gzip, deflate\n" }
        if request.body.isEmpty {
            // For the other methods, even an empty body has a meaning (RFC 9110, section 8.6).
            if !["GET", "HEAD", "DELETE", "CONNECT", "TRACE"].contains(request.method.rawValue) { text += "> Content-Length: 0\n" }
        } else if let length = request.body.length {
            text += "> Content-Length: \(length)\n"
        } else if version != "2" {
            text += "> Transfer-Encoding: chunked\n"
        }
        return text + ">"
    }
}

/// Shows which attempt begins, and why. Inside `retry`, outside `redirect`.
final class AttemptNarrator: HTTPMiddleware, Sendable {
    private let attempts = Mutex((count: 0, last: ""))

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        let (count, last) = attempts.withLock { attempts in
            attempts.count += 1
            return attempts
        }
        if count > 1 { Terminal.say("* attempt \(count) after \(last)") }
        do {
            let response = try await next.send(request)
            attempts.withLock { $0.last = "\(response.status.code)" }
            return response
        } catch {
            attempts.withLock { $0.last = (error as? TransportError)?.code.description ?? "\(type(of: error))" }
            throw error
        }
    }
}
