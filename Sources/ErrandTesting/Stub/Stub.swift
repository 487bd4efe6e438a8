public import ErrandCore
public import ErrandFormats

/// A rule of a ``StubTransport``: a criterion for requests, and the responses to the matching requests.
///
/// ```swift
/// Stub(.get, "/users/{id}").query("expand", "teams").responds(.json(User(id: 7)))
/// Stub(.post, "/orders").json(["item": "tea"]).responds(.status(503), .status(201))     // one after the other
/// Stub(matching: .path("/a") || .url(matching: "/v[12]/a$")).responds(.status(.ok))
/// ```
public struct Stub: Sendable, CustomStringConvertible {
    /// The criterion for requests.
    public private(set) var matcher: RequestMatcher
    let path: PathPattern?
    var script: [StubResponse] = []
    var repeatsLast = true

    /// Creates a stub for a method and a path.
    ///
    /// - Parameters:
    ///   - method: the method of the request. `nil`, the default, matches every method.
    ///   - path: the path of the request, without its query: literal segments, `{name}` for any segment that is not empty, and a
    ///     final `**` for any number of segments. `nil`, the default, matches every path.
    public init(_ method: HTTPRequest.Method? = nil, _ path: String? = nil) {
        matcher = (method.map { .method($0) } ?? .any) && (path.map { .path($0) } ?? .any)
        self.path = path.map { PathPattern($0) }
    }

    /// Creates a stub for the requests that match `matcher`.
    public init(matching matcher: RequestMatcher) { (self.matcher, path) = (matcher, nil) }

    /// Returns this stub with an additional criterion: a request must also match `matcher`.
    public func and(_ matcher: RequestMatcher) -> Stub {
        var copy = self
        copy.matcher = self.matcher && matcher
        return copy
    }

    /// Returns this stub with an alternative criterion: a request may match `matcher` instead.
    public func or(_ matcher: RequestMatcher) -> Stub {
        var copy = self
        copy.matcher = self.matcher || matcher
        return copy
    }

    /// Requires a query item. See ``RequestMatcher/query(_:_:)``.
    public func query(_ name: String, _ value: String? = nil) -> Stub { and(.query(name, value)) }
    /// Requires a field. See ``RequestMatcher/header(_:_:)``.
    public func header(_ name: HTTPField.Name, _ value: String? = nil) -> Stub { and(.header(name, value)) }
    /// Requires a field. See ``RequestMatcher/header(_:matching:)``.
    public func header(_ name: HTTPField.Name, matching pattern: String) -> Stub { and(.header(name, matching: pattern)) }
    /// Requires a body. See ``RequestMatcher/body(_:)-(String)``.
    public func body(_ text: String) -> Stub { and(.body(text)) }
    /// Requires a JSON body. See ``RequestMatcher/json(_:)``.
    public func json(_ subset: JSONValue) -> Stub { and(.json(subset)) }
    /// Requires a form. See ``RequestMatcher/form(_:)``.
    public func form(_ items: [String: String]) -> Stub { and(.form(items)) }
    /// Requires a part of a multipart body. See ``RequestMatcher/part(named:fileName:text:)``.
    public func part(named name: String, fileName: String? = nil, text: String? = nil) -> Stub {
        and(.part(named: name, fileName: fileName, text: text))
    }
    /// Requires that a closure returns true. See ``RequestMatcher/custom(_:_:)``.
    public func matching(_ name: String, _ matches: @escaping @Sendable (RecordedRequest) -> Bool) -> Stub { and(.custom(name, matches)) }

    /// Returns this stub with these responses. A single response is used for all requests. Several responses are used in order, each for
    /// one request.
    ///
    /// After the last of several responses, the stub matches no more requests, and the transport tries the next stub. With
    /// `repeatingLast`, the last response is repeated instead.
    public func responds(_ first: StubResponse, _ more: StubResponse..., repeatingLast: Bool = false) -> Stub {
        var copy = self
        copy.script = [first] + more
        copy.repeatsLast = repeatingLast || more.isEmpty
        return copy
    }

    /// Returns the response for a use of the stub; `nil` if all responses are used up. Uses are numbered from 0.
    func response(forUse use: Int) -> StubResponse? {
        if use < script.count { return script[use] }
        return repeatsLast ? script.last : nil
    }

    public var description: String { matcher.description }
}
