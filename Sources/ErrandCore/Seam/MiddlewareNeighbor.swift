/// A rule for the order of a stack, with the reason for the rule. A rule requires a middleware to be outside or inside another
/// place, or to be the only middleware of its own place.
///
/// Declare a rule only if the other order makes one of the two middleware useless. Don't declare a rule because the other order
/// is unusual.
public struct MiddlewareNeighbor: Sendable, Hashable {
    /// The required position of a middleware relative to its neighbor.
    public enum Side: Sendable, Hashable {
        /// The middleware must be outside: it sees the request before the neighbor sees the request.
        case outside
        /// The middleware must be inside: it sees the request after the neighbor sees the request.
        case inside
        /// The stack must have no other middleware of the same place.
        case once
        /// The same requirement as ``once``, but only in a stack that sorts its layers. In any other stack, several layers of the
        /// same place are valid.
        case onceWhenSorted
    }

    /// The required position of the middleware relative to ``place``.
    public let side: Side
    /// The neighbor's place; `nil` for the middleware's own place. The rule does not apply to a stack that has no such place.
    public let place: MiddlewarePlace?
    /// The problem that a violation of the rule causes, as a clause, such as "each attempt would be a separate call".
    public let reason: String

    /// Requires the middleware to be outside `place`.
    ///
    /// - Parameter reason: the problem that the other order causes, for the stack's description.
    public static func outside(_ place: MiddlewarePlace, because reason: String) -> MiddlewareNeighbor {
        MiddlewareNeighbor(side: .outside, place: place, reason: reason)
    }

    /// Requires the middleware to be inside `place`.
    ///
    /// - Parameter reason: the problem that the other order causes, for the stack's description.
    public static func inside(_ place: MiddlewarePlace, because reason: String) -> MiddlewareNeighbor {
        MiddlewareNeighbor(side: .inside, place: place, reason: reason)
    }

    /// Requires the middleware to be the only middleware of its place. The rule ignores middleware with a condition
    /// (``HTTPSender/wrapped(by:when:)``), because two conditions may exclude each other.
    ///
    /// - Parameter reason: the problem that a second middleware causes, for the stack's description.
    public static func once(because reason: String) -> MiddlewareNeighbor {
        MiddlewareNeighbor(side: .once, place: nil, reason: reason)
    }

    /// Requires the middleware to be the only middleware of its place in a stack that sorts its layers
    /// (``HTTPStack/sorted(around:defaults:)``). In a sorted stack, two middleware of one place would directly wrap each other. The rule
    /// ignores middleware with a condition.
    ///
    /// - Parameter reason: the problem that a second middleware causes, for the stack's description.
    public static func onceWhenSorted(because reason: String) -> MiddlewareNeighbor {
        MiddlewareNeighbor(side: .onceWhenSorted, place: nil, reason: reason)
    }
}
