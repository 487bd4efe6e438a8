#if SWIFT_NIO
internal import ErrandCore

/// The head of a final HTTP/1.1 response, and its meaning for the body and the connection.
struct ResponseHead {
    /// The rule for the end of the body ([RFC 9112, section 6.3](https://www.rfc-editor.org/rfc/rfc9112#section-6.3)).
    enum Framing: Hashable {
        /// There is no body, even if the fields describe a body.
        case none
        /// The body has this many bytes.
        case length(Int64)
        /// The body consists of chunks, and trailers may follow the body.
        case chunked
        /// The end of the connection is the end of the body.
        case untilClose
    }

    var response: HTTPResponse
    /// The second digit of the version: 1 for HTTP/1.1.
    var minorVersion: Int
    var framing: Framing
    /// Whether the connection can be used again after the body
    /// ([RFC 9112, section 9.3](https://www.rfc-editor.org/rfc/rfc9112#section-9.3)).
    var isPersistent: Bool
    /// The time for which the server keeps an idle connection, in seconds: `timeout` in the field `Keep-Alive`. `nil` if the server sends
    /// no value.
    var keepAliveSeconds: Int?
    /// Whether there is a field `Alt-Svc`.
    var hasAlternatives = false
}
#endif
