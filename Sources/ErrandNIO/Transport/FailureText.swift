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
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: true
        default: false
        }
    }
}

/// An attempt to connect has failed.
struct ConnectFailure {
    let error: any Error

    init(_ error: any Error) { self.error = error }

    func failure(of exchange: Exchange) -> any Error {
        if error is CancellationError { return error }
        let (code, message) = codeAndMessage
        return exchange.failure(code, phase: .connect, message: message, underlying: error, delivery: .notSent)
    }

    /// The failure of a connection that no exchange has asked for.
    func failure(of origin: Origin) -> any Error {
        if error is CancellationError { return error }
        let (code, message) = codeAndMessage
        return TransportError(
            code, phase: .connect, message: "\(origin)\(message.isEmpty ? "" : ": \(message)")", underlying: error, request: nil,
            delivery: .notSent)
    }

    private var codeAndMessage: (TransportError.Code, String) {
        switch error {
        case let error as NIOConnectionError:
            if error.connectionErrors.isEmpty, error.dnsAError != nil || error.dnsAAAAError != nil {
                return (.cannotFindHost, "'\(error.host)'")
            }
            if error.connectionErrors.contains(where: { if case ChannelError.connectTimeout = $0.error { true } else { false } }) {
                return (.timedOut, "the limit for connecting passed")
            }
            let reasons = error.connectionErrors.map { FailureText.of($0.error) }
            return (.cannotConnect, Set(reasons).sorted().joined(separator: ", "))
        case let error as SocketAddressError.UnknownHost: return (.cannotFindHost, "'\(error.host)'")
        case is SocketAddressError: return (.cannotFindHost, FailureText.of(error))
        case ChannelError.connectTimeout: return (.timedOut, FailureText.of(error))
        case is TLSUnavailable: return (.tls, "the settings for TLS could not be read")
        default: return (FailureText.isOfTLS(error) ? .tls : .cannotConnect, FailureText.of(error))
        }
    }
}
#endif
