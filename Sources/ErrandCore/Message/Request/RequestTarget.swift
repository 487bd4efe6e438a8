internal import ErrandFormats

/// The target of a request, parsed and checked once: the origin, if there is one, and the path with the query.
///
/// `Request.init` parses the target, and `server` and redirects set a new target. If the head was written later, the transport's boundary
/// parses the target again. A target is valid only while the head has the texts from which the target was made. A comparison of the texts
/// shows whether the target is still valid. The comparison is cheap, because head and target share their storage. Therefore writing the
/// head costs nothing, and no code that writes the head has to invalidate the target.
///
/// A target stores a text and a reference to its origin, and allocates nothing. All targets of a `server` share the origin of the base URL.
package struct RequestTarget: Sendable {
    /// The origin; `nil` for a path below a base URL that `server` will add.
    package let origin: Origin?
    /// The path of the head: percent-encoded, with its query. If there is an origin, the path is empty, or begins with `/` or
    /// `?`.
    package let path: String

    /// The longest URL, in octets.
    static let limitBytes = 65_535

    /// Creates a target without an origin.
    init(checkedPath path: String) { (origin, self.path) = (nil, path) }

    /// Creates a target with an origin; `nil` if the whole URL is longer than ``limitBytes``.
    init?(_ origin: Origin, checkedPath path: String) {
        guard origin.scheme.utf8.count + 3 + origin.authority.utf8.count + path.utf8.count <= Self.limitBytes else { return nil }
        (self.origin, self.path) = (origin, path)
    }

    /// Parses and checks a head that the caller has written.
    ///
    /// - Throws: ``InvalidURLError``.
    /// - Returns: `nil` for the target `*`, whose meaning depends on the method, and for a URL longer than ``limitBytes``.
    init?(reading head: HTTPRequest) throws(InvalidURLError) {
        try head.checkForTransport()
        let (scheme, authority, target) = (head.scheme ?? "", head.authority ?? "", head.path ?? "")
        let origin = try Origin(scheme: scheme, authority: authority, in: "\(scheme)://\(authority)")
        if target.isExactly("*") { return nil }
        let (path, query) = Self.parts(of: target)
        try Self.check(path, query, of: target)
        self.init(origin, checkedPath: target)
    }

    /// Returns whether `head` still has the scheme, the authority and the path of this target. Code may change a head after its target was
    /// parsed.
    func isTarget(of head: HTTPRequest) -> Bool {
        guard Self.areSame(head.path ?? "", path) else { return false }
        guard let origin else { return head.scheme == nil && head.authority == nil }
        return Self.areSame(head.authority ?? "", origin.authority) && Self.areSame(head.scheme ?? "", origin.scheme)
    }

    /// Returns whether two texts have equal octets.
    ///
    /// - Parameter checked: the checked text, in ASCII.
    fileprivate static func areSame(_ text: String, _ checked: String) -> Bool {
        // Swift may report texts of unequal lengths as equal, because some characters equal an ASCII letter: the Kelvin sign equals
        // K.
        text.utf8.count == checked.utf8.count && text == checked
    }

    /// The absolute URL; `nil` while there is no origin.
    var url: HTTPURL? {
        guard let origin else { return nil }
        let (path, query) = Self.parts(of: path)
        return HTTPURL(origin: origin, path: String(path), query: query.map(String.init))
    }

    /// The absolute URL as text; `nil` while there is no origin.
    var urlText: String? {
        guard let origin else { return nil }
        var text = ""
        text.reserveCapacity(origin.scheme.utf8.count + 4 + origin.authority.utf8.count + path.utf8.count)
        text += origin.scheme
        text += "://"
        text += origin.authority
        if path.utf8.first != UInt8(ascii: "/") { text += "/" }
        text += path
        return text
    }

    // MARK: - Paths before a base URL is known

    /// Returns the path before the first question mark of `text`, and the query after the question mark.
    package static func parts(of text: String) -> (path: Substring, query: Substring?) {
        guard let offset = text.withUTF8Bytes({ $0.firstIndex(of: UInt8(ascii: "?")) }) else { return (text[...], nil) }
        let mark = text.utf8.index(text.startIndex, offsetBy: offset)
        return (text[..<mark], text[text.utf8.index(after: mark)...])
    }

    /// Checks a path and query in the form of a request line, before a base URL is known.
    ///
    /// - Throws: ``InvalidURLError`` if `text` names an authority, has a fragment, contains an octet that must be percent-encoded, or is
    ///   longer than ``limitBytes``.
    static func check(_ text: String) throws(InvalidURLError) {
        if let code = text.withUTF8Bytes({ problem(in: $0).code }) { throw InvalidURLError(text, code) }
    }

    /// Checks a path and query while the base URL is not known. Returns the problem, if there is one, and the length of the
    /// path in bytes.
    static func problem(in text: UnsafeBufferPointer<UInt8>) -> (code: InvalidURLError.Code?, pathBytes: Int) {
        if text.count > limitBytes { return (.tooManyOctets, 0) }
        var pathBytes = text.count
        for (index, byte) in text.enumerated() {
            if byte == UInt8(ascii: "#") { return (.fragment, pathBytes) }
            if byte == UInt8(ascii: "?"), pathBytes == text.count { pathBytes = index }
        }
        let path = UnsafeBufferPointer(rebasing: text[..<pathBytes])
        if beginsWithAuthority(path) { return (.absolute, pathBytes) }
        if let bad = PercentEncoding.firstInvalidByte(in: path, allowing: .path) {
            return (.invalidOctet(bad.byte, component: "path").ofTheApp, pathBytes)
        }
        let query = UnsafeBufferPointer(rebasing: text.dropFirst(pathBytes + 1))
        if let bad = PercentEncoding.firstInvalidByte(in: query, allowing: .query) {
            return (.invalidOctet(bad.byte, component: "query").ofTheApp, pathBytes)
        }
        return (nil, pathBytes)
    }

    /// Returns whether the path begins with two slashes, or with letters and `://`.
    private static func beginsWithAuthority(_ path: UnsafeBufferPointer<UInt8>) -> Bool {
        let slash = UInt8(ascii: "/")
        if path.count >= 2, path[0] == slash, path[1] == slash { return true }
        let colon = path.firstIndex { !$0.isASCIILetter } ?? path.count
        return colon + 2 < path.count && path[colon] == UInt8(ascii: ":") && path[colon + 1] == slash && path[colon + 2] == slash
    }

    static func check(_ path: Substring, _ query: Substring?, of text: String) throws(InvalidURLError) {
        if let bad = PercentEncoding.firstInvalidByte(in: path, allowing: .path) {
            throw InvalidURLError(text, .invalidOctet(bad.byte, component: "path").ofTheApp)
        }
        if let query, let bad = PercentEncoding.firstInvalidByte(in: query, allowing: .query) {
            throw InvalidURLError(text, .invalidOctet(bad.byte, component: "query").ofTheApp)
        }
    }

    /// Returns two queries joined in order; `nil` if both are `nil`.
    static func joinedQuery(_ first: String?, _ second: String?) -> String? {
        guard let first, !first.isEmpty else { return second ?? first }
        guard let second, !second.isEmpty else { return first }
        return first + "&" + second
    }
}

extension Request {
    /// The target that was parsed from the head. `nil` if the head was never parsed, or if the head no longer has the scheme, the authority
    /// and the path of the target.
    package var target: RequestTarget? {
        guard let known = knownTarget, known.isTarget(of: head) else { return nil }
        return known
    }

    /// The host of the parsed target, if the head still has the target's authority; `nil` otherwise. The scheme and the path are not
    /// compared, so that reading the host is cheaper than reading ``target``.
    package var knownHost: String? {
        guard let origin = knownTarget?.origin, RequestTarget.areSame(head.authority ?? "", origin.authority) else { return nil }
        return origin.host
    }

    /// Returns the checked path and query of a request that has no origin yet.
    ///
    /// - Throws: ``InvalidURLError`` if the path was not checked yet, and is invalid.
    package func checkedPath() throws(InvalidURLError) -> String {
        if let target { return target.path }
        let path = head.path ?? ""
        try RequestTarget.check(path)
        return path
    }

    /// Sets the path and query of a request that has no origin yet.
    ///
    /// - Parameter path: the checked path, as returned by ``checkedPath()``.
    package mutating func setPath(checked path: String) {
        head.path = path
        knownTarget = RequestTarget(checkedPath: path)
    }

    /// Sets the target of the request to `path` at `origin`. The path is already checked, and has a leading slash.
    ///
    /// - Throws: ``InvalidURLError`` if the whole URL is longer than 65,535 octets.
    package mutating func setTarget(_ origin: Origin, checkedPath path: String) throws(InvalidURLError) {
        guard let target = RequestTarget(origin, checkedPath: path) else {
            throw InvalidURLError(options.urlTemplate ?? path, .tooManyOctets)
        }
        head.scheme = origin.scheme
        head.authority = origin.authority
        head.path = path
        knownTarget = target
    }

    /// Parses and checks the head. If the target is known and the head is unchanged, does nothing.
    ///
    /// - Throws: ``InvalidURLError``.
    mutating func readTarget() throws(InvalidURLError) {
        if target?.origin != nil { return }
        guard head.authority != nil, head.scheme != nil else {
            // If there is a template, the error shows the template without the values, which may be secret.
            throw InvalidURLError(options.urlTemplate ?? head.path ?? "", .missingHost)
        }
        do {
            knownTarget = try RequestTarget(reading: head)
        } catch {
            throw options.urlTemplate.map { InvalidURLError($0, error.code) } ?? error
        }
        if knownTarget == nil, !head.path.isExactly("*") { throw InvalidURLError(options.urlTemplate ?? head.path ?? "", .tooManyOctets) }
    }

    /// Returns the absolute URL as text, in the form in which it is sent. For transports that pass a URL as text to another
    /// client.
    ///
    /// - Throws: ``InvalidURLError`` if the head was not checked yet, and is invalid; also for the target `*`, which has no URL.
    package func urlText() throws(InvalidURLError) -> String {
        if let text = target?.urlText { return text }
        var request = self
        try request.readTarget()
        guard let text = request.knownTarget?.urlText else { throw InvalidURLError(head.path ?? "", .invalidTarget) }
        return text
    }
}

extension HTTPRequest {
    /// The path, percent-encoded, without its query; empty if there is no path.
    package var pathWithoutQuery: String { String(RequestTarget.parts(of: path ?? "").path) }
}
