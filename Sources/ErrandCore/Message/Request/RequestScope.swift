/// The requests that share one limit: all requests, the requests of one origin, or the requests with the same key.
public struct RequestScope: Sendable, CustomStringConvertible {
    /// The key of a limit. Requests with equal keys share one limit.
    public enum Key: Sendable, Hashable {
        /// All requests share one limit.
        case all
        /// The requests of one origin share a limit. If the limit is an outer layer of `server`, requests have no origin yet.
        /// All requests then share one limit.
        case origin(Origin?)
        /// The requests to which the app gives the same key share a limit.
        case named(String)

        /// The key as text, for a store: `https://a.example`; empty for ``all``.
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
    /// The scope as a phrase for the label of a middleware: `per origin`, `in all`.
    public var phrase: String { description == Self.all.description ? "in all" : "per \(description)" }

    /// Returns the key of the limit that applies to a request; `nil` for a request without a limit.
    public func key(of request: Request) -> Key? { key(request) }

    /// All requests share one limit.
    public static let all = RequestScope(description: "all") { _ in .all }
    /// Each origin has a separate limit.
    public static let origin = RequestScope(description: "origin") { .origin($0.origin) }
    /// Returns a scope in which requests with the same key share one limit.
    ///
    /// - Parameters:
    ///   - description: a name for the description of the stack.
    ///   - key: returns the key of a request, or `nil` for a request without a limit. The key must not contain a secret, because
    ///     a store receives the key.
    public static func key(_ description: String = "key", _ key: @escaping @Sendable (Request) -> String?) -> RequestScope {
        RequestScope(description: description) { request in key(request).map(Key.named) }
    }
}
