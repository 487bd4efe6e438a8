public import ErrandCore

extension CachePolicy {
    /// A response that may be stored, which is the input of your own decision.
    public struct Received: Sendable {
        /// The request, as it was sent.
        public let request: Request
        /// The head of the response. For a 304, the head of the stored response with the new fields.
        public let response: HTTPResponse
        /// The lifetime from the server's fields or the heuristic; `nil` if the policy does not store the response.
        public let lifetime: Duration?
        /// Whether the server states a lifetime, or demands validation: `max-age`, `s-maxage`, `Expires` or `no-cache`.
        public let isStated: Bool

        /// Creates a response. Use this initializer in tests of your own decision.
        ///
        /// - Parameters:
        ///   - request: the request, as it was sent.
        ///   - response: the head of the response.
        ///   - lifetime: the lifetime that the policy computes; `nil` if the policy does not store the response.
        ///   - isStated: whether the server states a lifetime, or demands validation.
        public init(request: Request, response: HTTPResponse, lifetime: Duration?, isStated: Bool) {
            (self.request, self.response, self.lifetime, self.isStated) = (request, response, lifetime, isStated)
        }
    }

    /// The result of your own decision.
    public struct Choice: Sendable, Hashable {
        enum Kind: Hashable {
            case byPolicy
            case fresh(CacheLifetimes)
            case notStored
        }

        let kind: Kind

        /// The decision of the policy.
        public static let byPolicy = Choice(kind: .byPolicy)
        /// The response is not stored.
        public static let notStored = Choice(kind: .notStored)

        /// The response is stored, and is fresh up to this age, whatever lifetime the server states. `no-cache` has no effect.
        ///
        /// Some rules can't be replaced: `no-store`, `Vary`, the partitions of accounts, and in a shared cache `private` and the rules for
        /// credentials.
        ///
        /// - Parameters:
        ///   - lifetime: the age up to which the response is fresh. A negative duration counts as zero.
        ///   - staleWhileRevalidate: the time after `lifetime` for which the stale response is used during a background
        ///     revalidation; `nil`: the time that the server states.
        ///   - staleIfError: the time after `lifetime` for which the stale response is used if the server fails; `nil`: the time that the
        ///     server states.
        public static func fresh(
            for lifetime: Duration, staleWhileRevalidate: Duration? = nil, staleIfError: Duration? = nil
        ) -> Choice {
            Choice(
                kind: .fresh(CacheLifetimes(fresh: lifetime, staleWhileRevalidate: staleWhileRevalidate, staleIfError: staleIfError)))
        }
    }

    /// Returns this policy with a closure whose decision takes precedence over the policy's decision.
    ///
    /// ```swift
    /// let policy = CachePolicy.standard.deciding { received in
    ///     received.isStated || received.response.status != .ok ? .byPolicy : .fresh(for: .seconds(300))
    /// }
    /// ```
    ///
    /// The closure is called once for each response that the rules allow the cache to store. The closure is also called once for each
    /// stored response that a 304 or a response to HEAD updates. The closure must be quick, because the call waits for the closure.
    ///
    /// - Parameter decide: the closure, which replaces an earlier closure of this policy.
    public func deciding(_ decide: @escaping @Sendable (Received) -> Choice) -> CachePolicy {
        var policy = self
        policy.choose = decide
        return policy
    }

    /// Returns a private policy with one lifetime for all successful responses (2xx), whatever lifetime the server states. Use this policy
    /// for a server that states no lifetime.
    ///
    /// - Parameter lifetime: the age up to which a response is fresh.
    public static func fresh(for lifetime: Duration) -> CachePolicy {
        standard.deciding { $0.response.status.kind == .successful ? .fresh(for: lifetime) : .byPolicy }
    }
}
