#if AsyncHTTPClient
internal import AsyncHTTPClient
internal import ErrandCore
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTP2
internal import NIOHTTPCompression
internal import NIOPosix
internal import NIOSSL

/// Maps the client's errors to failures, by the phase of the exchange.
struct FailureMapping {
    let request: Request
    let phase: ExchangePhase
    let delivery: Delivery
    let head: HTTPResponse?
    let elapsed: Duration
    /// Whether the transport was shut down.
    let isShutDown: Bool

    func failure(for error: any Error) -> any Error {
        if error is CancellationError || error is TransportError || error is InvalidURLError { return error }
        let hasTimedOut = request.deadline?.hasPassed == true
        switch error {
        case let error as RequestBodyFailed:
            return made(.requestBody, message: Self.text(of: error.underlying), underlying: error.underlying)
        case let error as HTTPClientError:
            return hasTimedOut && error != .alreadyShutdown ? deadlinePassed(error) : failure(for: error)
        case _ where hasTimedOut:
            return deadlinePassed(error)
        case let error as NIOConnectionError:
            return failure(for: error)
        case let error as SocketAddressError.UnknownHost:
            return made(.cannotFindHost, phase: .connect, message: "'\(error.host)'", underlying: error)
        case let error as SocketAddressError:
            return made(.cannotFindHost, phase: .connect, message: Self.text(of: error), underlying: error)
        case let error as ChannelError:
            switch error {
            case .connectTimeout: return made(.timedOut, phase: .connect, message: Self.connectTimeout, underlying: error)
            case .ioOnClosedChannel, .alreadyClosed, .eof:  // also the error of a kept connection that ended before it was used again
                return made(.connectionLost, message: Self.text(of: error), underlying: error)
            default: return lost(error)
            }
        case NIOSSLError.uncleanShutdown:
            // The connection ended without a close_notify of TLS: the received bytes may not be the whole body.
            return made(.connectionLost, message: "the connection ended without a close_notify", underlying: error)
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            return made(.tls, message: tlsErrorText(String(describing: error)), underlying: error)
        case let error as NIOHTTPDecompression.DecompressionError:
            return made(Self.isLimit(error) ? .bodyTooLarge : .invalidResponse, message: Self.text(of: error), underlying: error)
        case let error as NIOHTTPDecompression.ExtraDecompressionError:
            // Bytes after the compressed body may be a second member of gzip (RFC 1952, 2.2), which the decompressor does not support.
            let message = error == .truncatedData ? "the compressed body ends too early" : "bytes follow the compressed body"
            return made(.invalidResponse, message: message, underlying: error)
        case let error as NIOHTTP2Errors.StreamClosed where error.errorCode == .refusedStream:
            // RFC 9113, 8.7: the request was not processed. At this point, a GOAWAY that excludes the stream can't be
            // distinguished from a cancellation.
            var failure = made(.connectionLost, message: "the server refused the stream", underlying: error)
            // A server that has sent a part of its response has processed the request, although it reports the opposite.
            if head == nil { failure.delivery = .notSent }
            return failure
        case HTTPParserError.invalidEOFState:
            return lost(error)  // the end came in the middle of the message
        case is HTTPParserError:
            return made(.invalidResponse, message: Self.text(of: error), underlying: error)
        default:
            return lost(error)
        }
    }

    private static func isLimit(_ error: NIOHTTPDecompression.DecompressionError) -> Bool {
        if case .limit = error { true } else { false }
    }

    private func failure(for error: HTTPClientError) -> any Error {
        switch error {
        case .connectTimeout, .tlsHandshakeTimeout, .socksHandshakeTimeout, .httpProxyHandshakeTimeout, .getConnectionFromPoolTimeout:
            made(.timedOut, phase: .connect, message: Self.text(of: error), underlying: error)
        case .deadlineExceeded:
            deadlinePassed(error)
        case .readTimeout, .writeTimeout:
            made(.timedOut, message: Self.text(of: error), underlying: error)
        case .alreadyShutdown:
            made(.shutDown, underlying: error)
        case .cancelled:  // by a client that shuts down, or by a connection of HTTP/2 that closes
            made(isShutDown ? .shutDown : .connectionLost, underlying: error)
        case .proxyAuthenticationRequired, .invalidProxyResponse:
            made(.proxy, phase: .connect, message: Self.text(of: error), underlying: error)
        case .remoteConnectionClosed, .uncleanShutdown, .requestStreamCancelled:
            made(.connectionLost, message: Self.text(of: error), underlying: error)
        case .bodyLengthMismatch, .writeAfterRequestSent:
            made(.requestBody, message: Self.text(of: error), underlying: error)
        default:
            delivery == .notSent
                ? made(.invalidRequest, phase: .request, message: Self.text(of: error), underlying: error)
                : made(.invalidResponse, message: Self.text(of: error), underlying: error)
        }
    }

    private func failure(for error: NIOConnectionError) -> any Error {
        if error.connectionErrors.isEmpty, error.dnsAError != nil || error.dnsAAAAError != nil {
            return made(.cannotFindHost, phase: .connect, message: "'\(error.host)'", underlying: error)
        }
        let reasons = error.connectionErrors.map { Self.text(of: $0.error) }
        return made(.cannotConnect, phase: .connect, message: Set(reasons).sorted().joined(separator: ", "), underlying: error)
    }

    private func deadlinePassed(_ error: any Error) -> TransportError {
        .timedOut(phase, after: elapsed, underlying: error, request: request, response: head, delivery: delivery)
    }

    private func lost(_ error: any Error) -> any Error {
        phase == .connect
            ? made(.cannotConnect, message: Self.text(of: error), underlying: error)
            : made(.connectionLost, message: Self.text(of: error), underlying: error)
    }

    /// The text of an error for messages: the error's own text if this text certainly has no secrets, otherwise the name of its
    /// type.
    static func text(of error: any Error) -> String {
        switch error {
        case let error as HTTPClientError: text(of: error)
        case let error as ChannelError: text(of: error)
        case let error as IOError: systemErrorText(error.errnoCode)
        case let error as HTTPParserError: text(of: error)
        case is SocketAddressError: "\(error)"
        case let error as NIOHTTPDecompression.DecompressionError:
            Self.isLimit(error) ? "the decompressed body is longer than its limit" : "the compressed body is damaged"
        case let error as NIOHTTP2Errors.StreamClosed: "the server closed the stream (HTTP/2 error \(error.errorCode.networkCode))"
        default: safeDescription(of: error)
        }
    }

    private static let connectTimeout = "the client's limit for connecting passed"

    private static func text(of error: HTTPClientError) -> String {
        switch error {
        case .remoteConnectionClosed: "connection closed by the server"
        case .uncleanShutdown: "connection closed by the server without the end of TLS"
        case .requestStreamCancelled: "the stream was cancelled"
        case .connectTimeout: connectTimeout
        case .tlsHandshakeTimeout: "the client's limit for the TLS handshake passed"
        case .socksHandshakeTimeout, .httpProxyHandshakeTimeout: "the client's limit for the handshake with the proxy passed"
        case .getConnectionFromPoolTimeout: "no connection became free in time"
        case .readTimeout: "the client's read timeout passed"
        case .writeTimeout: "the client's write timeout passed"
        case .proxyAuthenticationRequired: "the proxy asks for credentials"
        case .invalidProxyResponse: "the response of the proxy is not valid"
        case .bodyLengthMismatch: "the body does not have the length that was declared"
        default: "\(error.shortDescription.prefix(1).lowercased())\(error.shortDescription.dropFirst())"
        }
    }

    /// Returns the text of a parser's error. For bytes that are not HTTP, the parser's own text names its internal state.
    private static func text(of error: HTTPParserError) -> String {
        switch error {
        case .invalidConstant, .strictModeAssertion, .invalidInternalState, .paused, .unknown:
            "the other side does not speak HTTP as it should"
        default: String(reflecting: error)
        }
    }

    private static func text(of error: ChannelError) -> String {
        switch error {
        case .connectTimeout: connectTimeout
        case .ioOnClosedChannel, .alreadyClosed, .outputClosed, .inputClosed: "the connection was closed already"
        case .eof: "connection closed by the server"
        case .writeHostUnreachable: "host unreachable"
        default: "\(error)"
        }
    }

    private func made(
        _ code: TransportError.Code, phase: ExchangePhase? = nil, message: String = "", underlying: any Error
    ) -> TransportError {
        TransportError(
            code, phase: phase ?? self.phase, message: message, elapsed: elapsed, underlying: underlying, request: request, response: head,
            delivery: delivery)
    }
}
#endif
