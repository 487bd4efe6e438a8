/// Returns the result of the operation that ends first, and cancels the other operation. The function returns after both operations have
/// ended.
///
/// To release the resources of a late result, use ``withExpiry(_:onExpiry:discard:operation:)``.
///
/// - Throws: the error of the operation that ends first. If the caller is cancelled, both operations are cancelled.
package func firstOf<Value: Sendable>(
    _ first: @escaping @Sendable @isolated(any) () async throws -> Value,
    _ second: @escaping @Sendable @isolated(any) () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value.self) { group in
        group.addTask(operation: first)
        group.addTask(operation: second)
        defer { group.cancelAll() }
        guard let value = try await group.next() else { throw CancellationError() }  // not possible: the group has two tasks
        return value
    }
}
