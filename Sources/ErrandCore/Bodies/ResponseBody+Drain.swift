extension ResponseBody {
    /// The most that is read of a body that nobody wants: 64 KiB. More costs more than a new connection.
    package static var drainLimitBytes: Int { 64 * 1024 }

    /// Reads the body to its end, so that its connection can be kept, and abandons one that is longer than ``drainLimitBytes``.
    ///
    /// The bound is on bytes alone: time is bounded by the request's deadline.
    ///
    /// - Returns: what was read, at most ``drainLimitBytes``.
    /// - Throws: what reading the body throws.
    @discardableResult
    package func drain() async throws -> Data { try await prefix(upTo: Self.drainLimitBytes).data }

    private static var briefDrainLimitBytes: Int { 16 * 1024 }

    /// Reads the body to its end while another request of the same call waits, and abandons one that would make it wait.
    ///
    /// It is tighter than ``drain()`` on purpose, because the caller gains nothing but the connection: the body must declare its length, of at most
    /// 16 KiB, and must come within `limit`. A body that breaks off is no failure, as its call goes on.
    ///
    /// - Throws: `CancellationError` alone.
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
