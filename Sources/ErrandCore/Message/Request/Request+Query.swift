extension Request {
    /// The path of the request, percent-encoded, without its query; empty if the request has no path.
    ///
    /// Before `server` has added its base URL, this property is the path below the base URL.
    public var path: String { head.pathWithoutQuery }

    /// The query of the request. Change the query at any time, for example in a middleware:
    ///
    /// ```swift
    /// request.query.set("page", 2)
    /// request.query.append("tag", ["a", "b"])
    /// request.query["access_token"] = nil
    /// ```
    ///
    /// The path and each unchanged item keep their text, with their escapes. While the request has no authority, this property lacks the
    /// query of the base URL. `server` later puts the query of its base URL before the query of the request.
    public var query: URLQuery {
        get { URLQuery(percentEncoded: RequestTarget.parts(of: head.path ?? "").query ?? "") }
        set {
            let (path, query) = RequestTarget.parts(of: head.path ?? "")
            let text = newValue.encoded
            guard text != query.map(String.init) ?? "" else { return }
            let known = target
            let changed = text.isEmpty ? String(path) : "\(path)?\(text)"
            head.path = changed
            // The path was already checked. If the query is invalid, the next check of the request finds the error.
            guard let known, PercentEncoding.firstInvalidByte(in: text, allowing: .query) == nil else { return }
            if let origin = known.origin {
                knownTarget = RequestTarget(origin, checkedPath: changed)
            } else if changed.utf8.count <= RequestTarget.limitBytes {
                knownTarget = RequestTarget(checkedPath: changed)
            }
        }
    }
}
