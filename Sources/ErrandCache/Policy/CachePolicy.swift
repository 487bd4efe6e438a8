internal import ErrandCore

/// Decides which responses are stored, and how long a stored response is used without a request. The decisions are pure functions ([RFC
/// 9111](https://www.rfc-editor.org/rfc/rfc9111)).
///
/// ```swift
/// let standard = CachePolicy.standard
/// let stated = CachePolicy.standard.withoutHeuristics
/// let oneMinute = CachePolicy.fresh(for: .seconds(60))
/// ```
///
/// The first policy is a private cache, for an app. The second policy uses only lifetimes that the server states. With the third policy,
/// each successful response is fresh for one minute.
///
/// The cache is private by default: it stores the responses of one user, or of several users in separate partitions. With
/// ``deciding(_:)``, your own closure takes precedence over the policy.
///
/// For these requests, no stored response is used, and the response is not stored:
/// - a request with `Authorization`, `Cookie` or another sensitive field, and without an identity, in a private cache, because the account
///   of the credentials is not known. `authenticate` and `cookies` set the identity
/// - a request with `Cache-Control: no-store`
/// - a GET or HEAD with a body, and a QUERY whose body can be read only once
public struct CachePolicy: Sendable, CustomStringConvertible {
    /// The users of a cache.
    public enum Scope: Sendable, Hashable {
        /// One user, or several users in separate partitions. `s-maxage`, `proxy-revalidate` and `private` do not limit a private cache.
        case `private`
        /// Several users that get the same stored responses. Responses to requests with credentials are stored only if the server permits
        /// this ([RFC 9111, section 3.5](https://www.rfc-editor.org/rfc/rfc9111#section-3.5)).
        case shared
    }

    /// The lifetime of a response for which the server states no lifetime
    /// ([RFC 9111, section 4.2.2](https://www.rfc-editor.org/rfc/rfc9111#section-4.2.2)): a part of the time since the last modification.
    public struct Heuristic: Sendable, Hashable {
        /// The part of the time since the last modification: from 0 to 1, 0.1 by default.
        public let fraction: Double
        /// The longest lifetime: 24 hours by default.
        public let limit: Duration

        /// Creates a rule.
        ///
        /// - Parameters:
        ///   - fraction: the part of the time since the last modification, from 0 to 1.
        ///   - limit: the longest lifetime, at least zero.
        public init(fraction: Double = 0.1, limit: Duration = .seconds(86_400)) {
            precondition((0...1).contains(fraction), "fraction must be from 0 to 1 (is \(fraction))")
            precondition(limit >= .zero, "limit must be at least zero (is \(SafeText.duration(limit)))")
            (self.fraction, self.limit) = (fraction, limit)
        }

        /// A tenth of the time since the last modification, at most 24 hours.
        public static let standard = Heuristic()
    }

    /// The users of the cache: ``Scope/private`` by default.
    public var scope: Scope
    /// The lifetime of a response for which the server states no lifetime; `nil`: a response without a stated lifetime is stale from the
    /// beginning. The heuristic needs `Last-Modified`.
    public var heuristic: Heuristic?
    /// The time for which a stale response is used if the server fails, unless the server states a time. `nil` by default: the stale
    /// response is not used. `must-revalidate` and `no-cache` take precedence.
    public var staleIfError: Duration?
    /// The time for which a stale response is used if the server can't be reached. `nil` by default: only ``staleIfError`` applies.
    /// `must-revalidate` and `no-cache` take precedence.
    ///
    /// HTTP permits this use of a stale response without a statement of the server ([RFC 9111, section
    /// 4.2.4](https://www.rfc-editor.org/rfc/rfc9111#section-4.2.4)).
    public var staleIfUnreachable: Duration?
    /// Whether the cache follows `No-Vary-Search`, by which a server names the parameters of the query that select a response. False by
    /// default: the whole query selects the response.
    ///
    /// ```swift
    /// var policy = CachePolicy.standard
    /// policy.usesNoVarySearch = true
    /// ```
    ///
    /// With `No-Vary-Search: params=("session")`, the response to `/feed?session=1` is then a hit for `/feed?session=2`. Each request needs
    /// up to two more look-ups. All stacks that share a store must have the same setting. Without the setting, the unsafe requests of a
    /// stack do not invalidate responses with `No-Vary-Search`.
    ///
    /// The field is a draft ([draft-ietf-httpbis-no-vary-search](https://datatracker.ietf.org/doc/draft-ietf-httpbis-no-vary-search/)),
    /// and applies to private and shared caches alike.
    public var usesNoVarySearch = false
    /// The app's own decision; `nil` if the app does not decide.
    var choose: (@Sendable (Received) -> Choice)?

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - scope: the users of the cache.
    ///   - heuristic: the lifetime of a response for which the server states no lifetime.
    ///   - staleIfError: the time for which a stale response is used if the server fails, at least zero.
    ///   - staleIfUnreachable: the time for which a stale response is used if the server can't be reached, at least zero.
    public init(
        scope: Scope = .private, heuristic: Heuristic? = .standard, staleIfError: Duration? = nil, staleIfUnreachable: Duration? = nil
    ) {
        for (name, window) in [("staleIfError", staleIfError), ("staleIfUnreachable", staleIfUnreachable)] {
            let window = window ?? .zero
            precondition(window >= .zero, "\(name) must be at least zero (is \(SafeText.duration(window)))")
        }
        (self.scope, self.heuristic) = (scope, heuristic)
        (self.staleIfError, self.staleIfUnreachable) = (staleIfError, staleIfUnreachable)
    }

    /// A private cache, with the heuristic ``Heuristic/standard``.
    public static let standard = CachePolicy()

    /// A cache that several users share, such as the cache of a service: the same responses for all users.
    public static let shared = CachePolicy(scope: .shared)

    /// This policy without a heuristic: only lifetimes that the server states.
    public var withoutHeuristics: CachePolicy {
        var policy = self
        policy.heuristic = nil
        return policy
    }

    /// Whether several users get the same stored responses.
    var isShared: Bool { scope == .shared }

    /// Returns the time for which a stored response stays fresh. Negative: the response is stale. `nil`: the age of the response is not
    /// known, because the wall clock was set back.
    ///
    /// The function reads no store and no body, so the order in which a store evicts entries does not change.
    ///
    /// - Parameters:
    ///   - head: the head of the stored response, for example from ``CacheStore/entries(limit:)``.
    ///   - now: the instant. Default: the current instant.
    public func remainingLifetime(of head: CacheEntry.Head, at now: CacheInstant = .now) -> Duration? {
        FreshnessRule(policy: self).remaining(of: head, at: now)
    }

    /// The scope, and the settings that differ from the default: `private, without heuristics`.
    public var description: String {
        (isShared ? "shared" : "private") + (heuristic == nil ? ", without heuristics" : heuristic == .standard ? "" : ", own heuristic")
            + (staleIfError.map { ", stale up to \(SafeText.duration($0)) if the server fails" } ?? "")
            + (staleIfUnreachable.map { ", stale up to \(SafeText.duration($0)) if the server can't be reached" } ?? "")
            + (usesNoVarySearch ? ", by No-Vary-Search" : "") + (choose == nil ? "" : ", with the app's own decision")
    }
}
