public import ErrandFormats

/// Keeps what has gone, and what servers said, by key; so that all who use it hold one limit together.
///
/// ``MemoryRateLimitStore`` is for one process. For many, one can stand over an engine that they share, such as Redis or Valkey: `take` is then one script
/// that runs there, so that nobody comes in between, and goes by that server's time. For each key it has a sorted set of the instants of the
/// last `count` grants and a hash with the instant at which the bucket is full, the number of grants, and by name the quotas that servers told;
/// it does what is described for ``take(_:limit:)``, has both expire after the longest window, and returns a number or a wait. `observe` is a second
/// script, which writes the quotas into the hash. The keys of one app get a prefix of their own.
///
/// A store obeys cancellation, and has a timeout of its own: all who wait for a key wait for it.
public protocol RateLimitStore: Sendable {
    /// Whether a request may go now; if it may, it counts as gone.
    ///
    /// It may if the server's pause is over, every quota has one left, the bucket of `limit` has a token, and the last grant but
    /// `count - 1` is a window old. Then each of them has one less, and the grant gets the next number of its key.
    ///
    /// - Parameter limit: nil where only what the server says counts.
    /// - Throws: when the store can't tell. What comes of it, the middleware's ``RateLimitMiddleware/StoreFailure`` decides.
    func take(_ key: String, limit: RateLimit?) async throws -> RateLimitDecision

    /// Takes in what the answer to a granted request says; called only where it says something.
    ///
    /// A `retryAfter` is a pause from now on, if none is longer. A quota replaces the one of its name, less the grants that were given
    /// since `grant`; it is passed over where one that came with a later grant is known.
    ///
    /// - Parameter grant: nil where the request went without one.
    func observe(_ key: String, _ fields: RateLimitFields, after grant: RateLimitGrant?) async throws

    /// How many could go now; nil where nothing limits them, or the store does not tell, which is the default. For a gauge.
    func available(_ key: String, limit: RateLimit?) async throws -> Int?
}

extension RateLimitStore {
    public func available(_ key: String, limit: RateLimit?) async throws -> Int? { nil }
}

/// What a ``RateLimitStore`` says to a request.
public enum RateLimitDecision: Sendable, Hashable {
    /// Go.
    case granted(RateLimitGrant)
    /// Not yet: ask again after so long, more than zero.
    case wait(Duration, cause: Cause)

    /// Who makes a request wait.
    public enum Cause: String, Sendable, Hashable {
        /// The app's own limit.
        case limit
        /// What the server said.
        case server
    }
}

/// That a request may go.
public struct RateLimitGrant: Sendable, Hashable {
    /// Counts the grants of a key: 1, 2, …. What an answer says of what is left has counted those up to its own request.
    public let number: Int

    public init(number: Int) { self.number = number }
}
