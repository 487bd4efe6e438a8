package import ErrandCore

/// The entries that a response removes: the entries of an origin, of groups and of URLs.
package struct CacheRemoval: Sendable {
    /// The origin whose entries are all removed; `nil`: no origin is cleared.
    package let clearedOrigin: Origin?
    /// The removed groups.
    package let groups: [String]
    /// The origin of the removed groups; `nil`: no groups are removed.
    package let groupOrigin: Origin?
    /// The removed URLs, as ``CacheKey/url``.
    package let urls: [String]

    package init(clearedOrigin: Origin? = nil, groups: [String] = [], of groupOrigin: Origin? = nil, urls: [String] = []) {
        (self.clearedOrigin, self.groups, self.groupOrigin, self.urls) = (clearedOrigin, groups, groupOrigin, urls)
    }

    /// Whether nothing is removed.
    var isEmpty: Bool { clearedOrigin == nil && groups.isEmpty && urls.isEmpty }
}

/// A store that distinguishes the removals of a response itself from all other removals.
///
/// The response to a POST removes the entries of its URL, and may be stored afterwards. If another call has removed these entries since the
/// request was sent, the response must not be stored. Both removals have numbers, and the later number would hide the earlier number.
package protocol OwnRemovalStore: CacheStore {
    /// Carries out the removals of a response. In the same step, checks that no earlier removal applies to the response.
    ///
    /// - Parameters:
    ///   - removal: the removals.
    ///   - key: the key under which the response is stored.
    ///   - head: the head of the response.
    ///   - generation: the generation that the look-up before the exchange has returned.
    /// - Returns: the generation with which the response can be stored. If another removal since the look-up applies to the response, the
    ///   result is `generation`, and the response is not stored.
    func remove(
        _ removal: CacheRemoval, by key: CacheKey, head: CacheEntry.Head, since generation: CacheGeneration
    ) async throws -> CacheGeneration
}

extension CacheStore {
    /// Carries out the removals of a response that is not stored.
    func remove(_ removal: CacheRemoval) async throws {
        if let cleared = removal.clearedOrigin { try await removeAll(of: cleared) }
        if let origin = removal.groupOrigin, !removal.groups.isEmpty { try await removeAll(groups: removal.groups, of: origin) }
        if !removal.urls.isEmpty { try await removeAll(urls: removal.urls) }
    }

    /// Carries out the removals of a response, and returns the generation with which the response can be stored.
    ///
    /// A store that does not conform to ``OwnRemovalStore`` can't distinguish a removal of another call, such as a sign-out, from a removal
    /// of the response. Therefore, such a store does not store the response.
    func removeOwn(
        _ removal: CacheRemoval, by key: CacheKey, head: CacheEntry.Head, since generation: CacheGeneration
    ) async throws -> CacheGeneration {
        if let store = self as? any OwnRemovalStore { return try await store.remove(removal, by: key, head: head, since: generation) }
        try await remove(removal)
        return generation
    }
}
