/// A URI reference in its five components, exactly as written
/// ([RFC 3986, section 4.1](https://www.rfc-editor.org/rfc/rfc3986#section-4.1)).
///
/// A `Location` or a `Link` field contains a reference. A reference is absolute, or relative to the URL of the request.
///
/// ```swift
/// let next = try URLReference("../g?y").resolved(against: URLReference("http://a/b/c/d;p?q"))
/// // http://a/b/g?y
/// ```
public struct URLReference: Sendable, Hashable, CustomStringConvertible {
    /// The scheme; `nil` in a relative reference.
    public var scheme: String?
    /// The credentials, host and port, as written. `nil` if there was no `//`; empty if nothing followed the `//`.
    public var authority: String?
    /// The path, which may be empty.
    public var path: String
    /// The query without its question mark. `nil` if there was no question mark; empty if nothing followed the question mark.
    public var query: String?
    /// The fragment without its number sign; `nil` if there was no number sign.
    public var fragment: String?

    /// Creates a reference by splitting `text` into its components. Nothing is percent-encoded or repaired.
    ///
    /// - Throws: ``InvalidURLError`` if `text` contains a space or a control character. Outside the authority, all other octets that no URI
    ///   may contain are refused too: a non-ASCII octet, a character such as `|` or `\`, and the percent sign of a broken escape.
    public init(_ text: String) throws(InvalidURLError) {
        var rest = Substring(text)
        // The comparison uses octets, because grapheme clusters are slow to compare. A combining character would also hide the
        // separator before it.
        if let mark = rest.utf8.firstIndex(of: UInt8(ascii: "#")) {
            fragment = String(rest[rest.utf8.index(after: mark)...])
            rest = rest[..<mark]
        }
        if let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?")) {
            query = String(rest[rest.utf8.index(after: mark)...])
            rest = rest[..<mark]
        }
        if let colon = rest.utf8.firstIndex(of: UInt8(ascii: ":")), Self.isScheme(rest[..<colon]) {
            scheme = String(rest[..<colon])
            rest = rest[rest.utf8.index(after: colon)...]
        }
        if rest.utf8.starts(with: "//".utf8) {
            rest = rest[rest.utf8.index(rest.startIndex, offsetBy: 2)...]
            let end = rest.utf8.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
            authority = String(rest[..<end])
            rest = rest[end...]
        }
        if let bad = authority?.utf8.first(where: \.isSpaceOrControl) {
            throw InvalidURLError(text, .invalidOctet(bad, component: "authority"))
        }
        path = String(rest)
        if let bad = PercentEncoding.firstInvalidByte(in: path, allowing: .path) {
            throw InvalidURLError(text, .invalidOctet(bad.byte, component: "path"))
        }
        if let bad = PercentEncoding.firstInvalidByte(in: query ?? "", allowing: .query) {
            throw InvalidURLError(text, .invalidOctet(bad.byte, component: "query"))
        }
        if let bad = PercentEncoding.firstInvalidByte(in: fragment ?? "", allowing: .query) {
            throw InvalidURLError(text, .invalidOctet(bad.byte, component: "fragment"))
        }
    }

    /// Creates a reference from a URL, whose components were already checked.
    public init(_ url: HTTPURL) {
        scheme = url.scheme
        authority = url.authority
        path = url.path.isEmpty ? "/" : url.path
        query = url.query
    }

    private static func isScheme(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, first.isASCIILetter else { return false }
        return text.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || $0 == 0x2B || $0 == 0x2D || $0 == 0x2E }
    }

    /// Returns this reference resolved against `base`, by the strict algorithm of
    /// [RFC 3986, section 5.2.2](https://www.rfc-editor.org/rfc/rfc3986#section-5.2.2).
    public func resolved(against base: URLReference) -> URLReference {
        var target = self
        if scheme != nil {
            target.path = Self.removingDotSegments(path)
            return target
        }
        target.scheme = base.scheme
        if authority != nil {
            target.path = Self.removingDotSegments(path)
            return target
        }
        target.authority = base.authority
        if path.isEmpty {
            target.path = base.path
            target.query = query ?? base.query
        } else if path.utf8.first == UInt8(ascii: "/") {
            target.path = Self.removingDotSegments(path)
        } else {
            target.path = Self.removingDotSegments(base.merged(with: path))
        }
        return target
    }

    /// Merges a relative path with this path ([RFC 3986, section 5.2.3](https://www.rfc-editor.org/rfc/rfc3986#section-5.2.3)).
    private func merged(with relative: String) -> String {
        if authority != nil, path.isEmpty { return "/" + relative }
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return relative }
        return path[...slash] + relative
    }

    /// Removes dot segments from a path ([RFC 3986, section 5.2.4](https://www.rfc-editor.org/rfc/rfc3986#section-5.2.4)).
    static func removingDotSegments(_ path: String) -> String {
        let isAbsolute = path.utf8.first == UInt8(ascii: "/")
        let segments = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst(isAbsolute ? 1 : 0)
        var kept: [Substring] = []
        var endsOpen = false  // the last segment was a dot segment, so the path ends in a slash
        for segment in segments {
            endsOpen = false
            let segment = Substring(segment)
            if segment.isExactly("..") {
                if !kept.isEmpty { kept.removeLast() }
                endsOpen = true
            } else if segment.isExactly(".") {
                endsOpen = true
            } else {
                kept.append(segment)
            }
        }
        if endsOpen { kept.append("") }
        return (isAbsolute ? "/" : "") + kept.joined(separator: "/")
    }

    /// The components joined into text ([RFC 3986, section 5.3](https://www.rfc-editor.org/rfc/rfc3986#section-5.3)).
    public var description: String {
        var text = ""
        if let scheme { text += scheme + ":" }
        if let authority { text += "//" + authority }
        text += path
        if let query { text += "?" + query }
        if let fragment { text += "#" + fragment }
        return text
    }
}

extension URLReference: CustomDebugStringConvertible, HidesStorage {
    /// The reference without its credentials. The values of sensitive query items are replaced. ``description`` is the reference
    /// itself.
    public var debugDescription: String { Sensitivity.standard.redactedURL(description) }
}
