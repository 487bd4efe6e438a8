import Errand
import HTTPTypes
import Synchronization

/// Receives the events of the exchanges. With `-v`, shows connections, requests and responses on standard error, as they are on the
/// wire, but without secrets.
final class Narration: EventSink, Sendable {
    private struct State {
        /// The request that waits for its connection.
        var pending: (@Sendable (_ version: HTTPVersion) -> String)?
        var openedConnections = 0
        var steps = ExchangeSteps()
    }

    /// The last exchange.
    let last = LastExchange()
    /// The heads of the responses, if the stack watches them.
    let heads = HopHeads()
    private let state = Mutex(State())
    private let isShown: Bool
    private let saysRetries: Bool
    private let waitNotice: NetworkWait.Notice?
    private let versionOfConnection: @Sendable (_ number: Int) -> HTTPVersion?

    /// - Parameters:
    ///   - isShown: whether connections, requests, responses and the waits before retries are written.
    ///   - saysRetries: whether each wait before a retry is written, if the rest is not.
    ///   - waitNotice: reports the waits for a network; `nil` if requests do not wait.
    ///   - versionOfConnection: the version of HTTP that a connection speaks, by the connection's number.
    init(
        isShown: Bool, saysRetries: Bool, waitNotice: NetworkWait.Notice?,
        versionOfConnection: @escaping @Sendable (_ number: Int) -> HTTPVersion?
    ) {
        (self.isShown, self.saysRetries, self.waitNotice) = (isShown, saysRetries, waitNotice)
        self.versionOfConnection = versionOfConnection
    }

    /// The number of connections that were opened for the request, its redirects and its retries.
    var openedConnections: Int { state.withLock { $0.openedConnections } }

    /// The steps of the last exchange.
    ///
    /// - Parameter start: the start of the call.
    func steps(since start: ContinuousClock.Instant) -> ExchangeSteps {
        var steps = state.withLock { $0.steps }
        steps.start = start
        return steps
    }

    /// Keeps the text of a request until there is a connection for it, whose version of HTTP the text names.
    func announce(_ text: @escaping @Sendable (_ version: HTTPVersion) -> String) { state.withLock { $0.pending = text } }

    func record(_ event: ExchangeEvent) {
        waitNotice?.record(event)
        state.withLock { $0.steps.record(event) }
        if isShown || saysRetries, event.kind == .retryDecision, let decision = event.decision, decision.continues,
            let delay = decision.delay
        {
            let seconds = (delay / .seconds(1) * 100).rounded() / 100
            Terminal.say("\(isShown ? "*" : "errand:") \(decision) after \(seconds.shortText) s")
        }
        if isShown, let decision = event.decision {
            switch event.kind {
            case .hstsDecision: Terminal.say("* HSTS: \(decision)")
            case .cookieDecision: Terminal.say("* cookies: \(decision)")
            case .cacheDecision: Terminal.say("* cache: \(decision)")
            default: break
            }
        }
        guard event.kind == .connectionAcquired, let connection = event.connection else { return }
        let (pending, steps) = state.withLock { state in
            if !connection.isReused { state.openedConnections += 1 }
            defer { state.pending = nil }
            return (state.pending, state.steps)
        }
        guard isShown else { return }
        let version = versionOfConnection(connection.number) ?? .http1_1
        if let address = connection.peerAddress, let port = connection.peerPort {
            Terminal.say("* \(connection.isReused ? "reused the connection" : "connected") to \(address) port \(port)")
        }
        if !connection.isReused, let text = steps.tlsText(for: version) { Terminal.say("* \(text)") }
        if let pending { Terminal.say(pending(version)) }
    }
}

/// Shows each exchange. The innermost middleware, so that it sees each attempt and each hop.
struct ExchangeNarrator: HTTPMiddleware {
    let narration: Narration
    let proxy: ProxyPolicy

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        let isForProxy = Self.isReadByProxy(request, proxy)
        narration.announce { version in Self.text(of: request, version: version, isForProxy: isForProxy) }
        let response = try await next.send(request)
        var text =
            "< \(response.metadata.httpVersion?.rawValue ?? "HTTP/?") \(response.status.code) \(response.status.reasonPhrase.shownSafely())\n"
        for (name, value) in request.options.sensitivity.shown(response.headers) {
            text += "< \(name): \(value.shownSafely(limit: 4000))\n"
        }
        Terminal.say(text + "<")
        return response
    }

    /// Whether the request goes to an HTTP proxy with its whole URL. If there is a tunnel, the proxy does not read the request.
    private static func isReadByProxy(_ request: Request, _ policy: ProxyPolicy) -> Bool {
        guard let origin = request.origin, origin.scheme == "http", let proxy = try? policy.proxy(for: origin) else { return false }
        return proxy.kind != .socks5
    }

    /// The head as the transport sends it, with the fields that it adds.
    static func text(of request: Request, version: HTTPVersion, isForProxy: Bool) -> String {
        let sensitivity = request.options.sensitivity
        let target = isForProxy ? request.redactedURL : sensitivity.redactedURL(request.head.path ?? "/")
        var text = "> \(request.method.rawValue) \(target) \(version)\n"
        let fields = request.headers
        if !fields.contains(where: { $0.name.canonicalName == "host" }) { text += "> Host: \(request.url?.authority ?? "")\n" }
        for (name, value) in sensitivity.shown(fields) where !["content-length", "transfer-encoding"].contains(name.lowercased()) {
            text += "> \(name): \(value.shownSafely(limit: 4000))\n"
        }
        if request.body.isEmpty {
            // For the other methods, even an empty body has a meaning (RFC 9110, section 8.6).
            if !["GET", "HEAD", "DELETE", "CONNECT", "TRACE"].contains(request.method.rawValue) { text += "> Content-Length: 0\n" }
        } else if let length = request.body.length {
            text += "> Content-Length: \(length)\n"
        } else if version != .http2 {
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

/// Remembers the last exchange, for the output after a failure.
final class LastExchange: Sendable {
    private struct State {
        var request: Request?
        var head: HTTPResponse?
        var httpVersion: HTTPVersion?
        var hops = 0
        var attempts = 0
    }

    private let state = Mutex(State())

    /// The place of a watching middleware in the stack.
    enum Place {
        /// Innermost: each exchange.
        case exchange
        /// Inside `redirect`: each hop.
        case hop
        /// Inside `retry`: each attempt, which begins without a response.
        case attempt
    }

    struct Watch: HTTPMiddleware {
        let exchange: LastExchange
        let place: Place

        func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
            exchange.begin(request, place)
            let response = try await next.send(request)
            if case .exchange = place { exchange.end(response) }
            return response
        }
    }

    private func begin(_ request: Request, _ place: Place) {
        state.withLock { state in
            switch place {
            case .exchange: break
            case .hop:
                state.hops += 1
                state.request = request
            case .attempt:
                state.attempts += 1
                (state.hops, state.request, state.head, state.httpVersion) = (0, request, nil, nil)
            }
        }
    }

    private func end(_ response: Response) {
        state.withLock { state in
            (state.head, state.httpVersion) = (response.head, response.metadata.httpVersion)
        }
    }

    /// The values of a call that failed.
    ///
    /// - Parameter request: the first request of the call.
    func values(
        of request: Request, bytes: Int, elapsed: Duration, file: String?, openedConnections: Int, proxy: ProxyPolicy, steps: ExchangeSteps
    ) -> WriteOut {
        let state = state.withLock { $0 }
        let last = state.request ?? request
        return WriteOut(
            request: last, head: state.head, httpVersion: state.httpVersion, redirects: max(0, state.hops - 1),
            retries: max(0, state.attempts - 1), bytes: bytes, elapsed: elapsed, file: file, openedConnections: openedConnections,
            usesProxy: last.origin.flatMap { try? proxy.proxy(for: $0) } != nil, steps: steps)
    }
}
