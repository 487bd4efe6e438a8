public import ErrandCore

/// Which recorded exchange answers a request. By default method, URL and query must be the same.
///
/// ```swift
/// RecordingMatcher(headers: [.accept], body: .normalized)
/// ```
///
/// Both sides are compared without their secrets, so that another token is no other request.
public struct RecordingMatcher: Sendable, Hashable {
    /// How queries are compared.
    public enum QueryRule: Sendable, Hashable {
        case ignored
        /// The same items, in the same order.
        case inOrder
        /// The same items as often, in any order.
        case anyOrder
    }

    /// How bodies are compared.
    public enum BodyRule: Sendable, Hashable {
        case ignored
        /// Byte for byte.
        case exact
        /// JSON by value, forms by their pairs in any order, multipart bodies but for their boundary; others byte for byte.
        case normalized
    }

    /// Whether the method must be the same.
    public var method: Bool
    /// Whether scheme, host, port and path must be the same.
    public var url: Bool
    public var query: QueryRule
    /// The fields that must have the same values.
    public var headers: [HTTPField.Name]
    /// With another rule than `ignored`, bodies are read before they are matched: files and streams too, up to the recording's limit.
    public var body: BodyRule

    /// Method, URL and query.
    public static let standard = RecordingMatcher()

    public init(
        method: Bool = true, url: Bool = true, query: QueryRule = .anyOrder, headers: [HTTPField.Name] = [], body: BodyRule = .ignored
    ) {
        (self.method, self.url, self.query, self.headers, self.body) = (method, url, query, headers, body)
    }
}
