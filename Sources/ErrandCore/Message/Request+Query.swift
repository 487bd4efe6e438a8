extension Request {
    /// The path of the request, percent-encoded, without its query; empty if there is none.
    ///
    /// Before `server` has added its base URL, it is the path below that.
    public var path: String { head.pathWithoutQuery }

    /// The query of the request. Change it at any time, in a middleware, for example:
    ///
    /// ```swift
    /// request.query.set("page", 2)
    /// request.query.append("tag", ["a", "b"])
    /// request.query["access_token"] = nil
    /// ```
    ///
    /// The path stays as it is, and so does each item that you do not change, with its escapes. While the request has no authority, the query is that
    /// of the request alone: `server` puts the query of its base URL before it.
    public var query: URLQuery {
        get { URLQuery(percentEncoded: RequestTarget.parts(of: head.path ?? "").query ?? "") }
        set {
            let (path, query) = RequestTarget.parts(of: head.path ?? "")
            let text = newValue.encoded
            guard text != query.map(String.init) ?? "" else { return }
            let known = target
            let changed = text.isEmpty ? String(path) : "\(path)?\(text)"
            head.path = changed
            // The path was checked. An invalid query is found where the request is checked next.
            guard let known, PercentEncoding.firstInvalidByte(in: text, allowing: .query) == nil else { return }
            if let origin = known.origin {
                knownTarget = RequestTarget(origin, checkedPath: changed)
            } else if changed.utf8.count <= RequestTarget.limitBytes {
                knownTarget = RequestTarget(checkedPath: changed)
            }
        }
    }
}
