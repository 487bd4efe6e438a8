/// A path whose interpolated values stay within their segment.
///
/// ```swift
/// let id = "a/../b?c"
/// try PathTemplate("/orgs/\(id, "org")/repos").resolved().target   // /orgs/a%2F..%2Fb%3Fc/repos
/// PathTemplate("/orgs/\(id, "org")/repos").template                // /orgs/{org}/repos
/// ```
///
/// The literal parts must be a valid path, with or without a query, percent-encoded where necessary. An interpolated value is data and is
/// percent-encoded: in the path as part of one segment, and after a question mark as part of one value.
///
/// A segment that is empty, `.` or `..` in the end is refused when the request is built
/// ([RFC 3986, section 6.2.2.3](https://www.rfc-editor.org/rfc/rfc3986#section-6.2.2.3)), and so is a segment that would be without its first
/// semicolon and what follows, as some servers drop the parameters of a segment.
///
/// The second, optional argument of an interpolation names the parameter for ``template``, by which logs, spans and metrics name the endpoint
/// (`url.template`).
///
/// A whole path in a variable is not a value: write `PathTemplate(verbatim: path)`. Interpolated alone (`"\(path)"`), it is refused.
public struct PathTemplate: Sendable, Hashable, ExpressibleByStringInterpolation, CustomStringConvertible, HidesStorage {
    enum Part: Sendable, Hashable {
        case literal(String)
        case value(String, name: String?)
        case segments([String], name: String?)
    }

    let parts: [Part]
    /// Whether it is data, so that it is no template, of which there should be few.
    let isVerbatim: Bool

    /// The path of a literal without values.
    public init(stringLiteral value: String) { (parts, isVerbatim) = ([.literal(value)], false) }

    /// The path of a literal with values.
    public init(stringInterpolation: StringInterpolation) { (parts, isVerbatim) = (stringInterpolation.parts, false) }

    /// A whole path in a variable, with or without a query, that is percent-encoded already: one that a server sent, for example.
    ///
    /// ```swift
    /// let next: [Item] = try await api.get(PathTemplate(verbatim: page.nextPath))
    /// ```
    ///
    /// Its template is the path itself, and a request for it has no ``RequestOptions/urlTemplate``.
    public init(verbatim text: String) { (parts, isVerbatim) = ([.literal(text)], true) }

    /// A path and query that are ready to be sent.
    ///
    /// Its description and its mirror are the template: values may be secret.
    public struct Resolved: Sendable, Hashable, CustomStringConvertible, HidesStorage {
        /// The path, percent-encoded, with its leading slash unless it is empty, and the query.
        public let target: String
        /// The template that it was made from, for `url.template`.
        public let template: String

        /// The template, without secrets.
        public var description: String { Sensitivity.standard.redactedURL(template) }
    }

    /// Fills in the values, percent-encoded, and appends `query` to the query of the path.
    ///
    /// - Throws: ``InvalidURLError`` if a segment is empty, `.` or `..`; if a literal part holds an octet that must be percent-encoded, names an
    ///   authority, or has a fragment; if the path begins with an interpolated value that begins with a slash; and if `query` was given
    ///   percent-encoded and is invalid.
    public func resolved(query: URLQuery = URLQuery()) throws(InvalidURLError) -> Resolved {
        if case .value(let value, _)? = parts.first, value.utf8.first == UInt8(ascii: "/") {
            throw InvalidURLError(description, .interpolatedPath)
        }
        var text = ""
        var inQuery = false
        var emptyValues: [Int] = []  // where a value left nothing, in octets
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
                    // By octets before the first semicolon, as for a whole segment below: each value is one.
                    let name = value.utf8.prefix { $0 != UInt8(ascii: ";") }
                    if name.isEmpty { throw InvalidURLError(description, .emptySegment) }
                    if name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8) { throw InvalidURLError(description, .dotSegment) }
                }
                text += values.map { PercentEncoding.encode($0, allowing: inQuery ? .queryComponent : .segment) }
                    .joined(separator: "/")
            }
        }
        if Self.hasEmptySegment(text, at: emptyValues) { throw InvalidURLError(description, .emptySegment) }
        // Not with the text in it, which has the values.
        if let reason = text.withUTF8Bytes({ Self.problem(in: $0) }) { throw InvalidURLError(description, reason.ofTheApp) }
        let first = text.utf8.first
        let isWhole = first == nil || first == UInt8(ascii: "/") || first == UInt8(ascii: "?")
        if isWhole, query.isEmpty { return Resolved(target: text, template: template) }
        let (path, ownQuery) = RequestTarget.parts(of: text)
        let added = query.encoded
        // A query that is percent-encoded already may be invalid.
        if let bad = PercentEncoding.firstInvalidByte(in: added, allowing: .query) {
            throw InvalidURLError(description, .invalidOctet(bad.byte, component: "query").ofTheApp)
        }
        let whole = RequestTarget.joinedQuery(ownQuery.map(String.init), query.isEmpty ? nil : added)
        return Resolved(target: (isWhole ? "" : "/") + path + (whole.map { "?" + $0 } ?? ""), template: template)
    }

    /// Whether nothing stands between the slashes, or ends, around one of the `offsets`.
    private static func hasEmptySegment(_ text: String, at offsets: [Int]) -> Bool {
        if offsets.isEmpty { return false }
        return text.withUTF8Bytes { octets in
            offsets.contains { offset in
                (offset == 0 || octets[offset - 1] == UInt8(ascii: "/"))
                    && (offset == octets.count || octets[offset] == UInt8(ascii: "/") || octets[offset] == UInt8(ascii: "?"))
            }
        }
    }

    private static func problem(in text: UnsafeBufferPointer<UInt8>) -> InvalidURLError.Reason? {
        let (reason, pathBytes) = RequestTarget.problem(in: text)
        return reason ?? problem(inSegmentsOf: UnsafeBufferPointer(rebasing: text[..<pathBytes]))
    }

    private static func problem(inSegmentsOf path: UnsafeBufferPointer<UInt8>) -> InvalidURLError.Reason? {
        var start = 0
        while true {
            let end = path[start...].firstIndex(of: UInt8(ascii: "/")) ?? path.endIndex
            if start == end {
                // The first stands before a leading slash, the last after a trailing one.
                if start != 0 && end != path.endIndex { return .emptySegment }
            } else {
                // Servers with parameters of segments drop them before they resolve dots: `..;x` is `..` to them.
                let name = path[start..<end].prefix { $0 != UInt8(ascii: ";") }
                if name.isEmpty { return .emptySegment }
                if isDotSegment(name) { return .dotSegment }
            }
            if end == path.endIndex { return nil }
            start = end + 1
        }
    }

    /// One dot or two. Others treat `%2e` as a dot (RFC 3986, 6.2.2.2).
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

    /// The path without its query, each value replaced by its name in braces (`{}` where it has none).
    public var template: String {
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

    /// The template, as values may be secret.
    public var description: String { template }

    /// The parts of a literal, as the compiler collects them.
    public struct StringInterpolation: StringInterpolationProtocol, CustomStringConvertible, HidesStorage {
        /// The number of parts, as values may be secret.
        public var description: String { "\(parts.count) parts" }

        var parts: [Part] = []

        /// Begins without parts.
        public init(literalCapacity: Int, interpolationCount: Int) { parts.reserveCapacity(interpolationCount * 2 + 1) }

        /// Appends a part that stands as it is written.
        public mutating func appendLiteral(_ literal: String) {
            if !literal.isEmpty { parts.append(.literal(literal)) }
        }

        /// Appends a value that stays within its segment. It may hold any text.
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

        /// Not available: a path has no place for `nil`.
        @available(*, unavailable, message: "unwrap the value: a path has no place for nil")
        @_disfavoredOverload
        public mutating func appendInterpolation<Value: LosslessStringConvertible>(_ value: Value?, _ name: String? = nil) {}

        /// Appends the text of a UUID.
        ///
        /// - Parameter name: the name of the parameter in the template.
        public mutating func appendInterpolation(_ value: UUID, _ name: String? = nil) {
            parts.append(.value(value.uuidString, name: name))
        }

        /// Appends several segments, each of them escaped by itself, with slashes between them.
        ///
        /// - Parameter name: the name of all of them in the template.
        public mutating func appendInterpolation(segments: [String], _ name: String? = nil) {
            parts.append(.segments(segments, name: name))
        }
    }
}

extension InvalidURLError.Reason {
    /// A path begins with an interpolated value that begins with a slash: a whole path was interpolated, and its slashes would become `%2F`.
    public static let interpolatedPath = InvalidURLError.Reason(
        "it begins with an interpolated value that begins with '/', whose slashes would be sent as %2F",
        remedy: "write a whole path that stands in a variable as PathTemplate(verbatim: path)", isMistakeOfTheApp: true)
}
