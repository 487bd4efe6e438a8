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
        case let error as ResponseParseError: error.description
        case is UnexpectedUpgrade, is RequestBodyLengthError, is SocketAddressError: "\(error)"
        case let error as any RequestFailure: error.description
        case let error as FileReadError: error.description
        case NIOSSLError.uncleanShutdown: "the connection ended without a close_notify"
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: reason(ofTLS: error)
        default: "\(type(of: error))"
        }
    }

    static func isOfTLS(_ error: (any Error)?) -> Bool {
        switch error {
        case NIOSSLError.uncleanShutdown?: false
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: true
        default: false
        }
    }

    /// The one phrase that helps, from what the TLS library says at length.
    private static func reason(ofTLS error: any Error) -> String {
        let text = String(describing: error)
        let reasons = [
            ("failedToValidateHostname", "the certificate is for another host"),
            ("CERTIFICATE_VERIFY_FAILED", "the certificate is not trusted, or not valid now"),
            ("WRONG_VERSION_NUMBER", "the other side does not speak TLS"),
            ("CERTIFICATE_REQUIRED", "the server wants a client certificate"),
            ("UNSUPPORTED_PROTOCOL", "no version of TLS in common"),
            ("eofDuringHandshake", "the server closed the connection during the handshake"),
        ]
        if let known = reasons.first(where: { text.contains($0.0) }) { return known.1 }
        // `…SSL routines:OPENSSL_internal:TLSV1_ALERT_INTERNAL_ERROR at …`
        let name = text.firstMatch(of: /OPENSSL_internal:([A-Z0-9_]+)/)?.output.1
        return name.map { $0.lowercased().replacing("_", with: " ") } ?? text
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
