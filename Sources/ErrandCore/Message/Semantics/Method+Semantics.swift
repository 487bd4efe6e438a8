extension HTTPRequest.Method {
    /// Whether sending a request with this method several times has the same effect as sending the request once ([RFC 9110, section
    /// 9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2); QUERY: [RFC 10008](https://www.rfc-editor.org/rfc/rfc10008)).
    public var isIdempotent: Bool {
        switch self {
        case .get, .head, .options, .trace, .put, .delete, .query: true
        default: false
        }
    }

    /// Returns whether a request with this method may be sent twice: the method is idempotent, or the server recognizes a
    /// repeated request by its key.
    public func mayBeSentAgain(hasKey: Bool) -> Bool { isIdempotent || hasKey }

    /// Whether the method asks for no change on the server
    /// ([RFC 9110, section 9.2.1](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.1); QUERY:
    /// [RFC 10008](https://www.rfc-editor.org/rfc/rfc10008)). TRACE is excluded, because its response echoes the request of one caller.
    public var isSafe: Bool { [.get, .head, .options, .query].contains(self) }

    /// Returns whether a response to a request with this method has a body ([RFC 9110, section
    /// 6.4.1](https://www.rfc-editor.org/rfc/rfc9110#section-6.4.1)). A successful response to CONNECT is an exception, because a tunnel
    /// begins after the head of the response.
    ///
    /// - Parameter status: the code of the response.
    @inlinable package func responseHasBody(status: Int) -> Bool { !(status < 200 || status == 204 || status == 304 || self == .head) }

    /// Returns the number of bytes that the body of a response may have; `nil` if the number is not known.
    ///
    /// In a response to HEAD, and in a 304 response, `Content-Length` describes a body that is not sent ([RFC 9110, section
    /// 8.6](https://www.rfc-editor.org/rfc/rfc9110#section-8.6)). For a HEAD request and for a 304 response, the result is `nil`.
    ///
    /// - Parameters:
    ///   - status: the code of the response.
    ///   - declared: the declared length of the body; `nil` if no length is declared.
    @inlinable package func expectedResponseLength(status: Int, declared: Int64?) -> Int64? {
        if status == 304 || self == .head { return nil }
        return responseHasBody(status: status) ? declared : 0
    }
}
