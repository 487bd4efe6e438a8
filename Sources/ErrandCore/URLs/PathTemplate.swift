/// A path whose interpolated values stay within their segment.
///
/// ```swift
/// let id = "a/../b?c"
/// try PathTemplate("/orgs/\(id, "org")/repos").resolved().target   // /orgs/a%2F..%2Fb%3Fc/repos
/// PathTemplate("/orgs/\(id, "org")/repos").template                // /orgs/{org}/repos
/// ```
///
/// The literal parts must be a valid path, with or without a query, percent-encoded where necessary. An interpolated value is
/// data, and is percent-encoded. In the path, the value is a part of one segment. After a question mark, the value is a part of
/// one query value.
///
/// After the values are filled in, a segment must not be empty, `.` or `..`. A path with one of these segments is refused when the request
/// is built ([RFC 3986, section 6.2.2.3](https://www.rfc-editor.org/rfc/rfc3986#section-6.2.2.3)). The check uses only the text of a
/// segment before its first semicolon, because some servers drop the parameters of a segment.
///
/// The second, optional argument of an interpolation names the parameter in ``template``. Logs, spans and metrics use the
/// template as the name of the endpoint (`url.template`).
///
/// If a whole path is in a variable, write `PathTemplate(verbatim: path)`. A path that is interpolated as a value (`"\(path)"`)
/// is refused.
public struct PathTemplate: Sendable, Hashable, ExpressibleByStringInterpolation, CustomStringConvertible, HidesStorage {
    enum Part: Sendable, Hashable {
        case literal(String)
        case value(String, name: String?)
        case segments([String], name: String?)
    }

    enum Kind: Sendable, Hashable { case template, verbatim, url }

    let parts: [Part]
    private let kind: Kind
    /// Whether the path is data and not a template. An app should have few templates, because each template names an endpoint.
    var isVerbatim: Bool { kind != .template }
    /// The whole URL, as text; `nil` for a path.
    var urlText: String? { if kind == .url, case .literal(let text)? = parts.first { text } else { nil } }

    /// Creates the path from a literal that contains no values.
    public init(stringLiteral value: String) { (parts, kind) = ([.literal(value)], .template) }

    /// Creates the path from a literal that contains values.
    public init(stringInterpolation: StringInterpolation) { (parts, kind) = (stringInterpolation.parts, .template) }

    /// Creates a path from text that is a whole path, such as a path that a server sent. The path is already percent-encoded,
    /// with or without a query.
    ///
    /// ```swift
    /// let next: [Item] = try await api.get(PathTemplate(verbatim: page.nextPath))
    /// ```
    ///
    /// The template is the path itself, and a request for the path has no ``RequestOptions/urlTemplate``.
    public init(verbatim text: String) { (parts, kind) = ([.literal(text)], .verbatim) }

    /// Returns a template that is a whole URL instead of a path, such as a link that a server sent.
    ///
    /// ```swift
    /// let next: [Item] = try await api.get(.url(page.next))
    /// ```
    ///
    /// If the URL has another origin than `server`, `server` leaves the URL unchanged, and adds no default fields. For a URL with another
    /// origin, `authenticate` adds credentials only if its `origins:` lists that origin. The fragment is dropped. A request for the URL has
    /// no ``RequestOptions/urlTemplate``.
    ///
    /// - Parameter url: an absolute `http` or `https` URL. For any other URL, creating the request throws ``InvalidURLError``.
    public static func url(_ url: URL) -> PathTemplate { .url((try? HTTPURL(url))?.description ?? url.absoluteString) }

    /// Returns a template that is a whole URL instead of a path. The text of the URL must be percent-encoded. See
    /// ``url(_:)-(URL)``.
    public static func url(_ text: String) -> PathTemplate { PathTemplate(urlText: text) }

    private init(urlText: String) { (parts, kind) = ([.literal(urlText)], .url) }

    /// A path and query that are ready to be sent.
    ///
    /// The description and the mirror show only the template, because values may be secret.
    public struct Resolved: Sendable, Hashable, CustomStringConvertible, HidesStorage {
        /// The percent-encoded path and the query. The path has a leading slash, unless the path is empty.
        public let target: String
        /// The template of the path, for `url.template`.
        public let template: String

        /// The template, without secrets.
        public var description: String { Sensitivity.standard.redactedURL(template) }
    }

    /// Returns the path with its percent-encoded values filled in. `query` is appended to the query that the path may contain.
    ///
    /// If the template is a whole URL (``url(_:)-(URL)``), the result is the path and the query of that URL.
    ///
    /// - Throws: ``InvalidURLError`` in these cases:
    ///   - A segment is empty, `.` or `..`.
    ///   - A literal part contains an octet that must be percent-encoded, names an authority, or has a fragment.
    ///   - The path is longer than 65,535 octets.
    ///   - The template is a whole URL, and the URL is invalid.
    ///   - The path begins with an interpolated value that begins with a slash.
    ///   - `query` was created from percent-encoded text, and is invalid.
    public func resolved(query: URLQuery = URLQuery()) throws(InvalidURLError) -> Resolved {
        if let urlText {
            let request = Request(.get, url: try HTTPURL(urlText), query: query)
            return Resolved(target: request.head.path ?? "/", template: template)
        }
        if case .value(let value, _)? = parts.first, value.utf8.first == UInt8(ascii: "/") {
            throw InvalidURLError(description, .interpolatedPath)
        }
        var text = ""
        var inQuery = false
        var emptyValues: [Int] = []  // the offsets of empty values, in octets
        for part in parts {
            switch part {
            case .literal(let literal):
                text += literal
                if literal.utf8.contains(UInt8(ascii: "?")) { inQuery = true }
            case .value(let value, _):
                if value.isEmpty && !inQuery { emptyValues.append(text.utf8.count) }
                text += PercentEncoding.encode(value, allowing: inQuery ? .queryComponent : .segment)
            case .segments(let values, _):
                if values.isEmpty && !inQuery { emptyValues.append(text.utf8.count) }
                for value in values {
                    // Each value is one segment. Some servers drop a segment's parameters, and read `..;x` as `..`. Therefore only the
                    // octets before the first semicolon are checked.
                    let name = value.utf8.prefix { $0 != UInt8(ascii: ";") }
                    if name.isEmpty { throw InvalidURLError(description, .emptySegment) }
                    if name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8) { throw InvalidURLError(description, .dotSegment) }
                }
                text += values.map { PercentEncoding.encode($0, allowing: inQuery ? .queryComponent : .segment) }
                    .joined(separator: "/")
            }
        }
        if Self.hasEmptySegment(text, at: emptyValues) { throw InvalidURLError(description, .emptySegment) }
        // The error shows the template, because the text contains the values.
        if let code = text.withUTF8Bytes({ Self.problem(in: $0) }) { throw InvalidURLError(description, code.ofTheApp) }
        let first = text.utf8.first
        let isWhole = first == nil || first == UInt8(ascii: "/") || first == UInt8(ascii: "?")
        if isWhole, query.isEmpty { return Resolved(target: text, template: template) }
        let (path, ownQuery) = RequestTarget.parts(of: text)
        let added = query.encoded
        // A query that the caller has percent-encoded may be invalid.
        if let bad = PercentEncoding.firstInvalidByte(in: added, allowing: .query) {
            throw InvalidURLError(description, .invalidOctet(bad.byte, component: "query").ofTheApp)
        }
        let whole = RequestTarget.joinedQuery(ownQuery.map(String.init), query.isEmpty ? nil : added)
        return Resolved(target: (isWhole ? "" : "/") + path + (whole.map { "?" + $0 } ?? ""), template: template)
    }

    /// Returns whether the segment at one of the `offsets` is empty.
    private static func hasEmptySegment(_ text: String, at offsets: [Int]) -> Bool {
        if offsets.isEmpty { return false }
        return text.withUTF8Bytes { octets in
            offsets.contains { offset in
                (offset == 0 || octets[offset - 1] == UInt8(ascii: "/"))
                    && (offset == octets.count || octets[offset] == UInt8(ascii: "/") || octets[offset] == UInt8(ascii: "?"))
            }
        }
    }

    private static func problem(in text: UnsafeBufferPointer<UInt8>) -> InvalidURLError.Code? {
        let (code, pathBytes) = RequestTarget.problem(in: text)
        return code ?? problem(inSegmentsOf: UnsafeBufferPointer(rebasing: text[..<pathBytes]))
    }

    private static func problem(inSegmentsOf path: UnsafeBufferPointer<UInt8>) -> InvalidURLError.Code? {
        var start = 0
        while true {
            let end = path[start...].firstIndex(of: UInt8(ascii: "/")) ?? path.endIndex
            if start == end {
                // The first segment (before a leading slash) and the last segment (after a trailing slash) may be empty.
                if start != 0 && end != path.endIndex { return .emptySegment }
            } else {
                // Some servers drop the parameters of a segment before they resolve dots, and read `..;x` as `..`.
                let name = path[start..<end].prefix { $0 != UInt8(ascii: ";") }
                if name.isEmpty { return .emptySegment }
                if isDotSegment(name) { return .dotSegment }
            }
            if end == path.endIndex { return nil }
            start = end + 1
        }
    }

    /// Returns whether a segment is one dot or two dots. `%2e` is treated as a dot, because other software decodes `%2e` (RFC 3986,
    /// 6.2.2.2).
    private static func isDotSegment(_ segment: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        var (rest, dots) = (segment, 0)
        while let first = rest.first, dots < 3 {
            if first == UInt8(ascii: ".") {
                rest = rest.dropFirst()
            } else if rest.count >= 3, first == UInt8(ascii: "%"), rest[rest.startIndex + 1] == UInt8(ascii: "2"),
                rest[rest.startIndex + 2] | 0x20 == UInt8(ascii: "e")
            {
                rest = rest.dropFirst(3)
            } else {
                return false
            }
            dots += 1
        }
        return rest.isEmpty && (dots == 1 || dots == 2)
    }

    /// The path without its query. Each value is replaced by the name of its parameter in braces, or by `{}` if the parameter
    /// has no name.
    public var template: String {
        if let urlText { return (try? HTTPURL(urlText))?.path ?? "" }
        var text = ""
        for part in parts {
            switch part {
            case .literal(let literal):
                if let mark = literal.utf8.firstIndex(of: UInt8(ascii: "?")) { return text + literal[..<mark] }
                text += literal
            case .value(_, let name), .segments(_, let name): text += "{\(name ?? "")}"
            }
        }
        return text
    }

    /// The template. The values are not shown, because they may be secret. If the template is a whole URL, secrets in the URL
    /// are replaced.
    public var description: String { urlText.map { Sensitivity.standard.redactedURL($0).shownSafely(limit: 200) } ?? template }

    /// The parts of a literal, as the compiler collects them.
    public struct StringInterpolation: StringInterpolationProtocol, CustomStringConvertible, HidesStorage {
        /// The number of parts. The parts are not shown, because their values may be secret.
        public var description: String { parts.count.counted("part") }

        var parts: [Part] = []

        /// Creates an interpolation without parts.
        public init(literalCapacity: Int, interpolationCount: Int) { parts.reserveCapacity(interpolationCount * 2 + 1) }

        /// Appends a literal part unchanged.
        public mutating func appendLiteral(_ literal: String) {
            if !literal.isEmpty { parts.append(.literal(literal)) }
        }

        /// Appends a value, which stays within its segment. The value may contain any text.
        ///
        /// - Parameter name: the name of the parameter in the template.
        public mutating func appendInterpolation(_ value: some LosslessStringConvertible, _ name: String? = nil) {
            parts.append(.value(value.description, name: name))
        }

        /// Appends the raw value of an enumeration or of a typed identifier.
        ///
        /// - Parameter name: the name of the parameter in the template.
        public mutating func appendInterpolation<Value: RawRepresentable>(_ value: Value, _ name: String? = nil)
        where Value.RawValue: LosslessStringConvertible {
            parts.append(.value(value.rawValue.description, name: name))
        }

        /// Not available, because a path can't contain `nil`.
        @available(*, unavailable, message: "unwrap the value: a path can't contain nil")
        @_disfavoredOverload
        public mutating func appendInterpolation<Value: LosslessStringConvertible>(_ value: Value?, _ name: String? = nil) {}

        /// Appends the text of a UUID.
        ///
        /// - Parameter name: the name of the parameter in the template.
        public mutating func appendInterpolation(_ value: UUID, _ name: String? = nil) {
            parts.append(.value(value.uuidString, name: name))
        }

        /// Appends several segments with slashes between them. Each segment is percent-encoded separately.
        ///
        /// - Parameter name: the name in the template for all segments together.
        public mutating func appendInterpolation(segments: [String], _ name: String? = nil) {
            parts.append(.segments(segments, name: name))
        }
    }
}

extension InvalidURLError.Code {
    /// The path begins with an interpolated value that begins with a slash. Probably the interpolated value is a whole path.
    /// The slashes of that path would become `%2F`.
    public static let interpolatedPath = InvalidURLError.Code(
        "it begins with an interpolated value, and the slashes of this value would be sent as %2F",
        remedy: "for a whole path in a variable, write PathTemplate(verbatim: path)", isMistakeOfTheApp: true)
}
