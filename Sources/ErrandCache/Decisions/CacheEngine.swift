internal import ErrandCore

/// The rules of an HTTP cache ([RFC 9111](https://www.rfc-editor.org/rfc/rfc9111)), without a store, a clock or a connection.
///
/// A middleware calls these functions in this order, and carries out their decisions:
/// 1. ``decide(_:among:at:)``: what happens with a request.
/// 2. ``receive(_:to:after:among:sentAt:at:)``: what happens with the head of the server's response, if the request was sent.
///    ``fallback(for:after:at:)`` if there is no response.
/// 3. ``CacheWrite/finished(receivedBytes:isComplete:)``: what is stored when the body has ended.
struct CacheEngine: Sendable {
    let policy: CachePolicy
    let freshness: FreshnessRule
    let variants: VariantRule
    let storage: StorageRule

    /// Creates the rules.
    ///
    /// - Parameters:
    ///   - policy: the policy.
    ///   - digest: a closure that returns a digest of a secret field's value, with a key that only this cache knows; `nil` if the cache has
    ///     no key. Without a digest, responses that depend on secret fields are neither stored nor found. Default: no digest.
    init(_ policy: CachePolicy = .standard, digest: @escaping @Sendable (String) -> [UInt8]? = { _ in nil }) {
        self.policy = policy
        freshness = FreshnessRule(policy: policy)
        variants = VariantRule(digest: digest)
        storage = StorageRule(policy: policy, variants: variants)
    }

    // MARK: - The request

    /// Decides what happens with a request.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - entries: all entries of the request's key; empty if the key is `nil`.
    ///   - now: the current instant.
    func decide(_ request: CacheRequest, among entries: [CacheEntry], at now: CacheInstant) -> CacheDecision {
        // RFC 9111, section 5.2.1.5: with `no-store`, nothing of the exchange is stored. An app that sends `no-store` does not expect a
        // stored response either.
        guard request.key != nil, request.isServable, !request.control.contains(.noStore) else {
            let isOther = request.key != nil && !request.isServable
            let reason = isOther ? CacheStatus.ForwardReason.method : .bypass
            if isOnlyIfCached(request) { return .unavailable(reason) }
            return .send(CacheForward(reason: reason, mayStore: isOther))
        }
        let entries = readable(entries, by: request)
        if request.condition != .other, let (entry, use) = best(of: entries, for: request, at: now) {
            switch use {
            case .now: return .serve(serving(entry, for: request, at: now))
            case .duringRevalidation:
                let revalidation = forward(request, reason: .stale, selected: entry, entries: entries, at: now)
                return .serveAndRevalidate(serving(entry, for: request, at: now), revalidation)
            case .afterValidation(let reason):
                if isOnlyIfCached(request) { return .unavailable(reason) }
                return .send(forward(request, reason: reason, selected: entry, entries: entries, at: now))
            }
        }
        let reason = missReason(request, entries)
        if isOnlyIfCached(request) { return .unavailable(reason) }
        return .send(forward(request, reason: reason, selected: nil, entries: entries, at: now))
    }

    /// Returns why no entry can be used.
    private func missReason(_ request: CacheRequest, _ entries: [CacheEntry]) -> CacheStatus.ForwardReason {
        guard !entries.isEmpty else { return .uriMiss }
        guard entries.contains(where: { variants.matches($0.head, request) }) else { return .varyMiss }
        return entries.contains { isUsable($0, for: request) } ? .bypass : .partial
    }

    /// Returns whether an entry belongs to a request, and has the bytes that the request asks for.
    private func isUsable(_ entry: CacheEntry, for request: CacheRequest) -> Bool {
        variants.matches(entry.head, request) && RangeRule.service(of: entry.head, for: request) != nil
    }

    /// Returns the entries whose bytes the stack of a request can use. Every stack can use bytes without a content coding. If the transport
    /// decodes bodies, no layer of the stack decodes stored bytes.
    private func readable(_ entries: [CacheEntry], by request: CacheRequest) -> [CacheEntry] {
        request.isDecoded ? entries.filter { !$0.head.isEncoded } : entries
    }

    private func isOnlyIfCached(_ request: CacheRequest) -> Bool { request.mode == .storedOnly || request.control.contains(.onlyIfCached) }

    /// Returns the usable entry with the highest rank (``FreshnessRule/Use``). If several entries have this rank, returns the most recent
    /// entry.
    private func best(
        of entries: [CacheEntry], for request: CacheRequest, at now: CacheInstant
    ) -> (CacheEntry, FreshnessRule.Use)? {
        var best: (entry: CacheEntry, use: FreshnessRule.Use)?
        for entry in entries where isUsable(entry, for: request) {
            let use = freshness.use(entry.head, for: request, at: now)
            if let known = best, known.use.rank > use.rank || known.use.rank == use.rank && !entry.head.isMoreRecent(than: known.entry.head)
            {
                continue
            }
            best = (entry, use)
        }
        return best
    }

    /// Returns how a request is sent.
    private func forward(
        _ request: CacheRequest, reason: CacheStatus.ForwardReason, selected: CacheEntry?, entries: [CacheEntry], at now: CacheInstant
    ) -> CacheForward {
        var forward = CacheForward(reason: reason)
        switch request.mode {
        case .reload: return forward
        case .reloadEverywhere:
            if request.control.isEmpty { forward.fields = [HTTPField(name: .cacheControl, value: "no-cache")] }
            return forward
        case .revalidate:
            if request.control.isEmpty { forward.fields = [HTTPField(name: .cacheControl, value: "max-age=0")] }
        case .standard, .storedElseLoad, .storedOnly:
            if !request.control.contains(.noCache) { forward.fallback = selected }
        }
        // If the caller has set conditions, the cache adds no conditions, and the caller gets the response of the server.
        guard request.condition == .none, !request.fields.contains(.ifRange) else { return forward }
        let others = entries.filter { entry in
            entry.id != selected?.id && RangeRule.service(of: entry.head, for: request) != nil && entry.head.response.status == .ok
        }
        let conditions = ValidationRule.conditions(selected: selected, others: others)
        if !conditions.candidates.isEmpty {
            forward.fields += conditions.fields
            forward.candidates = conditions.candidates
            return forward
        }
        // A transport that decodes bodies can't decode only the rest of a body.
        guard selected == nil, request.wanted == .whole, request.method == .get, !request.isDecoded else { return forward }
        for entry in entries where variants.matches(entry.head, request) {
            let isFresh = freshness.use(entry.head, for: request, at: now) == .now(isFresh: true)
            guard let fields = RangeRule.completion(of: entry.head, isFresh: isFresh) else { continue }
            forward.fields += fields
            (forward.completes, forward.reason) = (entry, .partial)
            break
        }
        return forward
    }

    // MARK: - Serving

    /// Returns the response from an entry.
    ///
    /// - Parameters:
    ///   - status: the way in which the cache handled the request; `nil`: a hit.
    ///   - sent: the fields of the server's response, if a request was sent; `nil` for a hit.
    func serving(
        _ entry: CacheEntry, for request: CacheRequest, status: CacheStatus? = nil, sent: HTTPFields? = nil, at now: CacheInstant
    ) -> CacheServing {
        let status = status ?? CacheStatus(.hit, timeToLive: freshness.remaining(of: entry.head, at: now))
        var (head, body) = (entry.head.response, CacheServing.Body.whole)
        if let sent { head.headerFields = StoredFields.withoutRepetitions(head.headerFields, sent: sent) }
        let age = entry.head.times.age(at: now) ?? entry.head.times.initialAge
        head.headerFields[.age] = String(max(0, age.components.seconds))
        if ConditionRule.isNotModified(entry.head, for: request) {
            head.status = .notModified
            head.headerFields = ConditionRule.notModifiedFields(of: head.headerFields)
            body = .none
        } else if case .part(let positions)? = RangeRule.service(of: entry.head, for: request) {
            head.status = .partialContent
            head.headerFields = RangeRule.fields(of: head.headerFields, part: positions, completeLength: entry.head.extent.completeLength)
            body = .part(entry.head.extent.offsets(of: positions))
        } else if request.method == .head {
            body = .none
        }
        return CacheServing(entry: entry, head: head, body: body, status: status)
    }

    // MARK: - The response

    /// Returns why a response is not stored although its request may be stored: a layer inside the cache has added credentials, or the
    /// exchange belongs to another call. `nil` if neither is true, or the rules permit the storage.
    ///
    /// The key of the request does not contain these credentials. In a private cache, the stored response could reach another user. A
    /// shared cache follows [RFC 9111, section 3.5](https://www.rfc-editor.org/rfc/rfc9111#section-3.5).
    ///
    /// - Parameter response: the response, whose ``/ErrandCore/Response/request`` is the request as the inner layers have sent it.
    func refusal(of response: Response, to request: CacheRequest) -> CacheStatus.Refusal? {
        // The exchange belongs to another call, whose inner layers may have added credentials.
        if response.metadata.coalescedInto != nil { return .sharedExchange }
        guard policy.isShared else { return request.hasUncoveredCredentials(response.request) ? .noAccount : nil }
        guard request.hasAddedCredentials(response.request) else { return nil }
        return storage.permitsCredentials(CacheControl(response.headers)) ? nil : .credentials
    }

    /// Decides what happens with the head of a final response.
    ///
    /// - Parameters:
    ///   - response: the head, with all its fields.
    ///   - request: the request that ``decide(_:among:at:)`` got.
    ///   - forward: the decision by which the request was sent.
    ///   - entries: the entries that ``decide(_:among:at:)`` got, or newer entries of the same key.
    ///   - requestTime: the instant at which the request was sent.
    ///   - now: the instant at which the head arrived.
    func receive(
        _ response: HTTPResponse, to request: CacheRequest, after forward: CacheForward, among entries: [CacheEntry],
        sentAt requestTime: CacheInstant, at now: CacheInstant
    ) -> CacheReception {
        let status = CacheStatus(.forwarded(forward.reason), forwardedStatus: response.status)
        var reception = CacheReception(outcome: .pass(nil), status: status)
        reception.invalidated = InvalidationRule.urls(invalidatedBy: response, to: request).map(\.description)
        if policy.usesNoVarySearch { reception.invalidated = SearchRule.withoutQueries(reception.invalidated) }
        reception.invalidatedGroups = InvalidationRule.groups(invalidatedBy: response, to: request)
        reception.clearedOrigin = InvalidationRule.origin(clearedBy: response, to: request)
        let exchange = ReceivedExchange(
            request: request, forward: forward, entries: readable(entries, by: request), requestTime: requestTime, responseTime: now)
        if response.status == .notModified, request.isServable {
            receiveNotModified(response, of: exchange, in: &reception)
        } else if let repetition = repetition(after: response, of: exchange) {
            reception.outcome = .sendAgain(repetition)
        } else if let fallback = fallback(for: response, of: exchange) {
            reception.outcome = .serve(fallback)
            reception.status = fallback.status
        } else if let part = forward.completes, response.status == .partialContent || response.status == .rangeNotSatisfiable {
            receiveCompletion(response, of: part, exchange, in: &reception)
        } else if !forward.mayStore {
            reception.status.refusal =
                forward.innerRefusal ?? request.refusal ?? (request.control.contains(.noStore) ? .requestForbids : .method)
        } else if request.method == .head {
            reception.status.refusal = .method
            receiveHead(response, of: exchange, in: &reception)
        } else {
            receiveWhole(response, of: exchange, in: &reception)
        }
        return reception
    }

    /// Returns the stored response that replaces a failure; `nil` if there is no such response.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - forward: the decision by which the request was sent.
    ///   - now: the instant of the failure.
    func fallback(for request: CacheRequest, after forward: CacheForward, at now: CacheInstant) -> CacheServing? {
        fallback(for: request, after: forward, status: nil, at: now)
    }

    private func fallback(for response: HTTPResponse, of exchange: ReceivedExchange) -> CacheServing? {
        guard [500, 502, 503, 504].contains(response.status.code) else { return nil }
        return fallback(for: exchange.request, after: exchange.forward, status: response.status, at: exchange.responseTime)
    }

    private func fallback(
        for request: CacheRequest, after forward: CacheForward, status: HTTPResponse.Status?, at now: CacheInstant
    ) -> CacheServing? {
        guard let entry = forward.fallback, freshness.mayReplaceFailure(entry.head, for: request, isUnreachable: status == nil, at: now)
        else { return nil }
        let remaining = freshness.remaining(of: entry.head, at: now)
        let cacheStatus = CacheStatus(
            .forwarded(forward.reason), forwardedStatus: status, timeToLive: remaining, isFallback: true)
        // The caller may have seen the stored response before, so fields that must take effect only once are left out.
        return serving(entry, for: request, status: cacheStatus, sent: HTTPFields(), at: now)
    }
}

extension FreshnessRule.Use {
    /// The rank of an entry. An entry with a higher rank is preferred.
    fileprivate var rank: Int {
        switch self {
        case .now(let isFresh): isFresh ? 3 : 2
        case .duringRevalidation: 1
        case .afterValidation: 0
        }
    }
}

extension CacheEntry.Head {
    /// Returns whether this response arrived later than another response.
    fileprivate func isMoreRecent(than other: CacheEntry.Head) -> Bool { responseTime.sinceEpoch > other.responseTime.sinceEpoch }
}
