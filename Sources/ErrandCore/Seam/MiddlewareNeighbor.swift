/// A rule about the order of a stack: on which side of another place a middleware must stand, and what goes wrong otherwise.
///
/// Declare only orders that defeat one of the two, not those that are merely unusual.
public struct MiddlewareNeighbor: Sendable, Hashable {
    /// Where a middleware stands, as seen from its neighbor.
    public enum Side: Sendable, Hashable {
        /// It sees the request before the neighbor does.
        case outside
        /// It sees the request after the neighbor.
        case inside
    }

    /// On which side of ``place`` the middleware that declares this must stand.
    public let side: Side
    /// The neighbor's place. The rule does not apply to a stack without it.
    public let place: MiddlewarePlace
    /// What goes wrong on the other side: half a sentence, such as "each attempt would be a call of its own".
    public let reason: String

    /// The middleware must stand outside `place`.
    ///
    /// - Parameter reason: what goes wrong otherwise, for the stack's description.
    public static func outside(_ place: MiddlewarePlace, because reason: String) -> MiddlewareNeighbor {
        MiddlewareNeighbor(side: .outside, place: place, reason: reason)
    }

    /// The middleware must stand inside `place`.
    ///
    /// - Parameter reason: what goes wrong otherwise, for the stack's description.
    public static func inside(_ place: MiddlewarePlace, because reason: String) -> MiddlewareNeighbor {
        MiddlewareNeighbor(side: .inside, place: place, reason: reason)
    }
}
