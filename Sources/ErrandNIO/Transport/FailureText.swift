#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore
internal import NIOPosix
internal import NIOSSL

/// The parts of an error that may be shown, in words.
enum FailureText {
    static func of(_ error: any Error) -> String {
        switch error {
        case let error as ChannelError:
            switch error {
            case .connectTimeout: "not in time"
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
        default: safeDescription(of: error)
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
#endif
