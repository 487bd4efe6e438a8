/// Which requests a limit counts together.
public struct RequestScope: Sendable, CustomStringConvertible {
    public let description: String
    package let key: @Sendable (Request) -> String?

    /// All requests together.
    public static let all = RequestScope(description: "all") { _ in "" }
    /// Each origin for itself.
    public static let origin = RequestScope(description: "origin") { $0.originText }
    /// What the closure names; nil is without a limit. A store gets to see the key: no secret belongs there.
    public static func key(_ description: String = "key", _ key: @escaping @Sendable (Request) -> String?) -> RequestScope {
        RequestScope(description: description, key: key)
    }
}
