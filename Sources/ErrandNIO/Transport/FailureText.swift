#if NIO
internal import ErrandCore
internal import NIOCore
internal import NIOPosix
internal import NIOSSL

/// What may be shown of an error, in words.
enum FailureText {
    static func of(_ error: any Error) -> String {
        switch error {
        case let error as ChannelError:
            switch error {
            case .connectTimeout: "the limit for connecting passed"
            case .ioOnClosedChannel, .alreadyClosed, .outputClosed, .inputClosed: "the connection was closed already"
            case .eof: "connection closed by the server"
            case .writeHostUnreachable: "host unreachable"
            default: "\(error)"
            }
        case let error as HandshakeFailure: error.message
        case let error as IOError: systemErrorText(error.errnoCode)
        case is SocketAddressError: "\(error)"
        case NIOSSLError.uncleanShutdown: "the connection ended without a close_notify"
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: tlsErrorText(String(describing: error))
        default: shownError(error)
        }
    }

    static func isOfTLS(_ error: (any Error)?) -> Bool {
        switch error {
        case NIOSSLError.uncleanShutdown?: false
        case let error as HandshakeFailure: error.code == .tls
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: true
        default: false
        }
    }
}

/// An attempt to connect has failed.
struct ConnectFailure {
    let error: any Error
    let settings: NIOTransport.Configuration

    init(_ error: any Error, _ settings: NIOTransport.Configuration) { (self.error, self.settings) = (error, settings) }

    func failure(of exchange: Exchange) -> any Error {
        if error is CancellationError { return error }
        let (code, message) = codeAndMessage(of: exchange)
        let cause =
            switch error {
            case let error as HostLookupFailure: error.cause
            case let error as HandshakeFailure: error.underlying
            default: error
            }
        return exchange.failure(code, phase: .connect, message: message, underlying: cause, delivery: .notSent)
    }

    private func codeAndMessage(of exchange: Exchange) -> (TransportError.Code, String) {
        switch error {
        case let error as HostLookupFailure: return (.cannotFindHost, "'\(error.host)'" + Self.reason(error.cause))
        case let error as NIOConnectionError:
            if error.connectionErrors.contains(where: { if case ChannelError.connectTimeout = $0.error { true } else { false } }) {
                return (.timedOut, "the limit for connecting passed")
            }
            if let failure = error.connectionErrors.lazy.compactMap({ $0.error as? HandshakeFailure }).first {
                return (failure.code, failure.message)
            }
            let reasons = error.connectionErrors.map { FailureText.of($0.error) }
            return (.cannotConnect, Set(reasons).sorted().joined(separator: ", ") + origin)
        case is NoUsableAddress:
            return (.cannotConnect, "'\(exchange.origin.bareHost)' has no address of the same kind as localAddress" + origin)
        case ChannelError.connectTimeout: return (.timedOut, FailureText.of(error))
        default:
            if FailureText.isOfTLS(error) { return (.tls, FailureText.of(error)) }
            guard let path = settings.unixSocketPath else { return (.cannotConnect, FailureText.of(error)) }
            return (.cannotConnect, "'\(path.shownSafely())': \(FailureText.of(error))")
        }
    }

    private static func reason(_ cause: any Error) -> String {
        let text = (cause as? HostNotFoundError).map(\.reason) ?? shownError(cause)
        return text.isEmpty ? "" : ": \(text.shownSafely())"
    }

    /// Where the connection was to come from, if that was chosen.
    private var origin: String { settings.localAddress.map { " (from \($0))" } ?? "" }
}
#endif
