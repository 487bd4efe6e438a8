#if SWIFT_NIO
/// An error code of HTTP/2 ([RFC 9113, section 7](https://www.rfc-editor.org/rfc/rfc9113#section-7)).
struct HTTP2Code: Sendable, Hashable, CustomStringConvertible {
    let number: UInt32

    static let noError = HTTP2Code(number: 0)
    static let protocolError = HTTP2Code(number: 1)
    static let flowControlError = HTTP2Code(number: 3)
    static let frameSizeError = HTTP2Code(number: 6)
    static let refusedStream = HTTP2Code(number: 7)
    static let cancel = HTTP2Code(number: 8)
    static let compressionError = HTTP2Code(number: 9)
    static let enhanceYourCalm = HTTP2Code(number: 11)
    static let http11Required = HTTP2Code(number: 13)

    private static let names = [
        "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED", "FRAME_SIZE_ERROR",
        "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
    ]

    /// The name in the RFC, or the number in hexadecimal digits.
    var description: String {
        Int(number) < Self.names.count ? Self.names[Int(number)] : "0x" + String(number, radix: 16)
    }
}
#endif
