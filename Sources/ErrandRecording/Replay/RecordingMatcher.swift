public import ErrandCore

/// The rules by which a recorded exchange matches a request. By default, the method, the URL and the query must be equal.
///
/// ```swift
/// RecordingMatcher(headers: [.accept], body: .normalized)
/// ```
///
/// The requests are compared without their secrets, so that a request with another token still matches.
public struct RecordingMatcher: Sendable, Hashable {
    /// How queries are compared.
    public enum QueryRule: Sendable, Hashable {
        /// Queries are not compared.
        case ignored
        /// The items must be equal, in the same order.
        case inOrder
        /// The items must be equal, in any order. A repeated item must occur the same number of times in both requests.
        case anyOrder
    }

    /// How bodies are compared.
    public enum BodyRule: Sendable, Hashable {
        /// Bodies are not compared.
        case ignored
        /// Bodies are compared byte by byte.
        case exact
        /// JSON is compared by value, and a form is compared by its pairs in any order. A multipart body is compared without its
        /// boundary. Any other body is compared byte by byte.
        case normalized
    }

    /// Whether the methods must be equal.
    public var comparesMethod: Bool
    /// Whether scheme, host, port and path must be equal.
    public var comparesURL: Bool
    /// How queries are compared.
    public var query: QueryRule
    /// The fields whose values must be equal; none by default.
    public var headers: [HTTPField.Name]
    /// How bodies are compared. With any rule except `ignored`, bodies are read before the comparison, up to the recording's limit.
    /// Files and streams are read, too.
    public var body: BodyRule

    /// Compares the method, the URL and the query.
    public static let standard = RecordingMatcher()

    /// Creates a matcher. For each parameter, see the property of the same name.
    public init(
        comparesMethod: Bool = true, comparesURL: Bool = true, query: QueryRule = .anyOrder, headers: [HTTPField.Name] = [],
        body: BodyRule = .ignored
    ) {
        self.comparesMethod = comparesMethod
        self.comparesURL = comparesURL
        self.query = query
        self.headers = headers
        self.body = body
    }
}
