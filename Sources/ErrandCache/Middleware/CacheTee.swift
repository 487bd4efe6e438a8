internal import ErrandCore
internal import Synchronization

/// Stores the body of a response while the caller reads it.
struct CacheTee: Sendable {
    /// The largest number of bytes of a body that wait for the store: 1 MiB.
    static let waitingLimitBytes = 1024 * 1024
    /// The longest time, in total, for which the store delays the reader of a body: 50 ms.
    static let delayLimit: Duration = .milliseconds(50)

    let runtime: CacheRuntime
    let request: Request
    let key: CacheKey
    let write: CacheWrite
    let generation: CacheGeneration

    init(_ runtime: CacheRuntime, request: Request, key: CacheKey, write: CacheWrite, since generation: CacheGeneration) {
        (self.runtime, self.request, self.key, self.write, self.generation) = (runtime, request, key, write, generation)
    }

    /// Returns the body that is stored while it is read, and whether the store has accepted the entry so far.
    ///
    /// A body in memory is stored before the function returns, and is returned unchanged. With a store that may wait, the function waits
    /// for at most ``delayLimit``. A body of more than 1 MiB is stored in this store while the body is read.
    func attached(to body: ResponseBody) async -> (ResponseBody, isStored: Bool) {
        switch runtime.store.makeImmediateWriter(for: key, head: write.head, expectedBytes: write.expectedBytes, since: generation) {
        case .refused:
            report("the store does not keep the entry")
            return (body, false)
        case .writer(let writer):
            let sink = ImmediateCacheSink(self, writer)
            guard let bytes = body.bufferedData else { return (body.copied(to: sink), true) }
            sink.add(bytes)
            return (body, sink.end(isComplete: true))
        case .unsupported:
            let sink = PumpedCacheSink(self)
            guard let bytes = body.bufferedData, bytes.count <= Self.waitingLimitBytes else {
                sink.start()
                return (body.copied(to: sink), true)
            }
            sink.start()
            await sink.add(bytes)
            return (body, await sink.end(isComplete: true))
        }
    }

    /// Reports why a response is not stored.
    func report(_ reason: String) {
        request.report(.cacheDecision, decision: .init(continues: false, "not stored: \(reason)"))
    }
}

/// Stores a body in a store that never waits.
final class ImmediateCacheSink: BodySink {
    private struct State {
        /// The writer; `nil` after the end.
        var writer: (any ImmediateCacheWriter)?
        var receivedBytes: Int64 = 0
    }

    private let tee: CacheTee
    private let state: Mutex<State>

    init(_ tee: CacheTee, _ writer: any ImmediateCacheWriter) {
        self.tee = tee
        state = Mutex(State(writer: writer))
        if let before = tee.write.before, !copy(before, to: writer) { drop("the stored part has disappeared") }
    }

    func write(_ chunk: Data) async throws { add(chunk) }
    func finish(trailers: HTTPFields?) async throws { end(isComplete: true) }
    func abandon(_ end: ExchangeLifetime.Outcome) { self.end(isComplete: false) }

    func add(_ chunk: Data) {
        let writer = state.withLock { state in
            state.receivedBytes += Int64(chunk.count)
            return state.writer
        }
        if let writer, !writer.write(chunk) { drop("the store has no room") }
    }

    /// Publishes the entry. Returns false if nothing is stored.
    @discardableResult
    func end(isComplete: Bool) -> Bool {
        let (writer, receivedBytes) = state.withLock { ($0.writer.take(), $0.receivedBytes) }
        guard let writer else { return false }
        guard let (head, includesAfter) = tee.write.finished(receivedBytes: receivedBytes, isComplete: isComplete) else {
            writer.discard()
            return false
        }
        if includesAfter, let after = tee.write.after, !copy(after, to: writer) {
            writer.discard()
            return false
        }
        return writer.publish(head, replacing: tee.write.replaces) != nil
    }

    private func copy(_ piece: CachePiece, to writer: any ImmediateCacheWriter) -> Bool {
        guard let bytes = tee.runtime.store.immediateBody(of: piece.entry.id, offsets: piece.offsets) else { return false }
        return writer.write(bytes)
    }

    private func drop(_ reason: String) {
        guard let writer = state.withLock({ $0.writer.take() }) else { return }
        writer.discard()
        tee.report(reason)
    }
}
