#if NIO
/// Bounds of the head of an HTTP/1.1 response.
///
/// A response that exceeds one of them is refused, and its connection is closed. The trailers after a chunked body
/// ([RFC 9112, section 7.1.2](https://www.rfc-editor.org/rfc/rfc9112#section-7.1.2)) and each interim response (1xx) have the same bounds,
/// each on its own.
public struct ResponseLimits: Sendable, Hashable {
    /// The most bytes of a head, with its status line and all line ends. The default is 256 KiB.
    ///
    /// - Precondition: at least 1.
    public var headBytes = 256 * 1024 {
        didSet { precondition(headBytes >= 1, "headBytes must be at least 1 (is \(headBytes))") }
    }

    /// The most fields of a head. The default is 500.
    ///
    /// - Precondition: from 1 to 65,534, which is the most that `HTTPFields` holds.
    public var fieldCount = 500 {
        didSet { precondition((1...65_534).contains(fieldCount), "fieldCount must be from 1 to 65534 (is \(fieldCount))") }
    }

    /// Creates the default limits.
    public init() {}
}
#endif
