internal import ErrandCore

/// Decides how long a stored response is fresh ([RFC 9111, section 4.2](https://www.rfc-editor.org/rfc/rfc9111#section-4.2)), and when a
/// stale response may be used ([RFC 9111, section 4.2.4](https://www.rfc-editor.org/rfc/rfc9111#section-4.2.4)).
struct FreshnessRule: Sendable {
    let policy: CachePolicy

    /// How a request may use a stored response.
    enum Use: Sendable, Hashable {
        /// The stored response is returned without a request.
        case now(isFresh: Bool)
        /// The stored response is returned without waiting for the request that revalidates the response.
        case duringRevalidation
        /// The stored response is returned only after the server has confirmed the response.
        case afterValidation(CacheStatus.ForwardReason)
    }

    /// Returns the lifetime of a response. The first of these values that exists applies: the app's choice, `s-maxage` (in a shared cache),
    /// `max-age`, `Expires`, the heuristic.
    func lifetime(of head: CacheEntry.Head) -> Duration {
        if let chosen = head.lifetimes { return chosen.fresh }
        if policy.isShared, let seconds = head.control.sharedMaxAge { return .seconds(seconds) }
        if let seconds = head.control.maxAge { return .seconds(seconds) }
        if case .seconds(let seconds) = head.times.expiry { return .seconds(seconds) }
        return heuristicLifetime(of: head)
    }

    /// Returns the time for which a response stays fresh; negative for a stale response, `nil` if its age is not known.
    func remaining(of head: CacheEntry.Head, at now: CacheInstant) -> Duration? { head.times.age(at: now).map { lifetime(of: head) - $0 } }

    private func heuristicLifetime(of head: CacheEntry.Head) -> Duration {
        guard let heuristic = policy.heuristic, let seconds = head.times.sinceModified,
            StorageRule.isHeuristicallyCacheable(head.response.status) || head.control.contains(.public),
            // RFC 9111, section 5.4: servers of HTTP/1.0 ask for validation by `Pragma: no-cache`.
            !head.control.isEmpty || !CacheControl(head.response.headerFields[values: .pragma]).contains(.noCache)
        else { return .zero }
        return min(heuristic.limit, .seconds(Int64(Double(seconds) * heuristic.fraction)))
    }

    /// Returns how a request may use a response that matches the request.
    func use(_ head: CacheEntry.Head, for request: CacheRequest, at now: CacheInstant) -> Use {
        let remaining = remaining(of: head, at: now)
        switch request.mode {
        case .storedElseLoad, .storedOnly: return .now(isFresh: (remaining ?? .zero) > .zero)
        case .reload, .reloadEverywhere: return .afterValidation(.request)
        case .revalidate:
            guard let remaining, remaining > .zero, !needsValidation(head) else { return .afterValidation(.stale) }
            let isFinal = head.control.contains(.immutable) && !request.control.contains(.noCache) && request.control.maxAge == nil
            return isFinal ? .now(isFresh: true) : .afterValidation(.request)
        case .standard: return standardUse(head, for: request, remaining: remaining)
        }
    }

    private func standardUse(_ head: CacheEntry.Head, for request: CacheRequest, remaining: Duration?) -> Use {
        let control = request.control
        if control.contains(.noCache) { return .afterValidation(.request) }
        guard let remaining, !needsValidation(head) else { return .afterValidation(.stale) }
        let age = lifetime(of: head) - remaining
        if let maxAge = control.maxAge, maxAge == 0 || age > .seconds(maxAge) {
            return .afterValidation(remaining > .zero ? .request : .stale)
        }
        if remaining > .zero {
            let isLongEnough = remaining >= .seconds(control.minFresh ?? 0)
            return isLongEnough ? .now(isFresh: true) : .afterValidation(.request)
        }
        guard control.minFresh == nil, !forbidsStale(head) else { return .afterValidation(.stale) }
        switch control.maxStale {
        case .any: return .now(isFresh: false)
        case .seconds(let seconds) where .zero - remaining <= .seconds(seconds): return .now(isFresh: false)
        default: break
        }
        guard control.maxAge == nil, !control.contains(.onlyIfCached), let window = staleWhileRevalidate(head), .zero - remaining <= window
        else {
            return .afterValidation(.stale)
        }
        return .duringRevalidation
    }

    /// Returns whether a stale response may be used because the server fails
    /// ([RFC 5861, section 4](https://www.rfc-editor.org/rfc/rfc5861#section-4)).
    ///
    /// - Parameter isUnreachable: whether there is no response at all ([RFC 9111, section
    ///   4.2.4](https://www.rfc-editor.org/rfc/rfc9111#section-4.2.4)). False for a response with an error status.
    func mayReplaceFailure(_ head: CacheEntry.Head, for request: CacheRequest, isUnreachable: Bool, at now: CacheInstant) -> Bool {
        guard let remaining = remaining(of: head, at: now), !forbidsStale(head) else { return false }
        let control = request.control
        // A request with `max-age` or `min-fresh` accepts a stale response only if the request also has `stale-if-error`.
        if control.maxAge != nil || control.minFresh != nil, control.staleIfError == nil { return false }
        let stated = head.lifetimes?.staleIfError ?? (head.control.staleIfError ?? control.staleIfError).map { .seconds($0) }
        let windows = [stated ?? policy.staleIfError, isUnreachable ? policy.staleIfUnreachable : nil].compactMap(\.self)
        return windows.contains { .zero - remaining <= $0 }
    }

    /// Returns whether a response must be validated even while it is fresh.
    func needsValidation(_ head: CacheEntry.Head) -> Bool {
        head.lifetimes == nil && (head.control.contains(.noCache) || StoredFields.namesLimitingField(head.control.noCacheFields))
    }

    /// Returns whether a response must not be used while it is stale.
    private func forbidsStale(_ head: CacheEntry.Head) -> Bool {
        needsValidation(head) || head.control.contains(.mustRevalidate)
            || policy.isShared && (head.control.contains(.proxyRevalidate) || head.control.sharedMaxAge != nil)
    }

    private func staleWhileRevalidate(_ head: CacheEntry.Head) -> Duration? {
        head.lifetimes?.staleWhileRevalidate ?? head.control.staleWhileRevalidate.map { .seconds($0) }
    }
}
