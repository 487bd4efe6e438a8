public import ErrandCore
public import ErrandFormats

/// Which requests are meant: criteria that are joined by `&&`, `||` and `!`.
///
/// ```swift
/// .method(.post) && (.path("/login") || .url(matching: "/v[12]/login$")) && .form(["user": "ada"])
/// ```
///
/// A description names the criteria, with the values of sensitive fields and query items replaced.
public struct RequestMatcher: Sendable, CustomStringConvertible {
    private indirect enum Node: Sendable {
        case one(name: String, needsBody: Bool, @Sendable (RecordedRequest) -> Bool)
        case all([RequestMatcher])
        case any([RequestMatcher])
        case not(RequestMatcher)
    }

    private let node: Node

    private init(_ node: Node) { self.node = node }

    private init(_ name: String, needsBody: Bool = false, _ matches: @escaping @Sendable (RecordedRequest) -> Bool) {
        node = .one(name: name, needsBody: needsBody, matches)
    }

    // MARK: Criteria

    /// Every request.
    public static let any = RequestMatcher(.all([]))

    public static func method(_ method: HTTPRequest.Method) -> RequestMatcher {
        RequestMatcher("method \(method.rawValue)") { $0.request.method == method }
    }

    /// The path, percent-encoded and without its query: literal segments, `{name}` for any one segment that is not empty, a last
    /// `**` for any number of them.
    public static func path(_ pattern: String) -> RequestMatcher {
        let path = PathPattern(pattern)
        return RequestMatcher("path \(pattern)") { path.values(in: $0.path) != nil }
    }

    /// The whole URL. `ignoringQuery` compares what stands before the question mark alone.
    public static func url(_ url: String, ignoringQuery: Bool = false) -> RequestMatcher {
        let shown = Sensitivity.standard.redactedURL(url)
        // Normalised as a request's own: host in lower case, no default port.
        let wanted = (try? HTTPURL(url))?.description ?? url
        @Sendable func comparable(_ text: String) -> Substring { ignoringQuery ? text.prefix { $0 != "?" } : text[...] }
        let text = String(comparable(wanted))
        return RequestMatcher("URL \(ignoringQuery ? String(comparable(shown)) : shown)") { recorded in
            recorded.request.url.map { comparable($0.description) == text } ?? false
        }
    }

    /// The whole URL, some part of which matches a regular expression.
    ///
    /// - Precondition: `pattern` can be compiled.
    public static func url(matching pattern: String) -> RequestMatcher {
        let matches = Pattern(pattern)
        return RequestMatcher("URL matching /\(pattern)/") { recorded in recorded.request.url.map { matches($0.description) } ?? false }
    }

    /// A query item with this name, and with this value unless it is nil; both as they are before percent-encoding.
    public static func query(_ name: String, _ value: String? = nil) -> RequestMatcher {
        let shown = Sensitivity.standard.isSensitive(queryName: name) ? value.map { _ in Sensitivity.placeholder } : value
        return RequestMatcher("query \(name)\(shown.map { "=\($0)" } ?? "")") { recorded in
            recorded.queryItems.contains { $0.name == name && (value == nil || $0.value == value) }
        }
    }

    /// A field with this name, and with this value unless it is nil.
    public static func header(_ name: HTTPField.Name, _ value: String? = nil) -> RequestMatcher {
        let shown = Sensitivity.standard.isSensitive(name) ? value.map { _ in Sensitivity.placeholder } : value
        return RequestMatcher("header \(name.rawName)\(shown.map { ": \($0)" } ?? "")") { recorded in
            recorded.request.head.headerFields[values: name].contains { value == nil || $0 == value }
        }
    }

    /// A field with this name, some part of whose value matches a regular expression. Of several fields, one is enough.
    ///
    /// - Precondition: `pattern` can be compiled.
    public static func header(_ name: HTTPField.Name, matching pattern: String) -> RequestMatcher {
        let matches = Pattern(pattern)
        let shown = Sensitivity.standard.isSensitive(name) ? Sensitivity.placeholder : "/\(pattern)/"
        return RequestMatcher("header \(name.rawName) matching \(shown)") { recorded in
            recorded.request.head.headerFields[values: name].contains { matches($0) }
        }
    }

    /// A body of exactly these bytes.
    public static func body(_ bytes: Data) -> RequestMatcher {
        RequestMatcher("body of \(bytes.count) bytes", needsBody: true) { $0.body == bytes }
    }

    /// A body of exactly this text, in UTF-8.
    public static func body(_ text: String) -> RequestMatcher { body(Data(text.utf8)) }

    /// A JSON body that has at least these members, with these values; arrays have the same length.
    public static func json(_ subset: JSONValue) -> RequestMatcher {
        let shown = (try? JSONEncoder().encode(subset)).map { String(decoding: $0, as: UTF8.self) } ?? "…"
        return RequestMatcher("JSON with \(shown)", needsBody: true) { recorded in
            (try? JSONDecoder().decode(JSONValue.self, from: recorded.body)).map(subset.isSubset(of:)) ?? false
        }
    }

    /// A form (`application/x-www-form-urlencoded`) that has at least these items, before they are encoded.
    public static func form(_ items: [String: String]) -> RequestMatcher {
        let names = items.keys.sorted()
        let shown = names.map { Sensitivity.standard.isSensitive(queryName: $0) ? $0 : "\($0)=\(items[$0] ?? "")" }
        return RequestMatcher("form with \(shown.joined(separator: ", "))", needsBody: true) { recorded in
            let found = recorded.formItems
            return items.allSatisfy { name, value in found.contains { $0.name == name && $0.value == value } }
        }
    }

    /// A part of a multipart body (RFC 7578) with this name and, unless they are nil, this file name and this text.
    public static func part(named name: String, filename: String? = nil, text: String? = nil) -> RequestMatcher {
        let more = (filename.map { " of the file \($0)" } ?? "") + (text == nil ? "" : " with its text")
        return RequestMatcher("part \(name)\(more)", needsBody: true) { recorded in
            recorded.parts.contains { part in
                part.name == name && (filename == nil || part.filename == filename)
                    && (text == nil || part.body == text.map { Data($0.utf8) })
            }
        }
    }

    /// Whatever you look at; `name` is for the message about a request that nothing matched.
    public static func custom(_ name: String, _ matches: @escaping @Sendable (RecordedRequest) -> Bool) -> RequestMatcher {
        RequestMatcher(name, needsBody: true, matches)
    }

    // MARK: Joined

    public static func && (first: RequestMatcher, second: RequestMatcher) -> RequestMatcher {
        RequestMatcher(.all(first.conjuncts + second.conjuncts))
    }

    public static func || (first: RequestMatcher, second: RequestMatcher) -> RequestMatcher { RequestMatcher(.any([first, second])) }

    public static prefix func ! (matcher: RequestMatcher) -> RequestMatcher { RequestMatcher(.not(matcher)) }

    private var conjuncts: [RequestMatcher] {
        if case .all(let matchers) = node { matchers } else { [self] }
    }

    // MARK: Asked

    public func matches(_ request: RecordedRequest) -> Bool {
        switch node {
        case .one(_, _, let matches): matches(request)
        case .all(let matchers): matchers.allSatisfy { $0.matches(request) }
        case .any(let matchers): matchers.contains { $0.matches(request) }
        case .not(let matcher): !matcher.matches(request)
        }
    }

    /// Whether the body must be there to tell.
    var needsBody: Bool {
        switch node {
        case .one(_, let needsBody, _): needsBody
        case .all(let matchers), .any(let matchers): matchers.contains(where: \.needsBody)
        case .not(let matcher): matcher.needsBody
        }
    }

    /// The criteria that `request` does not meet, by name.
    func missed(by request: RecordedRequest) -> [String] {
        conjuncts.filter { !$0.matches(request) }.map(\.description)
    }

    /// How many criteria must all be met.
    var count: Int { conjuncts.count }

    public var description: String {
        switch node {
        case .one(let name, _, _): name
        case .all(let matchers): matchers.isEmpty ? "any request" : matchers.map(\.description).joined(separator: ", ")
        case .any(let matchers): "(" + matchers.map(\.description).joined(separator: " or ") + ")"
        case .not(let matcher): "not (\(matcher))"
        }
    }
}

extension RequestMatcher: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: ["matcher": description]) }
}

/// A regular expression that is compiled where it is used: a compiled one belongs to one thread.
private struct Pattern: Sendable {
    private let text: String

    init(_ text: String) {
        self.text = text
        do {
            _ = try Regex<AnyRegexOutput>(text)
        } catch {
            preconditionFailure("matching must be a regular expression (is /\(text)/: \(error))")
        }
    }

    func callAsFunction(_ subject: String) -> Bool {
        guard let regex = try? Regex<AnyRegexOutput>(text) else { return false }
        return subject.contains(regex)
    }
}
