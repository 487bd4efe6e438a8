#if SWIFT_NIO
/// The limits on the head of a response.
///
/// If a response exceeds a limit, the response is refused. Over HTTP/1.1, the connection is closed. The limits apply separately to each
/// interim response (1xx), and to the trailers after a chunked body ([RFC 9112, section
/// 7.1.2](https://www.rfc-editor.org/rfc/rfc9112#section-7.1.2)).
///
/// Over HTTP/2, the size of a head is the size of its names and values plus 32 bytes for each field ([RFC 9113, section
/// 6.5.2](https://www.rfc-editor.org/rfc/rfc9113#section-6.5.2)). If a response exceeds a limit, only the stream of this response is
/// reset. The transport sets `SETTINGS_MAX_HEADER_LIST_SIZE` to four times ``headBytes``. If a head exceeds this value, the rest of the
/// head is not read, and the connection is closed.
///
/// If a limit is outside its bounds, creating a transport throws ``UnusableSettingError``.
public struct ResponseLimits: Sendable, Hashable {
    /// The maximum size of a head in bytes, including its status line and all line ends: at least 1. The default is 256 KiB.
    public var headBytes = 256 * 1024
    /// The maximum number of fields in a head: from 1 to 65,534, which is the capacity of `HTTPFields`. The default is 500.
    public var fieldCount = 500
    /// The maximum number of interim responses (1xx) before the final response ([RFC 9110, section
    /// 15.2](https://www.rfc-editor.org/rfc/rfc9110#section-15.2)): at least 0. The default is 32.
    public var interimResponseCount = 32

    /// Creates the default limits.
    public init() {}
}
#endif
