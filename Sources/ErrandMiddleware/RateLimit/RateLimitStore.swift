public import ErrandFormats

/// Stores grants and the servers' rate-limit fields by key. All rate-limit middleware that use the same store share its limits.
///
/// ``MemoryRateLimitStore`` is for one process. To share a limit among processes, write a store that uses a shared database, such as
/// Redis or Valkey. Implement `take` as one script of the database, so that `take` is atomic and uses the clock of the database. For
/// each key, the script keeps a sorted set and a hash. The set holds the instants of the last `count` grants. The hash holds the
/// instant at which the bucket is full, the number of grants, and the servers' quotas by name. The script implements
/// ``take(_:limit:)``, and returns the number of the grant or a wait. The script also lets the set and the hash expire after the
/// longest window. `observe` is a second script, which writes the quotas into the hash. Give the keys of one app a prefix.
///
/// A store must obey cancellation and have its own timeout, because all queued requests of a key wait for the store. To test your own
/// store, use `RateLimitStoreBehavior` of the product `ErrandStoreConformance`.
public protocol RateLimitStore: Sendable {
    /// Decides whether a request may be sent now. A request that gets a grant is treated as sent.
    ///
    /// A request may be sent if the server's pause has ended, and every quota has at least one request left. In addition, the bucket
    /// of `limit` must have a token, and the `count`th most recent grant must be at least a window old. When the store gives a grant, the
    /// store reduces each quota and the bucket by one. The grant gets the next number of its key.
    ///
    /// - Parameters:
    ///   - key: the text that the scope of the limit returns for a request.
    ///   - limit: the limit that the middleware was created with. `nil`: only the server's fields limit the requests.
    /// - Throws: any error if the store fails. ``RateLimitMiddleware/StoreFailure`` decides how the request is handled.
    func take(_ key: String, limit: RateLimit?) async throws -> RateLimitDecision

    /// Records the rate-limit fields of the response to a granted request. This method is called only for a response with rate-limit
    /// fields.
    ///
    /// A `retryAfter` value starts a pause now, unless a longer pause is in effect. A quota replaces the stored quota of the
    /// same name. The new quota is reduced by the number of grants after `grant`. A quota is ignored if a quota from the
    /// response to a later grant is known.
    ///
    /// - Parameters:
    ///   - key: the text that the scope of the limit returns for a request.
    ///   - fields: the fields of the response.
    ///   - grant: the grant with which the request was sent. `nil`: the request was sent without a grant.
    func observe(_ fields: RateLimitFields, for key: String, after grant: RateLimitGrant?) async throws

    /// Returns the number of requests that may be sent now. `nil`: there is no limit now, or the store does not report the number. Use
    /// this function for gauges.
    func available(_ key: String, limit: RateLimit?) async throws -> Int?

    /// The immediate limits of this store, for a store in the memory of this process. Immediate limits decide without suspension.
    /// `nil`, the default: the middleware calls the asynchronous functions.
    var immediate: (any ImmediateRateLimits)? { get }
}

/// The limits of a ``RateLimitStore`` that decides without suspension. The store and its immediate limits must use the same state.
///
/// With immediate limits, a request that may be sent immediately does not queue, and reports no queue events. The middleware
/// refuses a request that would queue for too long. For this check, the middleware uses the store's current decision, and not the
/// earlier decision for the first queued request. A change of the store, such as the removal of a key, is noticed within a minute.
///
/// ```swift
/// struct CountingStore: RateLimitStore {
///     let memory = MemoryRateLimitStore()
///
///     func take(_ key: String, limit: RateLimit?) async throws -> RateLimitDecision { memory.take(key, limit: limit) }
///     func observe(_ fields: RateLimitFields, for key: String, after grant: RateLimitGrant?) {
///         memory.observe(fields, for: key, after: grant)
///     }
///     func available(_ key: String, limit: RateLimit?) -> Int? { memory.available(key, limit: limit) }
///     var immediate: (any ImmediateRateLimits)? { memory }
/// }
/// ```
public protocol ImmediateRateLimits: Sendable {
    /// Decides whether a request may be sent now, like ``RateLimitStore/take(_:limit:)``.
    func take(_ key: String, limit: RateLimit?) -> RateLimitDecision
    /// Returns how long the next request must wait, and the reason; `nil` if the request may be sent now. Takes no grant.
    func wait(_ key: String, limit: RateLimit?) -> (duration: Duration, cause: RateLimitDecision.Cause)?
    /// Records the rate-limit fields of a response, like ``RateLimitStore/observe(_:for:after:)``.
    func observe(_ fields: RateLimitFields, for key: String, after grant: RateLimitGrant?)
}

extension RateLimitStore {
    /// `nil`: the middleware calls the asynchronous functions.
    public var immediate: (any ImmediateRateLimits)? { nil }
}

/// The decision of a ``RateLimitStore`` on a request.
public enum RateLimitDecision: Sendable, Hashable {
    /// The request may be sent.
    case granted(RateLimitGrant)
    /// The request must wait. Ask the store again after this duration, which is more than zero.
    case wait(Duration, cause: Cause)

    /// The reason why a request must wait.
    public enum Cause: String, Sendable, Hashable {
        /// The app's own limit.
        case limit
        /// The server's rate-limit fields.
        case server
    }
}

/// Permission to send one request.
public struct RateLimitGrant: Sendable, Hashable {
    /// The position of this grant in the sequence of all grants of the same key. The first grant has the number 1. The quotas in the
    /// response to the granted request already include this request, and the requests of all earlier grants.
    public let number: Int

    /// Creates a grant. Implementations of ``RateLimitStore`` use this initializer.
    public init(number: Int) { self.number = number }
}
