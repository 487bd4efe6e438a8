public import ErrandCore
public import ErrandFormats

/// Which requests to answer, and how.
///
/// ```swift
/// Stub(.get, "/users/{id}").query("expand", "teams").responds(.json(User(id: 7)))
/// Stub(.post, "/orders").json(["item": "tea"]).responds(.status(503), .status(201))     // one after the other
/// Stub(matching: .path("/a") || .url(matching: "/v[12]/a$")).responds(.status(.ok))
/// ```
public struct Stub: Sendable, CustomStringConvertible {
    /// What a request must be like.
    public private(set) var matcher: RequestMatcher
    let path: PathPattern?
    var script: [StubResponse] = []
    var repeatsLast = true

    /// - Parameters:
    ///   - method: nil matches every method.
    ///   - path: of the request, without its query: literal segments, `{name}` for any one segment, a last `**` for any number of
    ///     them. Nil matches every path.
    public init(_ method: HTTPRequest.Method? = nil, _ path: String? = nil) {
        matcher = (method.map { .method($0) } ?? .any) && (path.map { .path($0) } ?? .any)
        self.path = path.map { PathPattern($0) }
    }

    /// A stub for whatever `matcher` matches.
    public init(matching matcher: RequestMatcher) { (self.matcher, path) = (matcher, nil) }

    /// This stub for fewer requests: those that `matcher` matches as well.
    public func and(_ matcher: RequestMatcher) -> Stub {
        var copy = self
        copy.matcher = self.matcher && matcher
        return copy
    }

    /// This stub for more requests: those that `matcher` matches instead.
    public func or(_ matcher: RequestMatcher) -> Stub {
        var copy = self
        copy.matcher = self.matcher || matcher
        return copy
    }

    /// See ``RequestMatcher/query(_:_:)``.
    public func query(_ name: String, _ value: String? = nil) -> Stub { and(.query(name, value)) }
    /// See ``RequestMatcher/header(_:_:)``.
    public func header(_ name: HTTPField.Name, _ value: String? = nil) -> Stub { and(.header(name, value)) }
    /// See ``RequestMatcher/header(_:matching:)``.
    public func header(_ name: HTTPField.Name, matching pattern: String) -> Stub { and(.header(name, matching: pattern)) }
    /// See ``RequestMatcher/body(_:)-(String)``.
    public func body(_ text: String) -> Stub { and(.body(text)) }
    /// See ``RequestMatcher/json(_:)``.
    public func json(_ subset: JSONValue) -> Stub { and(.json(subset)) }
    /// See ``RequestMatcher/form(_:)``.
    public func form(_ items: [String: String]) -> Stub { and(.form(items)) }
    /// See ``RequestMatcher/part(named:filename:text:)``.
    public func part(named name: String, filename: String? = nil, text: String? = nil) -> Stub {
        and(.part(named: name, filename: filename, text: text))
    }
    /// See ``RequestMatcher/custom(_:_:)``.
    public func matching(_ name: String, _ matches: @escaping @Sendable (RecordedRequest) -> Bool) -> Stub { and(.custom(name, matches)) }

    /// What comes back: one answer again and again, or several, each once, in order.
    ///
    /// After the last of several nothing matches any more, and the next stub is asked; with `repeatingLast` the last stays.
    public func responds(_ first: StubResponse, _ more: StubResponse..., repeatingLast: Bool = false) -> Stub {
        var copy = self
        copy.script = [first] + more
        copy.repeatsLast = repeatingLast || more.isEmpty
        return copy
    }

    /// The answer for the use with this number, from 0; nil where it is used up.
    func answer(forUse use: Int) -> StubResponse? {
        if use < script.count { return script[use] }
        return repeatsLast ? script.last : nil
    }

    public var description: String { matcher.description }
}
