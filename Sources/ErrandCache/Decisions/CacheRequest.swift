internal import ErrandCore

/// The parts of a request that decide how a cache handles the request. Each part is read once.
struct CacheRequest: Sendable {
    /// The bytes that a request asks for in the field `Range` ([RFC 9110, section
    /// 14.2](https://www.rfc-editor.org/rfc/rfc9110#section-14.2)).
    enum Wanted: Sendable, Hashable {
        /// The whole representation.
        case whole
        /// One range of bytes.
        case range(ByteRange)
        /// Several ranges, an invalid range, another unit, or a method other than GET. No stored response serves the request.
        case other
    }

    /// The conditions of the caller.
    enum Condition: Sendable, Hashable {
        case none
        /// `If-None-Match`.
        case noneMatch(EntityTagCondition)
        /// `If-Modified-Since`, without `If-None-Match`.
        case modifiedSince(String)
        /// A condition that only the server can evaluate, or an invalid condition.
        case other
    }

    /// The request.
    let request: Request
    /// The key of the stored responses; `nil` if no stored response serves the request, and its response is not stored. The key is `nil`
    /// for:
    /// - in a private cache, a request with `Authorization`, `Cookie` or another sensitive field that no identity covers
    /// - a GET or HEAD with a body, and a QUERY without a digest
    /// - a request whose URL is longer than ``CacheLimits/urlBytes``
    let key: CacheKey?
    /// Why the request has no key; `nil` if the request has a key.
    let refusal: CacheStatus.Refusal?
    /// The URL of the request.
    let url: HTTPURL
    /// The directives of the request.
    let control: CacheControl
    /// The way in which the request uses the cache.
    let mode: CachePolicy.Mode
    /// The bytes that the request asks for.
    let wanted: Wanted
    /// The conditions of the caller.
    let condition: Condition
    /// Whether the transport decodes bodies.
    let isDecoded: Bool

    /// Reads a request.
    ///
    /// - Parameters:
    ///   - request: the request, as it would be sent.
    ///   - mode: the way in which the request uses the cache.
    ///   - scope: the users of the cache.
    ///   - bodyDigest: a digest of the body with at least 128 bits, for QUERY; `nil` if the body is not in memory, or the store makes no
    ///     digests.
    ///   - isDecoded: whether the transport decodes bodies.
    /// - Returns: `nil` if the request has no absolute URL.
    init?(
        _ request: Request, mode: CachePolicy.Mode = .standard, scope: CachePolicy.Scope = .private, bodyDigest: [UInt8]? = nil,
        isDecoded: Bool = false
    ) {
        guard let url = request.url else { return nil }
        (self.request, self.url, self.mode, self.isDecoded) = (request, url, mode, isDecoded)
        let fields = request.headers
        var control = CacheControl(fields)
        // RFC 9111, section 5.4: a client of HTTP/1.0 asks for validation by `Pragma: no-cache`.
        if control.isEmpty, fields.contains(.pragma), CacheControl(fields[values: .pragma]).contains(.noCache) {
            control = CacheControl(["no-cache"])
        }
        self.control = control
        wanted = Self.wanted(fields, method: request.method)
        condition = Self.condition(fields)
        do throws(CacheStatus.Refusal) {
            (key, refusal) = (try Self.key(request, url: url, scope: scope, bodyDigest: bodyDigest), nil)
        } catch {
            (key, refusal) = (nil, error)
        }
    }

    var method: HTTPRequest.Method { request.method }
    var fields: HTTPFields { request.headers }

    /// Whether a stored response can serve the request. True for GET and HEAD, and for QUERY, whose key contains a digest of the content.
    /// False if the request has no key.
    var isServable: Bool { key != nil && (method == .get || method == .head || method == .query) }

    /// Whether the response may be stored, or may update entries. True if ``isServable`` is true, and for a POST or PATCH with a key. The
    /// response to a POST or PATCH may have the new content of the URL.
    var isStorable: Bool { isServable || key != nil && (method == .post || method == .patch) }

    /// Whether the request has credentials by the rules of a shared cache, for which cookies are no credentials ([RFC 9111, section
    /// 3.5](https://www.rfc-editor.org/rfc/rfc9111#section-3.5)).
    var hasCredentials: Bool {
        fields.contains(.authorization) || request.options.credentialIdentity != nil && !request.options.hasOnlyCookieIdentity
    }

    private static func wanted(_ fields: HTTPFields, method: HTTPRequest.Method) -> Wanted {
        guard fields.contains(.range), method != .head else { return .whole }
        guard method == .get, let ranges = ByteRange.parse(fields[.range] ?? ""), ranges.count == 1 else { return .other }
        return .range(ranges[0])
    }

    private static func condition(_ fields: HTTPFields) -> Condition {
        if fields.contains(.ifMatch) || fields.contains(.ifUnmodifiedSince) { return .other }
        if fields.contains(.ifNoneMatch) {
            return EntityTagCondition(fields[.ifNoneMatch] ?? "").map { .noneMatch($0) } ?? .other
        }
        guard fields.contains(.ifModifiedSince) else { return .none }
        let text = fields[.ifModifiedSince] ?? ""
        return HTTPDate(text, now: HTTPDate(secondsSinceEpoch: 0)) == nil ? .other : .modifiedSince(text)
    }

    /// Returns the key of a request.
    ///
    /// - Throws: why the request has no key.
    private static func key(
        _ request: Request, url: HTTPURL, scope: CachePolicy.Scope, bodyDigest: [UInt8]?
    ) throws(CacheStatus.Refusal) -> CacheKey {
        var partition = CacheKey.Partition.none
        if scope == .private {
            // The account of credentials that no identity covers is not known.
            guard !hasUncoveredCredentials(request, by: request.options) else { throw .noAccount }
            if let identity = request.options.credentialIdentity { partition = .account(identity) }
        }
        // The meaning of a body of GET is not defined, so the body may select the response (RFC 9110, section 9.3.1).
        let hasBody = !request.body.isEmpty
        guard !hasBody || (request.method != .get && request.method != .head) else { throw .requestBody }
        guard request.method == .query else { return try checked(CacheKey(url: url, partition: partition)) }
        guard let bodyDigest else { throw .requestBody }
        let names: [HTTPField.Name] = [.contentType, .contentEncoding, .contentLanguage]
        let described = names.map { request.headers[$0] ?? "" }.map { "\($0.utf8.count):\($0)" }.joined(separator: ",")
        return try checked(CacheKey(url: url, partition: partition, content: .init(digest: bodyDigest, fields: described)))
    }

    /// Returns whether the request, as the inner layers have sent it, has credentials that the identity of this request does not cover: a
    /// sensitive field, another identity, or a sensitive query item.
    func hasUncoveredCredentials(_ sent: Request) -> Bool {
        let options = request.options
        if Self.hasUncoveredCredentials(sent, by: options) { return true }
        guard options.hasOnlyCookieIdentity || options.credentialIdentity == nil else { return false }
        return hasAddedIdentity(sent) || hasAddedSensitiveQuery(sent)
    }

    /// Returns whether an inner layer has added credentials that are not cookies ([RFC 9111, section
    /// 3.5](https://www.rfc-editor.org/rfc/rfc9111#section-3.5)).
    func hasAddedCredentials(_ sent: Request) -> Bool {
        guard !hasCredentials else { return false }
        return sent.headers.contains(.authorization) || hasAddedIdentity(sent) && !sent.options.hasOnlyCookieIdentity
            || hasAddedSensitiveQuery(sent)
    }

    private func hasAddedIdentity(_ sent: Request) -> Bool {
        sent.options.credentialIdentity.map { $0 != request.options.credentialIdentity } ?? false
    }

    /// Returns whether an inner layer has changed the query, and the new query has a sensitive item. The key has only the old query.
    private func hasAddedSensitiveQuery(_ sent: Request) -> Bool {
        guard let query = sent.url?.query, !(url.query?.isExactly(query) ?? false) else { return false }
        return FormURLEncoded.decode(query).contains { sent.options.sensitivity.isSensitive(queryName: $0.name) }
    }

    /// Returns whether a request has a sensitive field that the identity of the options does not cover. The identity of cookies covers only
    /// `Cookie`. Any other identity covers all fields.
    private static func hasUncoveredCredentials(_ request: Request, by options: RequestOptions) -> Bool {
        let isOfCookies = options.hasOnlyCookieIdentity
        guard isOfCookies || options.credentialIdentity == nil else { return false }
        let sensitivity = request.options.sensitivity
        func isUncovered(_ field: HTTPField) -> Bool { sensitivity.isSensitive(field) && !(isOfCookies && field.name == .cookie) }
        return request.headers.contains(where: isUncovered) || request.options.fallbackHeaders.contains(where: isUncovered)
    }

    /// Returns a key.
    ///
    /// - Throws: ``/ErrandCore/CacheStatus/Refusal/urlTooLong``.
    private static func checked(_ key: CacheKey) throws(CacheStatus.Refusal) -> CacheKey {
        guard key.url.utf8.count <= CacheLimits.urlBytes else { throw .urlTooLong }
        return key
    }
}
