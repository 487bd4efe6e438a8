internal import ErrandCore

/// The use of the app's cache for a request.
public struct HARCache: Codable, Sendable, Hashable {
    /// A stored response.
    public struct Entry: Codable, Sendable, Hashable {
        /// The time at which the stored response becomes stale: ISO 8601, with milliseconds; `nil` if the time is not known.
        public var expires: String?
        /// The time of the look-up: ISO 8601, with milliseconds.
        public var lastAccess: String
        /// The entity tag; empty if the response has no entity tag.
        public var eTag: String
        /// The number of look-ups that have found the response: always -1 in a recording, because a cache does not count look-ups.
        public var hitCount: Int

        /// Creates a stored response.
        public init(expires: String? = nil, lastAccess: String, eTag: String, hitCount: Int = -1) {
            (self.expires, self.lastAccess, self.eTag, self.hitCount) = (expires, lastAccess, eTag, hitCount)
        }
    }

    /// The stored response that the caller got; `nil` if the whole response comes from the server, or the stack has no cache.
    public var beforeRequest: Entry?
    /// The stored response after the exchange: always `nil` in a recording.
    public var afterRequest: Entry?
    /// The cache status as text (``/ErrandCore/CacheStatus``), such as `hit; ttl=30`; `nil` if the stack has no cache.
    public var comment: String?

    /// Creates an empty value.
    public init() {}

    /// Reads a value. Invalid members count as missing, because programs write them in many ways, and a replay does not need them.
    public init(from decoder: any Decoder) throws {
        guard let members = try? decoder.container(keyedBy: CodingKeys.self) else { return }
        beforeRequest = try? members.decodeIfPresent(Entry.self, forKey: .beforeRequest)
        afterRequest = try? members.decodeIfPresent(Entry.self, forKey: .afterRequest)
        comment = try? members.decodeIfPresent(String.self, forKey: .comment)
    }
}

extension HAREntry {
    /// Adds the cache status of the response.
    ///
    /// - Parameters:
    ///   - status: the cache status.
    ///   - fields: the fields of the response that the caller got.
    ///   - started: the time at which the request began.
    mutating func add(_ status: CacheStatus, fields: HTTPFields, at started: Date) {
        let form = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        cache.comment = status.description
        if status.isHit { fromCache = "cache" }
        guard !status.isMiss else { return }
        cache.beforeRequest = HARCache.Entry(
            expires: status.timeToLive.map { form.format(started + $0.limitedSeconds) }, lastAccess: form.format(started),
            eTag: fields.single(.eTag) ?? "")
    }
}

extension Duration {
    /// The duration in seconds, limited to a hundred years, so that a date can represent the result.
    fileprivate var limitedSeconds: Double { min(max(self / .seconds(1), -3_155_760_000), 3_155_760_000) }
}
