internal import ErrandCore
internal import ErrandFormats

/// The parts of a request that are compared. The secrets are removed from these parts.
struct RequestKey: Sendable {
    enum Body: Sendable {
        case bytes([UInt8])
        case json(JSONValue)
        case form([HARField])
        /// The body is missing or incomplete.
        case unknown
    }

    let method: String
    /// The scheme, the authority and the path.
    let url: String
    let query: [HARField]
    let headers: [String]
    let body: Body

    /// - Parameter isBodyKnown: whether `request` has its complete body.
    init(_ request: HARRequest, matcher: RecordingMatcher, sensitivity: Sensitivity, isBodyKnown: Bool = true) {
        var request = request
        // If the matcher ignores bodies, the body is not searched for secrets.
        if matcher.body == .ignored { request.postData = nil }
        request.url = String(Substring(request.url.utf8.prefix { $0 != UInt8(ascii: "#") }))
        request.url = (try? HTTPURL(request.url).description) ?? request.url
        request = EntryRedaction.redacted(request, by: sensitivity)
        method = request.method
        url = String(RequestTarget.parts(of: request.url).path)
        query = .query(request.query ?? "")
        headers = matcher.headers.map { name in
            request.headers.filter { $0.name.isExactlyIgnoringCase(name.canonicalName) }.map { $0.value ?? "" }.joined(separator: ", ")
        }
        body = isBodyKnown ? Self.body(of: request.postData, by: matcher.body) : .unknown
    }

    private static func body(of data: HARPostData?, by rule: RecordingMatcher.BodyRule) -> Body {
        guard rule != .ignored, let data else { return .bytes([]) }
        if data.incomplete != nil { return .unknown }
        let bytes = data.text == nil ? Array(FormURLEncoded.encode(pairs(of: data)).utf8) : data.bytes
        guard rule == .normalized, let type = MediaType(data.mimeType) else { return .bytes(bytes) }
        if type.isJSON, let value = try? JSONValue(parsing: bytes) { return .json(value) }
        if type.essence == FormURLEncoded.mediaType { return .form(.form(String(decoding: bytes, as: UTF8.self))) }
        if type.type == "multipart", let boundary = type[parameter: "boundary"] {  // octets: ASCII
            // Each request has its own boundary. Therefore the boundary is not compared.
            let edits = MultipartSection.delimiters(of: boundary, in: bytes).map { ByteEdit(($0 + 2)..<($0 + 2 + boundary.utf8.count), []) }
            return .bytes(edits.applied(to: bytes))
        }
        return .bytes(bytes)
    }

    /// Returns the pairs of a form. A file that a browser exported may contain only the pairs, without the text of the form.
    private static func pairs(of data: HARPostData) -> [(name: String, value: String)] {
        (data.params ?? []).map { ($0.name, $0.value ?? "") }
    }

    // MARK: Comparing

    /// A difference between a request and a recorded request.
    struct Difference {
        /// The weight of the difference. A difference with a large weight is a strong sign that the requests are not the same.
        let weight: Int
        let text: String
    }

    /// Returns the differences between this recorded request and `asked`; empty if there is no difference.
    func differences(from asked: RequestKey, by matcher: RecordingMatcher) -> [Difference] {
        var differences: [Difference] = []
        if matcher.comparesMethod, !method.isExactly(asked.method) {
            differences.append(Difference(weight: 4, text: "the method (recorded \(method), requested \(asked.method.shownSafely()))"))
        }
        if matcher.comparesURL, !Redacted.matches(url, asked.url) {
            differences.append(Difference(weight: 8, text: "the URL (recorded \(url.shownSafely()), requested \(asked.url.shownSafely()))"))
        }
        if let text = queryDifference(from: asked, by: matcher.query) { differences.append(Difference(weight: 2, text: text)) }
        for (index, name) in matcher.headers.enumerated() where !Redacted.matches(headers[index], asked.headers[index]) {
            let (recorded, asked) = (headers[index].shownSafely(), asked.headers[index].shownSafely())
            differences.append(Difference(weight: 1, text: "the field \(name.rawName) (recorded '\(recorded)', requested '\(asked)')"))
        }
        if matcher.body != .ignored, let text = bodyDifference(from: asked) { differences.append(Difference(weight: 1, text: text)) }
        return differences
    }

    private func queryDifference(from asked: RequestKey, by rule: RecordingMatcher.QueryRule) -> String? {
        switch rule {
        case .ignored: return nil
        case .anyOrder:
            let (missing, extra) = Redacted.unmatched(query, asked.query)
            if missing.isEmpty, extra.isEmpty { return nil }
            return "the query (recorded \(Self.shown(missing)), requested \(Self.shown(extra)))"
        case .inOrder:
            if query.count == asked.query.count, zip(query, asked.query).allSatisfy(Redacted.matches) { return nil }
            return "the query (recorded \(Self.shown(query)), requested \(Self.shown(asked.query)))"
        }
    }

    private static func shown(_ pairs: [HARField]) -> String {
        pairs.isEmpty ? "nothing" : pairs.map { "\($0.name)\($0.value.map { "=\($0)" } ?? "")" }.joined(separator: "&").shownSafely()
    }

    private func bodyDifference(from asked: RequestKey) -> String? {
        switch (body, asked.body) {
        case (.unknown, _): return "the body (the recorded body is incomplete)"
        case (_, .unknown): return "the body (it is longer than the compared part)"
        case (.json(let recorded), .json(let asked)):
            return Redacted.difference(recorded, asked, at: "$").map { "the JSON body, at \($0.shownSafely())" }
        case (.form(let recorded), .form(let asked)):
            let (missing, extra) = Redacted.unmatched(recorded, asked)
            if missing.isEmpty, extra.isEmpty { return nil }
            return "the form (recorded \(Self.shown(missing)), requested \(Self.shown(extra)))"
        case (.bytes(let recorded), .bytes(let asked)):
            if Redacted.matches(recorded, asked) { return nil }
            return "the body (recorded \(recorded.count.counted("byte")), requested \(asked.count))"
        default: return "the body (of another kind)"
        }
    }
}

/// Compares a text with a redacted text. A placeholder in the recording matches any text that is not empty, because the new request may
/// contain a secret that is not known as a secret yet. An example is a secret from an earlier response.
private enum Redacted {
    private static let placeholders = [Array(Sensitivity.placeholder.utf8), Array(Sensitivity.urlPlaceholder.utf8)]

    static func matches(_ recorded: String, _ asked: String) -> Bool {
        recorded.isExactly(asked) || matches(Array(recorded.utf8), Array(asked.utf8))
    }

    private static func isSame(_ recorded: HARField, _ asked: HARField) -> Bool {
        recorded.name.isExactly(asked.name) && recorded.value.isExactly(asked.value)
    }

    static func matches(_ recorded: HARField, _ asked: HARField) -> Bool {
        matches(recorded.name, asked.name) && (recorded.value == nil) == (asked.value == nil)
            && matches(recorded.value ?? "", asked.value ?? "")
    }

    static func matches(_ recorded: [UInt8], _ asked: [UInt8]) -> Bool {
        if recorded == asked { return true }
        var literals: [ArraySlice<UInt8>] = []
        var rest = recorded[...]
        func next() -> Range<Int>? {
            placeholders.compactMap { rest.firstRange(of: $0) }.min { $0.lowerBound < $1.lowerBound }  // octets: of bytes
        }
        while let range = next() {
            literals.append(rest[..<range.lowerBound])
            rest = rest[range.upperBound...]
        }
        // Each placeholder matches at least one byte.
        let shortest = literals.reduce(rest.count + literals.count) { $0 + $1.count }
        guard let first = literals.first, asked.starts(with: first), asked.count >= shortest,
            asked.suffix(rest.count).elementsEqual(rest)
        else { return false }
        var between = asked.dropFirst(first.count).dropLast(rest.count)
        for literal in literals.dropFirst() where !literal.isEmpty {
            guard let range = between.firstRange(of: literal) else { return false }  // octets: of bytes
            between = between[range.upperBound...]
        }
        return true
    }

    /// Returns the items of each side that have no equal item on the other side.
    static func unmatched(_ recorded: [HARField], _ asked: [HARField]) -> (recorded: [HARField], asked: [HARField]) {
        var (missing, extra) = (recorded, asked)
        for isSame in [isSame, matches] as [(HARField, HARField) -> Bool] {
            missing.removeAll { item in
                guard let partner = extra.firstIndex(where: { isSame(item, $0) }) else { return false }
                extra.remove(at: partner)
                return true
            }
        }
        return (missing, extra)
    }

    /// Returns the path to the first difference; `nil` if there is no difference.
    static func difference(_ recorded: JSONValue, _ asked: JSONValue, at path: String) -> String? {
        switch (recorded, asked) {
        case (.object(let left), .object(let right)):
            for name in Set(left.keys).union(right.keys).sorted() {
                guard let left = left[name], let right = right[name] else { return "\(path).\(name)" }
                if let found = difference(left, right, at: "\(path).\(name)") { return found }
            }
            return nil
        case (.array(let left), .array(let right)):
            guard left.count == right.count else {
                return "\(path) (recorded \(left.count.counted("element")), requested \(right.count))"
            }
            return zip(left, right).enumerated().lazy.compactMap { difference($1.0, $1.1, at: "\(path)[\($0)]") }.first
        case (.string(let left), .string(let right)): return matches(left, right) ? nil : path
        default: return recorded == asked ? nil : path
        }
    }
}
