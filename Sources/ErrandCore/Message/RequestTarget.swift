/// Where a request goes, as it was read and checked once: its origin, where there is one, and its path and query.
///
/// It is read by `Request.init`, completed by `server` and by a redirect, and read again by the transport's boundary where the head was written
/// since. It holds for the texts of the head that it was made of, and for no others. A comparison of these texts finds that out, and costs next
/// to nothing: head and target share their storage. So writing the head costs nothing, and no way of writing it can be forgotten.
///
/// It is a reference and a text in each request, and allocates nothing: a target of `server` has the origin of the base URL, which is made once.
package struct RequestTarget: Sendable {
    /// `nil` for a path below a base URL that `server` will add.
    package let origin: Origin?
    /// The path of the head: percent-encoded, with its query. Where there is an origin, it is empty, or begins with `/` or `?`.
    package let path: String

    /// The longest URL, in octets.
    static let limitBytes = 65_535

    /// A target without an origin.
    init(checkedPath path: String) { (origin, self.path) = (nil, path) }

    /// `nil` if the whole URL is too long.
    init?(_ origin: Origin, checkedPath path: String) {
        guard origin.scheme.utf8.count + 3 + origin.authority.utf8.count + path.utf8.count <= Self.limitBytes else { return nil }
        (self.origin, self.path) = (origin, path)
    }

    /// Reads a head of the caller's own making.
    ///
    /// - Throws: ``InvalidURLError``.
    /// - Returns: `nil` for the target `*`, whose meaning depends on the method.
    init?(reading head: HTTPRequest) throws(InvalidURLError) {
        try head.checkForTransport()
        let (scheme, authority, target) = (head.scheme ?? "", head.authority ?? "", head.path ?? "")
        let origin = try Origin(scheme: scheme, authority: authority, in: "\(scheme)://\(authority)")
        if target == "*" { return nil }
        let (path, query) = Self.parts(of: target)
        try Self.check(path, query, of: target)
        self.init(origin, checkedPath: target)
    }

    /// Whether this is the target of `head`, which may have been written since.
    func isTarget(of head: HTTPRequest) -> Bool {
        guard Self.areSame(head.path ?? "", path) else { return false }
        guard let origin else { return head.scheme == nil && head.authority == nil }
        return Self.areSame(head.authority ?? "", origin.authority) && Self.areSame(head.scheme ?? "", origin.scheme)
    }

    /// - Parameter checked: in ASCII.
    private static func areSame(_ text: String, _ checked: String) -> Bool {
        // Equal texts of unequal lengths: some letters count as ASCII ones, such as the sign for Kelvin as a K.
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

    /// The path before the first question mark of `text`, and the query after it.
    package static func parts(of text: String) -> (path: Substring, query: Substring?) {
        guard let mark = text.utf8.firstIndex(of: UInt8(ascii: "?")) else { return (text[...], nil) }
        return (text[..<mark], text[text.utf8.index(after: mark)...])
    }

    /// Checks a path and query as they stand in a request line, before a base URL is known.
    ///
    /// - Throws: ``InvalidURLError`` if `text` names an authority, has a fragment, or holds an octet that must be escaped.
    static func check(_ text: String) throws(InvalidURLError) {
        if let reason = text.withUTF8Bytes({ problem(in: $0).reason }) { throw InvalidURLError(text, reason) }
    }

    /// What is wrong with a path and query before a base URL is known, and where the path ends.
    static func problem(in text: UnsafeBufferPointer<UInt8>) -> (reason: InvalidURLError.Reason?, pathBytes: Int) {
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

    /// Whether the path begins with two slashes, or with letters and `://`.
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

    /// Two queries in order; `nil` if there is neither.
    static func joinedQuery(_ first: String?, _ second: String?) -> String? {
        guard let first, !first.isEmpty else { return second ?? first }
        guard let second, !second.isEmpty else { return first }
        return first + "&" + second
    }
}

extension Request {
    /// What was read of the head, while the head is still as it was read.
    var target: RequestTarget? {
        guard let known = knownTarget, known.isTarget(of: head) else { return nil }
        return known
    }

    /// The path and query of a request that has no origin yet, checked.
    ///
    /// - Throws: ``InvalidURLError`` if it was not checked yet, and is invalid.
    package func checkedPath() throws(InvalidURLError) -> String {
        if let target { return target.path }
        let path = head.path ?? ""
        try RequestTarget.check(path)
        return path
    }

    /// Sets the path and query of a request that has no origin yet.
    ///
    /// - Parameter path: checked, as ``checkedPath()`` returns it.
    package mutating func setPath(checked path: String) {
        head.path = path
        knownTarget = RequestTarget(checkedPath: path)
    }

    /// Makes the request one for `path`, which was checked and has a leading slash, at `origin`.
    ///
    /// - Throws: ``InvalidURLError`` if the whole is longer than 65,535 octets.
    package mutating func setTarget(_ origin: Origin, checkedPath path: String) throws(InvalidURLError) {
        guard let target = RequestTarget(origin, checkedPath: path) else {
            throw InvalidURLError(options.urlTemplate ?? path, .tooManyOctets)
        }
        head.scheme = origin.scheme
        head.authority = origin.authority
        head.path = path
        knownTarget = target
    }

    /// Reads and checks the head, unless that was done and the head is as it was.
    ///
    /// - Throws: ``InvalidURLError``.
    mutating func readTarget() throws(InvalidURLError) {
        if target?.origin != nil { return }
        guard head.authority != nil, head.scheme != nil else {
            // Where there is a template, without the values: they may be secret.
            throw InvalidURLError(options.urlTemplate ?? head.path ?? "", .missingHost)
        }
        do {
            knownTarget = try RequestTarget(reading: head)
        } catch {
            throw options.urlTemplate.map { InvalidURLError($0, error.reason) } ?? error
        }
        if knownTarget == nil, head.path != "*" { throw InvalidURLError(options.urlTemplate ?? head.path ?? "", .tooManyOctets) }
    }

    /// The absolute URL as text, in the form in which it goes out: for a transport whose client reads texts.
    ///
    /// - Throws: ``InvalidURLError`` if the head was not read yet, and is invalid; also for the target `*`, which has no such URL.
    package func urlText() throws(InvalidURLError) -> String {
        if let text = target?.urlText { return text }
        var request = self
        try request.readTarget()
        guard let text = request.knownTarget?.urlText else { throw InvalidURLError(head.path ?? "", .invalidTarget) }
        return text
    }
}

extension HTTPRequest {
    /// The path, percent-encoded, without its query; empty if there is none.
    package var pathWithoutQuery: String { String(RequestTarget.parts(of: path ?? "").path) }
}
