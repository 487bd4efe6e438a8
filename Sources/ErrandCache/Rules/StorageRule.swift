internal import ErrandCore

/// Decides whether a response is stored ([RFC 9111, section 3](https://www.rfc-editor.org/rfc/rfc9111#section-3)).
struct StorageRule: Sendable {
    let policy: CachePolicy
    let variants: VariantRule

    typealias Refusal = CacheStatus.Refusal

    /// The statuses that permit a heuristic ([RFC 9110, section 15.1](https://www.rfc-editor.org/rfc/rfc9110#section-15.1)).
    static func isHeuristicallyCacheable(_ status: HTTPResponse.Status) -> Bool {
        [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501].contains(status.code)
    }

    /// The statuses whose rules the cache implements, for `must-understand`: the statuses of
    /// [RFC 9110, section 15](https://www.rfc-editor.org/rfc/rfc9110#section-15), and 429.
    static func isUnderstood(_ status: HTTPResponse.Status) -> Bool {
        switch status.code {
        case 200...206, 300...305, 307, 308, 400...417, 421, 422, 426, 429, 500...505: true
        default: false
        }
    }

    /// Returns the head that is stored for a response. The extent of the head is not known yet.
    ///
    /// - Parameters:
    ///   - response: the head of the response, with all its fields.
    ///   - request: the request.
    ///   - requestTime: the instant at which the request was sent.
    ///   - responseTime: the instant at which the head of the response arrived.
    /// - Throws: why the response is not stored.
    func head(
        of response: HTTPResponse, for request: CacheRequest, requestTime: CacheInstant, responseTime: CacheInstant
    ) throws(Refusal) -> CacheEntry.Head {
        if let refusal = request.refusal { throw refusal }
        let (code, control) = (response.status.code, CacheControl(response.headerFields))
        guard code >= 200, code != 304 else { throw .status }
        switch request.method {
        case .get, .query: break
        case .post, .patch: try checkTarget(response, control, of: request)
        default: throw .method
        }
        if code == 206 { try checkRange(response, of: request) }
        return try head(
            storing: response, control: control, for: request, requestTime: requestTime, responseTime: responseTime,
            isDecoded: request.isDecoded)
    }

    /// Returns the head of a stored response that a new response has updated.
    ///
    /// - Parameters:
    ///   - stored: the stored head.
    ///   - new: the fields of the new response.
    ///   - isOfRequest: whether the stored response belongs to the request. If true, a new `Vary` applies to the request.
    /// - Throws: why the cache must not keep a response with the new fields.
    func head(
        updating stored: CacheEntry.Head, with new: HTTPFields, for request: CacheRequest, isOfRequest: Bool, requestTime: CacheInstant,
        responseTime: CacheInstant
    ) throws(Refusal) -> CacheEntry.Head {
        var response = stored.response
        var sent = new
        if !sent.contains(.date) { sent[.date] = responseTime.date.description }
        response.headerFields = StoredFields.updated(stored.response.headerFields, with: sent)
        let control = CacheControl(response.headerFields)
        var head = try head(
            storing: response, control: control, for: request, requestTime: requestTime, responseTime: responseTime,
            isDecoded: stored.isDecoded)
        if !isOfRequest || !new.contains(.vary) {
            head = CacheEntry.Head(
                response: head.response, requestTime: requestTime, responseTime: responseTime, selection: stored.selection,
                extent: stored.extent, lifetimes: head.lifetimes, isDecoded: stored.isDecoded)
        }
        return head.with(extent: stored.extent)
    }

    private func head(
        storing response: HTTPResponse, control: CacheControl, for request: CacheRequest, requestTime: CacheInstant,
        responseTime: CacheInstant, isDecoded: Bool
    ) throws(Refusal) -> CacheEntry.Head {
        if request.control.contains(.noStore) { throw .requestForbids }
        try checkDirectives(control, status: response.status)
        try checkCredentials(control, of: request)
        guard let selection = variants.selection(of: response.headerFields, for: request) else { throw .varySecret }
        var kept = response
        kept.headerFields = StoredFields.stored(
            response.headerFields, control: control, isShared: policy.isShared, received: responseTime.date)
        let byPolicy = CacheEntry.Head(
            response: kept, requestTime: requestTime, responseTime: responseTime, selection: selection, extent: .whole(length: 0),
            isDecoded: isDecoded)
        if selection.isUnmatchable, byPolicy.validators.tag == nil { throw .varyAny }
        guard CacheLimits.allowsHead(kept.headerFields) else { throw .headTooLarge }
        let isCacheable = Self.isHeuristicallyCacheable(response.status) || isExplicit(control, response.headerFields)
        guard let choose = policy.choose else {
            guard isCacheable else { throw .noLifetime }
            return byPolicy
        }
        let lifetime = isCacheable ? FreshnessRule(policy: policy).lifetime(of: byPolicy) : nil
        let choice = choose(
            CachePolicy.Received(
                request: request.request, response: response, lifetime: lifetime, isStated: isStated(control, response.headerFields)))
        switch choice.kind {
        case .byPolicy:
            guard isCacheable else { throw .noLifetime }
            return byPolicy
        case .notStored: throw .app
        case .fresh(let lifetimes):
            return CacheEntry.Head(
                response: kept, requestTime: requestTime, responseTime: responseTime, selection: selection, extent: .whole(length: 0),
                lifetimes: lifetimes, isDecoded: isDecoded)
        }
    }

    // MARK: - The parts of the rule

    /// Checks `no-store`, `must-understand` ([RFC 9111, section 5.2.2.3](https://www.rfc-editor.org/rfc/rfc9111#section-5.2.2.3)) and
    /// `private`.
    private func checkDirectives(_ control: CacheControl, status: HTTPResponse.Status) throws(Refusal) {
        if control.contains(.mustUnderstand) {
            guard Self.isUnderstood(status) else { throw .status }
        } else if control.contains(.noStore) {
            throw .noStore
        }
        guard policy.isShared else { return }
        if control.contains(.private) || StoredFields.namesLimitingField(control.privateFields) { throw .private }
    }

    /// Checks the rules for credentials in a shared cache
    /// ([RFC 9111, section 3.5](https://www.rfc-editor.org/rfc/rfc9111#section-3.5)). In a private cache, the key separates the accounts.
    private func checkCredentials(_ control: CacheControl, of request: CacheRequest) throws(Refusal) {
        guard policy.isShared, request.hasCredentials else { return }
        guard permitsCredentials(control) else { throw .credentials }
    }

    /// Returns whether the server permits a shared cache to store the response to a request with credentials.
    func permitsCredentials(_ control: CacheControl) -> Bool {
        control.contains(.public) || control.contains(.mustRevalidate) || control.sharedMaxAge != nil
    }

    /// Checks that a response to POST or PATCH is the new representation of the target, with a lifetime ([RFC 9110, section
    /// 9.3.3](https://www.rfc-editor.org/rfc/rfc9110#section-9.3.3); [RFC 5789, section
    /// 2](https://www.rfc-editor.org/rfc/rfc5789#section-2)). The stored response serves later GET requests.
    private func checkTarget(_ response: HTTPResponse, _ control: CacheControl, of request: CacheRequest) throws(Refusal) {
        guard response.status == .ok, let location = InvalidationRule.url(in: .contentLocation, of: response, to: request.url),
            location.description.isExactly(request.url.description),
            control.maxAge != nil || response.headerFields.contains(.expires) || isSharedLifetime(control)
        else { throw .method }
    }

    /// Checks that a 206 has one range, that its body is not longer than the range, and that the request has asked for one range.
    private func checkRange(_ response: HTTPResponse, of request: CacheRequest) throws(Refusal) {
        guard case .range = request.wanted, !request.isDecoded, let range = response.contentRange?.range, !range.isEmpty,
            // Some servers send a body that is shorter than the range. The stored range then ends where the body ends.
            response.announcedLength ?? 0 <= range.byteCount
        else { throw .range }
    }

    /// Returns whether the server permits storage of the response, whatever its status is.
    private func isExplicit(_ control: CacheControl, _ fields: HTTPFields) -> Bool {
        control.contains(.public) || !policy.isShared && (control.contains(.private) || !control.privateFields.isEmpty)
            || control.maxAge != nil || isSharedLifetime(control) || fields.contains(.expires)
    }

    private func isStated(_ control: CacheControl, _ fields: HTTPFields) -> Bool {
        control.maxAge != nil || isSharedLifetime(control) || control.contains(.noCache) || !control.noCacheFields.isEmpty
            || fields.contains(.expires)
    }

    private func isSharedLifetime(_ control: CacheControl) -> Bool { policy.isShared && control.sharedMaxAge != nil }
}

extension HTTPResponse {
    /// Returns whether `Content-Length` is missing, or announces this number of bytes.
    func hasLength(_ bytes: Int64) -> Bool { announcedLength.map { $0 == bytes } ?? true }
}
