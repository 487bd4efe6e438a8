extension ResponseBody {
    /// The largest number of bytes that is read of an unwanted body: 64 KiB. Draining more costs more than a new connection.
    package static var drainLimitBytes: Int { 64 * 1024 }

    /// Reads the body to its end, so that its connection can be reused. Abandons a body that is longer than ``drainLimitBytes``.
    ///
    /// Only the number of bytes is limited: the request's deadline limits the time.
    ///
    /// - Returns: the bytes that were read, at most ``drainLimitBytes``.
    /// - Throws: what reading the body throws.
    @discardableResult
    package func drain() async throws -> Data { try await prefix(upTo: Self.drainLimitBytes).data }

    private static var briefDrainLimitBytes: Int { 16 * 1024 }

    /// Reads the body to its end while the next request of the same call waits. Abandons a body that would delay that request.
    ///
    /// It is stricter than ``drain()``, because the caller gains only the connection: the body must declare a length of at most 16 KiB, and
    /// must arrive within `limit`. A body that ends early is not a failure, because the call continues.
    ///
    /// - Throws: only `CancellationError`.
    package func drain(within limit: Duration, on clock: any Clock<Duration>) async throws {
        if bufferedData != nil { return }
        guard let expectedLength, expectedLength <= Self.briefDrainLimitBytes else { return abandon() }
        do {
            _ = try await racing(
                {
                    try await clock.sleep(for: limit)
                    return TransportError(.timedOut, phase: .response, request: nil, delivery: .sent)
                },
                onExpiry: { _ in abandon() }, discard: { _ in }, operation: { try await prefix(upTo: Self.briefDrainLimitBytes) })
        } catch {
            abandon()
            try Task.checkCancellation()
        }
    }
}
