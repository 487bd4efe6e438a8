/// Which requests share one limit: all, those of one origin, or those with the same key.
public struct RequestScope: Sendable, CustomStringConvertible {
    /// What the requests of one limit have in common.
    public enum Key: Sendable, Hashable {
        /// All requests share one limit.
        case all
        /// The requests of one origin share a limit. Requests that have no origin yet share one: the limit stands outside `server`.
        case origin(Origin?)
        /// The requests with one key of the app share a limit.
        case named(String)

        /// For a store: `https://a.example`, an empty text for ``all``.
        public var text: String {
            switch self {
            case .all: ""
            case .origin(let origin): origin?.description ?? "://"
            case .named(let name): name
            }
        }
    }

    /// `all`, `origin`, or the name of a key.
    public let description: String
    private let key: @Sendable (Request) -> Key?
    /// For the label of a middleware: `per origin`, `in all`.
    public var phrase: String { description == Self.all.description ? "in all" : "per \(description)" }

    /// Returns what a request has in common with the other requests of its limit; `nil` for a request without a limit.
    public func key(of request: Request) -> Key? { key(request) }

    /// All requests share one limit.
    public static let all = RequestScope(description: "all") { _ in .all }
    /// Each origin has a limit of its own.
    public static let origin = RequestScope(description: "origin") { .origin($0.origin) }
    /// Requests with the same key share one limit.
    ///
    /// - Parameters:
    ///   - description: a name for the description of the stack.
    ///   - key: returns the key of a request, or `nil` for a request without a limit. A store receives the key, so it must not hold a secret.
    public static func key(_ description: String = "key", _ key: @escaping @Sendable (Request) -> String?) -> RequestScope {
        RequestScope(description: description) { request in key(request).map(Key.named) }
    }
}
