internal import Synchronization

extension ResponseBody {
    /// The maximum number of bytes to read from an unwanted body: 64 KiB. Draining more bytes costs more than a new connection.
    static var drainLimitBytes: Int { 64 * 1024 }

    /// Reads the body to its end, so that its connection can be reused. Abandons a body that is longer than ``drainLimitBytes``.
    ///
    /// This function limits only the number of bytes. The request's deadline limits the time.
    ///
    /// - Returns: the bytes read, at most ``drainLimitBytes``.
    /// - Throws: the errors of reading the body.
    @discardableResult
    package func drain() async throws -> Data { try await prefix(limitBytes: Self.drainLimitBytes).data }

    private static var briefDrainLimitBytes: Int { 16 * 1024 }

    /// Reads the body to its end while the next request of the same call waits. Abandons a body that would delay that request.
    ///
    /// This function is stricter than ``drain()``, because a reusable connection is the only gain for the caller. The body must
    /// declare a length of at most 16 KiB, and must arrive within `limit`. If the body ends early, this function throws no error,
    /// because the call continues.
    ///
    /// - Throws: only `CancellationError`.
    func drain(within limit: Duration, on clock: any Clock<Duration>) async throws {
        if bufferedData != nil { return }
        guard let expectedLength, expectedLength <= Self.briefDrainLimitBytes else { return abandon() }
        do {
            _ = try await withExpiry(
                {
                    try await clock.sleep(for: limit.bounded)
                    return TransportError(.timedOut, phase: .response, request: nil, delivery: .sent)
                },
                onExpiry: { _ in abandon() }, discard: { _ in }, operation: { try await prefix(limitBytes: Self.briefDrainLimitBytes) })
        } catch {
            abandon()
            try Task.checkCancellation()
        }
    }
}

extension Response {
    /// The default time that ``release(within:on:)`` and ``bufferBody(within:on:)`` wait for a body: 100 ms. Opening a new connection
    /// takes about the same time.
    public static let releaseLimit: Duration = .milliseconds(100)

    /// Reads the body into memory, so that the connection is free while the call does other work.
    ///
    /// The other work, such as refreshing a token, may need the connection. If the body is longer than 64 KiB, or does not arrive within
    /// `limit`, the beginning is kept and the rest is abandoned. A reader of a truncated body gets the beginning, followed by an error.
    ///
    /// The buffered body can be read only once. To read the body and pass it on, put the bytes back:
    ///
    /// ```swift
    /// let data = try await response.data()
    /// response.body = .data(data)
    /// ```
    ///
    /// - Parameters:
    ///   - limit: the longest time for reading the body. Default: ``releaseLimit``.
    ///   - clock: the clock that measures the limit.
    /// - Throws: only `CancellationError`.
    public mutating func bufferBody(within limit: Duration = releaseLimit, on clock: any Clock<Duration> = ContinuousClock()) async throws {
        if body.bufferedData != nil { return }
        let (body, kept) = (body, HeldBytes())
        let problem: any Error
        do {
            let isWhole = try await withExpiry(
                {
                    try await clock.sleep(for: limit.bounded)
                    return TransportError(.timedOut, phase: .body, request: nil, delivery: .sent)
                },
                onExpiry: { _ in body.abandon() }, discard: { _ in },
                operation: {
                    var iterator = body.makeAsyncIterator()
                    while let chunk = try await iterator.next() {
                        if kept.append(chunk) > ResponseBody.drainLimitBytes { return false }
                    }
                    return true
                })
            if isWhole {
                self.body = ResponseBody(kept.data, trailers: body.trailers, expectedLength: body.expectedLength)
                return
            }
            problem = TransportError(
                .bodyTooLarge, phase: .body, message: "the rest of the body was abandoned while the call did other work", request: request,
                delivery: .sent)
        } catch {
            try Task.checkCancellation()
            problem = error
        }
        body.abandon()
        let source = ChunksBodySource([kept.data], then: .failure(problem))
        self.body = ResponseBody(source, expectedLength: body.expectedLength, request: request)
    }
}

/// The bytes that have arrived so far.
private final class HeldBytes: Sendable {
    private let bytes = Mutex(Data())

    var data: Data { bytes.withLock { $0 } }

    /// Adds a chunk, and returns the number of bytes so far.
    func append(_ chunk: Data) -> Int {
        bytes.withLock { bytes in
            bytes.append(chunk)
            return bytes.count
        }
    }
}
