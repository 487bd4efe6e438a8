#if SWIFT_NIO
/// A protocol other than HTTP/1.1. The first bytes of the server identify the protocol.
extension ResponseParseError.OtherProtocol {
    enum Recognition: Equatable {
        case none
        case needsMore
        case found(ResponseParseError.OtherProtocol)
    }

    /// The header of an HTTP/2 frame has 9 bytes: 3 for the length, 1 for the type, 1 for the flags, and 4 for the stream ([RFC 9113,
    /// section 4.1](https://www.rfc-editor.org/rfc/rfc9113#section-4.1)).
    private static let frameHeaderBytes = 9
    /// The longest frame that a server may send before the server knows the client's settings ([RFC 9113, section
    /// 6.5.2](https://www.rfc-editor.org/rfc/rfc9113#section-6.5.2)).
    private static let frameBytes = 16_384
    private static let settings: UInt8 = 4
    private static let goAway: UInt8 = 7

    /// - Parameter bytes: the bytes received so far, at least one byte.
    static func recognize(_ bytes: UnsafeBufferPointer<UInt8>) -> Recognition {
        switch bytes.first {
        case 5: .found(.socks5)
        // An alert, or a message of the handshake (RFC 8446, section 5.1)
        case 0x15, 0x16: .found(.tls)
        case 0: recognizeFrame(bytes)
        default: .none
        }
    }

    /// An HTTP/2 server first sends SETTINGS, or ends the connection with GOAWAY. SETTINGS and GOAWAY are frames of stream 0.
    private static func recognizeFrame(_ bytes: UnsafeBufferPointer<UInt8>) -> Recognition {
        let header = bytes.prefix(frameHeaderBytes)
        let length = header.prefix(3).reduce(0) { $0 << 8 | Int($1) } << (8 * max(0, 3 - header.count))
        guard length <= frameBytes else { return .none }
        if header.count > 3, header[3] != settings, header[3] != goAway { return .none }
        guard header.dropFirst(5).allSatisfy({ $0 == 0 }) else { return .none }
        return header.count < frameHeaderBytes ? .needsMore : .found(.http2)
    }
}
#endif
