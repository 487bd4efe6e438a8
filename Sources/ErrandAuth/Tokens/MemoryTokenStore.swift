#if Auth
internal import Synchronization

/// A token store in memory, for tests and for tokens that no later run of the app needs.
public final class MemoryTokenStore: TokenStore, CustomStringConvertible {
    private let token: Mutex<AccessToken?>

    /// Creates a store.
    public init(_ token: AccessToken? = nil) { self.token = Mutex(token) }

    /// Returns the token; `nil` if the store is empty.
    public func load() -> AccessToken? { token.withLock { $0 } }
    /// Replaces the token.
    public func save(_ token: AccessToken) { self.token.withLock { $0 = token } }
    /// Removes the token.
    public func remove() { token.withLock { $0 = nil } }

    /// Whether the store has a token: `memory, with a token`, or `memory, without a token`.
    public var description: String { load() == nil ? "memory, without a token" : "memory, with a token" }
}
#endif
