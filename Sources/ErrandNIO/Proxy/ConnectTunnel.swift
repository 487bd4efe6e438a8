#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore

/// Asks an HTTP proxy for a tunnel by CONNECT ([RFC 9110, section 9.3.6](https://www.rfc-editor.org/rfc/rfc9110#section-9.3.6)).
///
/// The request carries only the host, and the credentials for the proxy. The body of a refusal is not read. The body of a challenge is read
/// up to ``bodyLimitBytes``, so that the connection can be used for the next request.
struct ConnectTunnel: Tunnel {
    /// The maximum number of bytes to read from the body of a challenge: 64 KiB. Reading a longer body costs more than a new
    /// connection.
    static let bodyLimitBytes = 64 * 1024

    private enum State {
        case head
        /// The body of a challenge is being read. The value is the number of bytes read so far.
        case body(Int)
        case over
    }

    private let proxy: ProxyServer
    private let target: String
    private let name: String
    private var dialog: ProxyDialog
    private var parser: ResponseParser
    private var state = State.head
    private var hasReceived = false

    init(through proxy: ProxyServer, to route: Route, _ dialog: ProxyDialog, limits: ResponseLimits) {
        (self.proxy, target, self.dialog) = (proxy, route.target, dialog)
        name = "the \(proxy.shown)"
        parser = ResponseParser(limits: limits)
    }

    mutating func begin() throws -> ByteBuffer {
        var head = HTTPRequest(method: .connect, scheme: nil, authority: target, path: nil)
        if let value = try dialog.authorization(for: proxy, .connect, target) { head.headerFields[.proxyAuthorization] = value }
        var buffer = ByteBuffer()
        try RequestEncoder.write(head, framing: .none, form: .authority, into: &buffer)
        parser.expectResponse(to: .connect)
        state = .head
        return buffer
    }

    mutating func receive(_ bytes: inout ByteBuffer) -> TunnelStep {
        if bytes.readableBytes > 0 { hasReceived = true }
        do {
            while true {
                let (event, consumed) = try bytes.withUnsafeReadableBytes { bytes in try parser.next(in: bytes) }
                bytes.moveReaderIndex(forwardBy: consumed)
                switch (event, state) {
                case (.needsMore, _): return .wait
                case (.interim, _): continue
                case (.head(let head), _):
                    if let step = try receive(head) { return step }
                case (.body(let range), .body(let count)):
                    guard count + range.count <= Self.bodyLimitBytes else { return again() }
                    state = .body(count + range.count)
                case (.end, .head):
                    state = .over
                    return .open
                case (.end, .body):
                    // If the proxy has sent bytes after its response, the connection can't be used for the next request.
                    guard bytes.readableBytes == 0 else { return again() }
                    return .write(try begin())
                case (.body, _), (.end, .over): return .wait
                }
            }
        } catch {
            let reason = (error as? ResponseParseError)?.ofProxy ?? FailureText.of(error)
            return refuse("\(name) did not open the tunnel to \(target): \(reason)", underlying: error)
        }
    }

    /// - Returns: `nil` if the rest of the response must be read first.
    private mutating func receive(_ head: ResponseHead) throws(ProxyAuthorizationError) -> TunnelStep? {
        let status = head.response.status
        if status.kind == .successful { return nil }
        if status.code == 407, try dialog.respond(to: head.response.headerFields, of: proxy, .connect, target) {
            guard head.isPersistent, head.framing != .untilClose else { return again() }
            state = .body(0)
            return nil
        }
        let refusal = status.code == 407 ? dialog.refusal(by: proxy.settings) : nil
        return refuse(
            "\(name) refused the tunnel to \(target): \(refusal.map { "\($0.reason): " } ?? "")\(status.shown)", refusal?.problem)
    }

    private mutating func again() -> TunnelStep {
        state = .over
        return .connectAgain(dialog)
    }

    private mutating func refuse(
        _ message: String, _ credentials: ProxyCredentialsProblem? = nil, underlying: (any Error)? = nil
    ) -> TunnelStep {
        state = .over
        return .refuse(ProxyFailure(message: message, credentials: credentials, underlying: underlying))
    }

    mutating func end() -> TunnelStep {
        if case .body = state { return again() }
        return refuse(
            "\(name) closed the connection before the tunnel to \(target) was open"
                + (hasReceived ? "" : ", and sent nothing; check that it is an \(proxy.settings.kind) proxy"))
    }
}

extension ResponseParseError {
    /// The reason in words, and advice, if the error shows that the proxy does not speak HTTP/1.1; `nil` for every other error.
    var ofProxy: String? {
        switch self {
        case .notHTTP(let text): "it does not speak HTTP: its response begins with '\(text)', not with 'HTTP/1.'"
        case .otherProtocol(.socks5): "it does not speak HTTP, but SOCKS 5; configure it as a SOCKS 5 proxy"
        case .otherProtocol(.tls): "it does not speak HTTP, but TLS; configure it as an HTTPS proxy"
        case .otherProtocol(.http2): "it does not speak HTTP/1.1, but HTTP/2, which is not supported for proxies"
        default: nil
        }
    }
}

extension HTTPResponse.Status {
    /// The code, and the usual reason phrase: `403 Forbidden`. The proxy's own phrase is not shown, because it may repeat the credentials.
    var shown: String {
        Self.usual.first { $0 == self }.map { "\($0.code) \($0.reasonPhrase)" } ?? "\(code)"
    }

    private static let usual: [HTTPResponse.Status] = [
        .badRequest, .unauthorized, .forbidden, .notFound, .methodNotAllowed, .proxyAuthenticationRequired, .requestTimeout,
        .tooManyRequests, .internalServerError, .notImplemented, .badGateway, .serviceUnavailable, .gatewayTimeout,
    ]
}
#endif
