public import ErrandCore
public import ErrandFormats

/// A criterion for requests. Combine criteria with `&&`, `||` and `!`.
///
/// ```swift
/// .method(.post) && (.path("/login") || .url(matching: "/v[12]/login$")) && .form(["user": "ada"])
/// ```
///
/// The description of a matcher names the criteria, and hides the values of sensitive fields and query items.
public struct RequestMatcher: Sendable, CustomStringConvertible, HidesStorage {
    private indirect enum Node: Sendable {
        case one(Criterion)
        case all([RequestMatcher])
        case any([RequestMatcher])
        case not(RequestMatcher)
    }

    private struct Criterion: Sendable {
        let name: String
        let needsBody: Bool
        /// Returns the compared part of the request, without secrets; `nil` if the part is not shown.
        let sent: @Sendable (RecordedRequest) -> String?
        let matches: @Sendable (RecordedRequest) -> Bool
    }

    private let node: Node

    private init(_ node: Node) { self.node = node }

    private init(
        _ name: String, needsBody: Bool = false, sent: @escaping @Sendable (RecordedRequest) -> String? = { _ in nil },
        _ matches: @escaping @Sendable (RecordedRequest) -> Bool
    ) {
        node = .one(Criterion(name: name, needsBody: needsBody, sent: sent, matches: matches))
    }

    // MARK: Criteria

    /// Matches every request.
    public static let any = RequestMatcher(.all([]))

    /// Matches requests that meet a condition. The conditions are the same as in ``/ErrandCore/HTTPSender/wrapped(by:when:)``.
    ///
    /// ```swift
    /// .condition(.host("*.example.com")) && .json(["paid": true])
    /// ```
    public static func condition(_ condition: RequestCondition) -> RequestMatcher {
        RequestMatcher(condition.description) { condition.isMet(by: $0.request) }
    }

    /// Matches requests with this method.
    public static func method(_ method: HTTPRequest.Method) -> RequestMatcher { condition(.method(method)) }

    /// Matches requests whose path matches a pattern. The compared path is percent-encoded, and does not include the query.
    ///
    /// - Parameter pattern: literal segments, `{name}` for any segment that is not empty, and a final `**` for any number of
    ///   segments.
    public static func path(_ pattern: String) -> RequestMatcher { condition(.path(pattern)) }

    /// Matches requests with this URL. With `ignoringQuery`, only the part before the question mark is compared.
    public static func url(_ url: String, ignoringQuery: Bool = false) -> RequestMatcher {
        let shown = Sensitivity.standard.redactedURL(url)
        // The URL is normalized like a request's own URL: the host in lowercase, without a default port.
        let wanted = (try? HTTPURL(url))?.description ?? url
        @Sendable func comparable(_ text: String) -> Substring { ignoringQuery ? RequestTarget.parts(of: text).path : text[...] }
        let text = String(comparable(wanted))
        return RequestMatcher("URL \(ignoringQuery ? String(comparable(shown)) : shown)") { recorded in
            recorded.request.url.map { comparable($0.description).isExactly(text) } ?? false
        }
    }

    /// Matches requests whose URL contains a match of a regular expression.
    ///
    /// - Precondition: `pattern` is a valid regular expression.
    public static func url(matching pattern: String) -> RequestMatcher {
        let matches = Pattern(pattern)
        return RequestMatcher("URL matching /\(pattern)/") { recorded in recorded.request.url.map { matches($0.description) } ?? false }
    }

    /// Matches requests with a query item of this name and this value. Pass the name and the value without percent-encoding. `nil` matches
    /// any value.
    public static func query(_ name: String, _ value: String? = nil) -> RequestMatcher {
        let shown = Sensitivity.standard.isSensitive(queryName: name) ? value.map { _ in Sensitivity.placeholder } : value
        return RequestMatcher(
            "query \(name)\(shown.map { "=\($0)" } ?? "")", sent: { Self.sent($0.queryItems.filter { $0.name.isExactly(name) }, in: $0) }
        ) { recorded in
            recorded.queryItems.contains { $0.name.isExactly(name) && (value == nil || $0.value.isExactly(value)) }
        }
    }

    /// Matches requests with a field of this name and this value. If `value` is `nil`, matches any value.
    public static func header(_ name: HTTPField.Name, _ value: String? = nil) -> RequestMatcher {
        let shown = Sensitivity.standard.isSensitive(name) ? value.map { _ in Sensitivity.placeholder } : value
        return RequestMatcher("header \(name.rawName)\(shown.map { ": \($0)" } ?? "")", sent: { Self.sent(name, in: $0) }) { recorded in
            recorded.request.head.headerFields[values: name].contains { value == nil || value.isExactly($0) }
        }
    }

    /// Matches requests with a field of this name whose value contains a match of a regular expression. If a request has several
    /// fields of this name, one match is enough.
    ///
    /// - Precondition: `pattern` is a valid regular expression.
    public static func header(_ name: HTTPField.Name, matching pattern: String) -> RequestMatcher {
        let matches = Pattern(pattern)
        let shown = Sensitivity.standard.isSensitive(name) ? Sensitivity.placeholder : "/\(pattern)/"
        return RequestMatcher("header \(name.rawName) matching \(shown)", sent: { Self.sent(name, in: $0) }) { recorded in
            recorded.request.head.headerFields[values: name].contains { matches($0) }
        }
    }

    /// Returns the values of a field in a request, without secrets.
    private static func sent(_ name: HTTPField.Name, in recorded: RecordedRequest) -> String {
        let sensitivity = recorded.request.options.sensitivity
        return sent(recorded.headers.filter { $0.name == name }.map { sensitivity.shownValue(of: $0) })
    }

    /// Returns the values of query items in a request, without secrets.
    private static func sent(_ items: [URLQuery.Item], in recorded: RecordedRequest) -> String {
        let sensitivity = recorded.request.options.sensitivity
        return sent(
            items.map { item in
                sensitivity.isSensitive(queryName: item.name) ? Sensitivity.placeholder : sensitivity.redactedURL(item.value ?? "")
            })
    }

    private static func sent(_ values: [String]) -> String {
        values.isEmpty ? "not sent" : "sent " + values.map { "'\($0.shownSafely(limit: 80))'" }.joined(separator: ", ")
    }

    /// Matches requests whose body has exactly these bytes.
    public static func body(_ bytes: Data) -> RequestMatcher {
        RequestMatcher("body of \(bytes.count.counted("byte"))", needsBody: true) { $0.body == bytes }
    }

    /// Matches requests whose body is exactly this text, in UTF-8.
    public static func body(_ text: String) -> RequestMatcher { body(Data(text.utf8)) }

    /// Matches requests with a JSON body that has at least these members, with these values. Arrays must have the same length as in
    /// `subset`.
    public static func json(_ subset: JSONValue) -> RequestMatcher {
        let shown = (try? JSONEncoder().encode(subset)).map { String(decoding: $0, as: UTF8.self) } ?? "…"
        return RequestMatcher("JSON with \(shown)", needsBody: true) { recorded in
            (try? JSONValue(parsing: recorded.body)).map(subset.isSubset(of:)) ?? false
        }
    }

    /// Matches requests with a form (`application/x-www-form-urlencoded`) that has at least these items. Pass the items without
    /// percent-encoding.
    public static func form(_ items: [String: String]) -> RequestMatcher {
        let names = items.keys.sorted()
        let shown = names.map { Sensitivity.standard.isSensitive(queryName: $0) ? $0 : "\($0)=\(items[$0] ?? "")" }
        return RequestMatcher("form with \(shown.joined(separator: ", "))", needsBody: true) { recorded in
            let found = recorded.formItems
            return items.allSatisfy { name, value in found.contains { $0.name.isExactly(name) && $0.value.isExactly(value) } }
        }
    }

    /// Matches requests whose multipart body ([RFC 7578](https://www.rfc-editor.org/rfc/rfc7578)) has a part with this name, this file name
    /// and this text. `nil` matches any value of `fileName` or `text`.
    public static func part(named name: String, fileName: String? = nil, text: String? = nil) -> RequestMatcher {
        let more = (fileName.map { " of the file \($0)" } ?? "") + (text == nil ? "" : " with its text")
        return RequestMatcher("part \(name)\(more)", needsBody: true) { recorded in
            recorded.parts.contains { part in
                part.name.isExactly(name) && (fileName == nil || part.fileName.isExactly(fileName))
                    && (text == nil || part.body == text.map { Data($0.utf8) })
            }
        }
    }

    /// Matches requests for which a closure returns true. If a request has no matching stub, the error shows `name` as the name
    /// of the criterion.
    public static func custom(_ name: String, _ matches: @escaping @Sendable (RecordedRequest) -> Bool) -> RequestMatcher {
        RequestMatcher(name, needsBody: true, matches)
    }

    // MARK: Combining

    /// Matches requests that meet both criteria.
    public static func && (first: RequestMatcher, second: RequestMatcher) -> RequestMatcher {
        RequestMatcher(.all(first.conjuncts + second.conjuncts))
    }

    /// Matches requests that meet at least one of the criteria.
    public static func || (first: RequestMatcher, second: RequestMatcher) -> RequestMatcher { RequestMatcher(.any([first, second])) }

    /// Matches requests that do not meet the criterion.
    public static prefix func ! (matcher: RequestMatcher) -> RequestMatcher { RequestMatcher(.not(matcher)) }

    private var conjuncts: [RequestMatcher] {
        if case .all(let matchers) = node { matchers } else { [self] }
    }

    // MARK: Matching

    /// Returns whether a request meets the criteria.
    public func matches(_ request: RecordedRequest) -> Bool {
        switch node {
        case .one(let criterion): criterion.matches(request)
        case .all(let matchers): matchers.allSatisfy { $0.matches(request) }
        case .any(let matchers): matchers.contains { $0.matches(request) }
        case .not(let matcher): !matcher.matches(request)
        }
    }

    /// Whether matching requires the body.
    var needsBody: Bool {
        switch node {
        case .one(let criterion): criterion.needsBody
        case .all(let matchers), .any(let matchers): matchers.contains(where: \.needsBody)
        case .not(let matcher): matcher.needsBody
        }
    }

    /// Returns the names of the criteria that `request` does not meet, and the sent values: `header Accept: a (sent 'b')`.
    func missed(by request: RecordedRequest) -> [String] {
        conjuncts.filter { !$0.matches(request) }.map { matcher in
            guard case .one(let criterion) = matcher.node, let sent = criterion.sent(request) else { return matcher.description }
            return "\(criterion.name) (\(sent))"
        }
    }

    /// The number of criteria that a request must meet.
    var count: Int { conjuncts.count }

    public var description: String {
        switch node {
        case .one(let criterion): criterion.name
        case .all(let matchers): matchers.isEmpty ? "any request" : matchers.map(\.description).joined(separator: ", ")
        case .any(let matchers): "(" + matchers.map(\.description).joined(separator: " or ") + ")"
        case .not(let matcher): "not (\(matcher))"
        }
    }
}

/// A regular expression that is compiled for each use, because a compiled regular expression can't be shared among threads.
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
