#if Auth
/// A place in which a ``CookieJar`` keeps its cookies between runs of an app.
///
/// To test your own store, use `CookieStoreBehavior` of the product `ErrandStoreConformance`.
public protocol CookieStore: Sendable {
    /// Returns the stored cookies; an empty array if the store is empty.
    ///
    /// - Throws: any error if the cookies can't be read.
    func load() async throws -> [Cookie]

    /// Stores the changes since the last call of this function. When this function returns, the changes must be durable.
    ///
    /// - Parameters:
    ///   - changed: the cookies that the jar has stored or changed since the last call, without session cookies.
    ///   - removed: the keys that the jar has removed since the last call.
    /// - Returns: all cookies of the store after the changes, including the cookies of other processes.
    /// - Throws: any error if the changes can't be stored.
    func apply(changed: [Cookie], removed: [Cookie.Key]) async throws -> [Cookie]
}
#endif
