extension HTTPRequest.Method {
    /// Doing it twice is as good as once (RFC 9110, 9.2.2; QUERY: RFC 10008).
    public var isIdempotent: Bool {
        switch self {
        case .get, .head, .options, .trace, .put, .delete, .query: true
        default: false
        }
    }

    /// Whether a request with this method may be sent twice: the method is idempotent, or the server recognizes a repeat by its key.
    package func mayBeSentAgain(hasKey: Bool) -> Bool { isIdempotent || hasKey }

    /// It asks for no change on the server (RFC 9110, 9.2.1; QUERY: RFC 10008), and its answer is for whoever asks: TRACE, which echoes a
    /// request, is left out.
    package var isSafe: Bool { [.get, .head, .options, .query].contains(self) }
}
