public import ErrandCore
public import ErrandFormats

/// Which requests to answer, and how.
///
/// ```swift
/// Stub(.get, "/users/{id}").query("expand", "teams").answers(.json(User(id: 7)))
/// Stub(.post, "/orders").json(["item": "tea"]).answers(.status(503), .status(201))     // one after the other
/// ```
public struct Stub: Sendable, CustomStringConvertible {
    struct Criterion: Sendable {
        let name: String
        let matches: @Sendable (RecordedRequest) -> Bool
    }

    var criteria: [Criterion]
    var script: [StubAnswer] = []

    /// - Parameters:
    ///   - method: nil matches every method.
    ///   - path: of the request, without its query: literal segments, `{name}` for any one segment, a last `**` for any number of
    ///     them. Nil matches every path.
    public init(_ method: HTTPRequest.Method? = nil, _ path: String? = nil) {
        criteria = []
        if let method { criteria.append(Criterion(name: "method \(method.rawValue)") { $0.request.method == method }) }
        if let path {
            let pattern = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
            criteria.append(Criterion(name: "path \(path)") { Self.matches(pattern, $0.path) })
        }
    }

    private static func matches(_ pattern: [String], _ path: String) -> Bool {
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        for (index, wanted) in pattern.enumerated() {
            if wanted == "**", index == pattern.count - 1 { return index <= segments.count }
            guard index < segments.count else { return false }
            let isAny = wanted.hasPrefix("{") && wanted.hasSuffix("}") && !segments[index].isEmpty
            guard isAny || wanted == segments[index] else { return false }
        }
        return pattern.count == segments.count
    }

    private func adding(_ name: String, _ matches: @escaping @Sendable (RecordedRequest) -> Bool) -> Stub {
        var copy = self
        copy.criteria.append(Criterion(name: name, matches: matches))
        return copy
    }

    /// A query item with this name, and with this value unless it is nil; both as they are before percent-encoding.
    public func query(_ name: String, _ value: String? = nil) -> Stub {
        let shown = Sensitivity.standard.isSensitive(queryName: name) ? Sensitivity.placeholder : value
        return adding("query \(name)\(shown.map { "=\($0)" } ?? "")") { recorded in
            recorded.queryItems.contains { $0.name == name && (value == nil || $0.value == value) }
        }
    }

    /// A field with this name, and with this value unless it is nil.
    public func header(_ name: HTTPField.Name, _ value: String? = nil) -> Stub {
        let shown = Sensitivity.standard.isSensitive(name) ? Sensitivity.placeholder : value
        return adding("header \(name.rawName)\(shown.map { ": \($0)" } ?? "")") { recorded in
            recorded.request.head.headerFields[values: name].contains { value == nil || $0 == value }
        }
    }

    /// A JSON body that has at least these members, with these values.
    public func json(_ subset: JSONValue) -> Stub {
        adding("JSON with \((try? JSONEncoder().encode(subset)).map { String(decoding: $0, as: UTF8.self) } ?? "…")") { recorded in
            (try? JSONDecoder().decode(JSONValue.self, from: recorded.body)).map(subset.isSubset(of:)) ?? false
        }
    }

    /// Whatever you look at; `name` is for the message about a request that nothing matched.
    public func matching(_ name: String, _ matches: @escaping @Sendable (RecordedRequest) -> Bool) -> Stub { adding(name, matches) }

    /// What comes back: one answer again and again, or several, each once, in order; after the last of several nothing matches.
    public func answers(_ first: StubAnswer, _ more: StubAnswer...) -> Stub {
        var copy = self
        copy.script = [first] + more
        return copy
    }

    public var description: String { criteria.isEmpty ? "any request" : criteria.map(\.name).joined(separator: ", ") }
}

/// A request as a stub saw it, with its body read.
public struct RecordedRequest: Sendable, CustomStringConvertible {
    public let request: Request
    /// The whole body; a stub reads at most 16 MiB.
    public let body: Data

    /// The path, percent-encoded, without the query.
    public var path: String { String((request.head.path ?? "").prefix { $0 != "?" }) }

    /// Names and values of the query, decoded, in order.
    public var queryItems: [Query.Item] {
        guard let target = request.head.path, let mark = target.firstIndex(of: "?") else { return [] }
        return target[target.index(after: mark)...].split(separator: "&").map { item in
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let texts = parts.map { PercentEncoding.decode($0) ?? String($0) }
            return Query.Item(name: texts[0], value: texts.count > 1 ? texts[1] : nil)
        }
    }

    /// The body as JSON.
    public func json<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value { try JSONDecoder().decode(type, from: body) }

    public var description: String { request.description }
}

extension RecordedRequest: CustomReflectable {
    public var customMirror: Mirror {
        Mirror(self, children: ["request": request, "body": "\(body.count) bytes"] as KeyValuePairs<String, Any>)
    }
}

/// What a stub sends back.
public struct StubAnswer: Sendable {
    enum Content: Sendable {
        case data(Data)
        case chunks([Data], failure: (any Error)?)
    }

    let make: @Sendable (RecordedRequest) async throws -> (head: HTTPResponse, content: Content)

    init(_ make: @escaping @Sendable (RecordedRequest) async throws -> (head: HTTPResponse, content: Content)) { self.make = make }

    /// A status alone, or with a text.
    public static func status(_ status: HTTPResponse.Status, headers: HTTPFields = HTTPFields(), text: String = "") -> StubAnswer {
        data(Data(text.utf8), status: status, headers: headers)
    }

    public static func data(_ data: Data, status: HTTPResponse.Status = .ok, headers: HTTPFields = HTTPFields()) -> StubAnswer {
        StubAnswer { _ in (HTTPResponse(status: status, headerFields: headers), .data(data)) }
    }

    /// A value as JSON, with its `Content-Type`.
    public static func json(
        _ value: some Encodable & Sendable, status: HTTPResponse.Status = .ok, headers: HTTPFields = HTTPFields()
    ) -> StubAnswer {
        StubAnswer { _ in
            var head = HTTPResponse(status: status, headerFields: headers)
            if head.headerFields[.contentType] == nil { head.headerFields[.contentType] = "application/json" }
            return (head, .data(try JSONEncoder().encode(value)))
        }
    }

    /// A body that comes chunk by chunk, each when it is read; with a failure, it breaks off after the last.
    public static func stream(
        _ chunks: [Data], status: HTTPResponse.Status = .ok, headers: HTTPFields = HTTPFields(), failure: (any Error)? = nil
    ) -> StubAnswer {
        StubAnswer { _ in (HTTPResponse(status: status, headerFields: headers), .chunks(chunks, failure: failure)) }
    }

    /// No answer, but an error.
    public static func failure(_ error: any Error) -> StubAnswer { StubAnswer { _ in throw error } }

    /// No answer, ever, until the caller is cancelled or the deadline passes.
    public static let never = StubAnswer { _ in
        while true { try await Task.sleep(for: .seconds(3600)) }
    }

    /// Whatever you make of the request.
    public static func custom(
        _ answer: @escaping @Sendable (RecordedRequest) async throws -> (head: HTTPResponse, body: Data)
    ) -> StubAnswer {
        StubAnswer { request in
            let (head, body) = try await answer(request)
            return (head, .data(body))
        }
    }
}
