extension HTTPRequest.Method {
    /// Whether sending a request with this method several times has the same effect as sending it once
    /// ([RFC 9110, section 9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2); QUERY:
    /// [RFC 10008](https://www.rfc-editor.org/rfc/rfc10008)).
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
}
