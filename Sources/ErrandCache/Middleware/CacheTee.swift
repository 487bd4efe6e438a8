internal import ErrandCore
internal import Synchronization

/// Stores the body of a response while the caller reads it.
struct CacheTee: Sendable {
    /// The largest number of bytes of a body that wait for the store: 1 MiB.
    static let waitingLimitBytes = 1024 * 1024
    /// The longest time, in total, for which the store delays the reader of a body: 50 ms.
    static let delayLimit: Duration = .milliseconds(50)
    /// The longest time for which a stream waits until the store has begun the entry: 10 ms, as a part of ``delayLimit``.
    static let beginLimit: Duration = .milliseconds(10)

    let runtime: CacheRuntime
    let request: Request
    let key: CacheKey
    let write: CacheWrite
    let generation: CacheGeneration
    /// The storage of the response. The status of the cache refers to this object.
    let storage: CacheStorage

    /// - Parameter inner: the storage of the response in an inner cache; `nil` if no inner cache stores the response.
    init(
        _ runtime: CacheRuntime, request: Request, key: CacheKey, write: CacheWrite, since generation: CacheGeneration,
        beside inner: CacheStorage?
    ) {
        (self.runtime, self.request, self.key, self.write, self.generation) = (runtime, request, key, write, generation)
        storage = CacheStorage(beside: inner)
    }

    /// Returns the body that is stored while it is read. If the store has already refused the response, ``storage`` has the reason.
    ///
    /// A body in memory is stored before the function returns, and is returned unchanged. With a store that may wait, the function waits
    /// for at most ``delayLimit``. A body of more than 1 MiB, and a stream, are stored in this store while the body is read. For such a
    /// body, the function waits until the store has begun the entry, but at most for ``beginLimit``.
    func attached(to body: ResponseBody) async -> ResponseBody {
        let writer: (any ImmediateCacheWriter)?
        do throws(CacheStatus.Refusal) {
            writer = try runtime.store.makeImmediateWriter(
                for: key, head: write.head, expectedBytes: write.expectedBytes, since: generation)
        } catch {
            refuse(error)
            return body
        }
        if let writer {
            let sink = ImmediateCacheSink(self, writer)
            guard let bytes = body.bufferedData else { return body.copied(to: sink) }
            sink.add(bytes)
            sink.end(isComplete: true)
            return body
        }
        let sink = PumpedCacheSink(self)
        sink.start()
        guard let bytes = body.bufferedData, bytes.count <= Self.waitingLimitBytes else {
            await sink.waitForWriter()
            return storage.ownRefusal == nil ? body.copied(to: sink) : body
        }
        await sink.add(bytes)
        await sink.end(isComplete: true)
        return body
    }

    /// Records and reports why the response is not stored.
    func refuse(_ refusal: CacheStatus.Refusal) {
        storage.refuse(refusal)
        request.report(.cacheDecision, decision: .init(continues: false, "not stored: \(refusal)"))
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
        if let before = tee.write.before { attempt { () throws(CacheStatus.Refusal) in try copy(before, to: writer) } }
    }

    func write(_ chunk: Data) async throws { add(chunk) }
    func finish(trailers: HTTPFields?) async throws { end(isComplete: true) }
    func abandon(_ end: ExchangeLifetime.Outcome) { self.end(isComplete: false) }

    func add(_ chunk: Data) {
        let writer = state.withLock { state in
            state.receivedBytes += Int64(chunk.count)
            return state.writer
        }
        if let writer { attempt { () throws(CacheStatus.Refusal) in try writer.write(chunk) } }
    }

    /// Publishes the entry.
    func end(isComplete: Bool) {
        let (writer, receivedBytes) = state.withLock { ($0.writer.take(), $0.receivedBytes) }
        guard let writer else { return }
        do throws(CacheStatus.Refusal) {
            guard let (head, includesAfter) = tee.write.finished(receivedBytes: receivedBytes, isComplete: isComplete) else {
                throw .incompleteBody
            }
            if includesAfter, let after = tee.write.after { try copy(after, to: writer) }
            _ = try writer.publish(head, replacing: tee.write.replaces)
        } catch {
            writer.discard()
            tee.refuse(error)
        }
    }

    private func copy(_ piece: CachePiece, to writer: any ImmediateCacheWriter) throws(CacheStatus.Refusal) {
        guard let bytes = tee.runtime.store.immediateBody(of: piece.entry.id, offsets: piece.offsets) else { throw .removed }
        try writer.write(bytes)
    }

    /// Adds bytes to the entry. If the store refuses the bytes, the entry is dropped.
    private func attempt(_ add: () throws(CacheStatus.Refusal) -> Void) {
        do throws(CacheStatus.Refusal) {
            try add()
        } catch {
            guard let writer = state.withLock({ $0.writer.take() }) else { return }
            writer.discard()
            tee.refuse(error)
        }
    }
}
