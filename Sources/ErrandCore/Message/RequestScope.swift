/// Which requests a limit counts together.
public struct RequestScope: Sendable, CustomStringConvertible {
    /// What requests that are counted together have in common.
    package enum Key: Sendable, Hashable {
        case all
        /// Requests that have no origin yet are counted together: the limit stands outside `server`.
        case origin(Origin?)
        case named(String)

        /// For a store: `https://a.example`, an empty text for ``all``.
        package var text: String {
            switch self {
            case .all: ""
            case .origin(let origin): origin?.description ?? "://"
            case .named(let name): name
            }
        }
    }

    public let description: String
    package let key: @Sendable (Request) -> Key?

    /// All requests together.
    public static let all = RequestScope(description: "all") { _ in .all }
    /// Each origin for itself.
    public static let origin = RequestScope(description: "origin") { .origin($0.origin) }
    /// What the closure names; nil is without a limit. A store gets to see the key: no secret belongs there.
    public static func key(_ description: String = "key", _ key: @escaping @Sendable (Request) -> String?) -> RequestScope {
        RequestScope(description: description) { request in key(request).map(Key.named) }
    }
}
