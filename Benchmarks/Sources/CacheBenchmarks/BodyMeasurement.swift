internal import ClientHarness
internal import ErrandCache
internal import ErrandCore
internal import ErrandNIO
internal import ErrandSQLite

/// Large bodies over the transport with SwiftNIO, read without a cache and with a store on the disk, by turns.
enum BodyMeasurement {
    /// Returns the times of the bodies, the times that the cache has added, and the number of stored bodies.
    ///
    /// - Parameter url: the URL of the body, to which a query is added, so that each response is a new entry.
    static func of(_ url: String, count: Int, folder: String) async throws -> String {
        let transport = NIOTransport()
        let store = SQLiteCacheStore(inFolder: folder)
        let plain = HTTPStack(transport)
        let cached = plain.cache(in: store)
        func request(_ number: Int) throws -> Request { try Request(.get, url: "\(url)?\(number)") }
        // The first requests connect, and open the store.
        for stack in [plain, cached] { _ = try await read(request(-1), stack) }
        await store.finish()
        var (without, with, stored) = ([Double](), [Double](), 0)
        for number in 0..<count {
            without.append(try await read(request(number), plain))
            with.append(try await read(request(number), cached))
            // The wait for the store has a limit. The last bytes may still be in the queue.
            await store.finish()
            if try await store.contains(request(number)) { stored += 1 }
        }
        try await transport.shutdown()
        let added = zip(with, without).map { $0 - $1 }
        return """
            stored=\(stored) plain_p50_ns=\(percentile(50, without)) plain_p95_ns=\(percentile(95, without)) \
            cached_p50_ns=\(percentile(50, with)) cached_p95_ns=\(percentile(95, with)) \
            added_p50_ns=\(percentile(50, added)) added_p95_ns=\(percentile(95, added)) \
            peak_waiting_bytes=\(store.work.peakWaitingBytes)
            """
    }

    /// Returns the nanoseconds until the end of the body.
    private static func read(_ request: Request, _ stack: HTTPStack) async throws -> Double {
        let start = ContinuousClock.now
        let response = try await stack.send(request)
        guard response.status == .ok else { throw WrongResponse("status \(response.status.code)") }
        for try await _ in response.body {}
        return start.duration(to: .now) / .nanoseconds(1)
    }

    /// The nearest rank: the value that so many of a hundred values don't exceed.
    private static func percentile(_ part: Int, _ values: [Double]) -> Double { values.sorted()[(values.count * part + 99) / 100 - 1] }
}
