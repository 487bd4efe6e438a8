#if Auth
/// A place in which ``HSTSList`` keeps its hosts between runs of an app.
///
/// To test your own store, use `HSTSStoreBehavior` of the product `ErrandStoreConformance`.
public protocol HSTSStore: Sendable {
    /// Returns the stored hosts, including the hosts that were removed in the last hour (``HSTSHost/isRemoved``). An empty array if the
    /// store is empty.
    ///
    /// - Throws: any error if the hosts can't be read.
    func load() async throws -> [HSTSHost]

    /// Merges entries into the store. Returns all hosts of the store after the change, as ``load()`` does. If the store has a later entry
    /// of the same host, the later entry stays. When this function returns, the changes must be durable.
    ///
    /// - Parameter notes: the entries since the last call, at most one for each host.
    /// - Throws: any error if the entries can't be stored.
    func apply(_ notes: [HSTSHost]) async throws -> [HSTSHost]
}
#endif
