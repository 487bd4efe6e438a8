internal import ErrandCore
internal import ErrandFormats
internal import Synchronization

/// Stores a body in a store that may be slower than the reader of the body.
///
/// The reader adds chunks to a queue. A task, the pump, writes the chunks to the store. If the queue is full, the reader waits for the
/// pump, but not longer than ``CacheTee/delayLimit`` in total. If the reader has waited for ``CacheTee/delayLimit``, the entry is dropped,
/// and the reader continues without delays.
final class PumpedCacheSink: BodySink {
    /// The largest piece in the queue. Longer chunks are split, so that the pump can begin with a part of the chunk.
    private static let pieceLimitBytes = 128 * 1024
    /// The largest number of bytes in one write, unless a single chunk has more bytes: half of the queue. While the store writes one half,
    /// the reader can fill the other half.
    private static let batchLimitBytes = CacheTee.waitingLimitBytes / 2

    private struct State {
        var queue = ChunkQueue<Data>()
        /// The bytes of the queue, and of the chunks that are being written. These bytes are reserved in the store's count.
        var reservedBytes = 0
        var receivedBytes: Int64 = 0
        /// Whether the body was complete at its end; `nil` before the end.
        var isComplete: Bool?
        /// Whether the entry was dropped, and is not stored.
        var isDropped = false
        /// Whether the pump has ended.
        var hasEnded = false
        /// The writer of the store, after the pump has begun.
        var writer: (any CacheWriter)?
        /// The continuation of the pump while the pump waits for a chunk.
        var pump: CheckedContinuation<Void, Never>?
        /// The continuation of the reader while the reader waits for room in the queue, or for the end of the pump.
        var reader: CheckedContinuation<Void, any Error>?
        /// The time that is left for delays of the reader.
        var delay = CacheTee.delayLimit

        func hasRoom(for chunk: Data) -> Bool { reservedBytes == 0 || reservedBytes + chunk.count <= CacheTee.waitingLimitBytes }
    }

    /// The next step of the pump.
    private enum Step {
        case write([Data])
        case end(receivedBytes: Int64, isComplete: Bool)
        case dropped
        case wait
    }

    private let tee: CacheTee
    private let state = Mutex(State())

    init(_ tee: CacheTee) { self.tee = tee }

    /// Starts the pump. The body owns the pump: the pump ends after the end of the body.
    func start() {
        let runtime = tee.runtime
        runtime.store.work.writes.begin(runtime.store.work.nextNumber()) { [self] in await pump() }
    }

    // MARK: The reader

    func write(_ chunk: Data) async throws {
        guard chunk.count > Self.pieceLimitBytes else { return await add(chunk) }
        var rest = chunk[...]
        while !rest.isEmpty {
            // The piece is a copy, because a slice would keep the whole chunk in memory.
            let piece = Data(rest.prefix(Self.pieceLimitBytes))
            rest = rest.dropFirst(piece.count)
            await add(piece)
        }
    }

    func finish(trailers: HTTPFields?) async throws { await end(isComplete: true) }

    func abandon(_ end: ExchangeLifetime.Outcome) { close(isComplete: false) }

    /// Adds a chunk to the queue. Waits if the queue is full, and drops the entry if the wait takes too long.
    func add(_ chunk: Data) async {
        while true {
            enum Room { case added, none, full, dropped }
            let (room, pump) = state.withLock { state -> (Room, CheckedContinuation<Void, Never>?) in
                if state.isDropped { return (.dropped, nil) }
                guard state.hasRoom(for: chunk) else { return (.full, nil) }
                guard tee.runtime.store.work.waiting.reserve(chunk.count) else { return (.none, nil) }
                state.reservedBytes += chunk.count
                state.receivedBytes += Int64(chunk.count)
                state.queue.append(chunk)
                return (.added, state.pump.take())
            }
            pump?.resume()
            switch room {
            case .added, .dropped: return
            case .none: return drop(.waitingLimit)
            case .full:
                let hasWaited = await wait { $0.isDropped || $0.hasRoom(for: chunk) }
                if !hasWaited { return drop(.storeSlow) }
            }
        }
    }

    /// Ends the body, and waits until the pump has published or dropped the entry, as long as the time for delays permits.
    func end(isComplete: Bool) async {
        close(isComplete: isComplete)
        _ = await wait { $0.hasEnded }
    }

    /// Waits until the store has begun or refused the entry, at most for ``CacheTee/beginLimit``.
    func waitForWriter() async {
        _ = await wait(atMost: CacheTee.beginLimit) { $0.writer != nil || $0.isDropped || $0.hasEnded }
    }

    /// Waits for the pump. Returns false if the reader has waited for ``CacheTee/delayLimit`` in total, or the task is cancelled.
    ///
    /// - Parameters:
    ///   - most: the longest wait.
    ///   - isDone: a closure that returns whether the reader can continue. The closure is called under the lock.
    private func wait(
        atMost most: Duration = CacheTee.delayLimit, until isDone: @escaping @Sendable (State) -> Bool
    ) async -> Bool {
        let limit = state.withLock { isDone($0) ? nil : min($0.delay, most) }
        guard let limit else { return true }
        guard limit > .zero else { return false }
        let elapsed = makeStopwatch(on: tee.runtime.clock)
        let isInTime = try? await firstOf(
            { await self.waitForPump(until: isDone) },
            { [clock = tee.runtime.clock] in
                try await clock.sleep(for: limit)
                return false
            })
        return state.withLock { state in
            state.delay -= elapsed()
            return isInTime == true || isDone(state)
        }
    }

    private func waitForPump(until isDone: @escaping @Sendable (State) -> Bool) async -> Bool {
        while true {
            do {
                try await waitInQueue { (_, continuation: CheckedContinuation<Void, any Error>) in
                    state.withLock { state -> Result<Void, any Error>? in
                        if isDone(state) { return .success(()) }
                        if Task.isCancelled { return .failure(CancellationError()) }
                        state.reader = continuation
                        return nil
                    }
                } leave: { [self] _ in
                    state.withLock { $0.reader.take() }
                }
            } catch {
                return false
            }
            if state.withLock({ isDone($0) }) { return true }
        }
    }

    private func close(isComplete: Bool) {
        let pump = state.withLock { state -> CheckedContinuation<Void, Never>? in
            if state.isComplete == nil { state.isComplete = isComplete }
            return state.pump.take()
        }
        pump?.resume()
    }

    /// Drops the entry. A chunk that is being written counts until the store returns.
    private func drop(_ refusal: CacheStatus.Refusal) {
        let (isFirst, writer, bytes, pump, reader) = state.withLock { state in
            let isFirst = !state.isDropped
            state.isDropped = true
            let bytes = state.queue.bytes
            state.queue.removeAll()
            state.reservedBytes -= bytes
            return (isFirst, state.writer, bytes, state.pump.take(), state.reader.take())
        }
        tee.runtime.store.work.waiting.release(bytes)
        writer?.discard()
        // The reader reads the reason.
        if isFirst { tee.refuse(refusal) }
        pump?.resume()
        reader?.resume()
    }

    // MARK: The pump

    private func pump() async {
        if let refusal = await store() { drop(refusal) }
        let reader = state.withLock { state in
            state.hasEnded = true
            state.writer = nil
            return state.reader.take()
        }
        reader?.resume()
    }

    /// Writes the body to the store. Returns why the entry was not published; `nil` if the entry was published.
    private func store() async -> CacheStatus.Refusal? {
        let (store, write) = (tee.runtime.store, tee.write)
        do {
            let writer = try await store.makeWriter(
                for: tee.key, head: write.head, expectedBytes: write.expectedBytes, since: tee.generation)
            let (isDropped, reader) = state.withLock { state in
                state.writer = writer
                return (state.isDropped, state.reader.take())
            }
            reader?.resume()
            if isDropped {
                writer.discard()
                return .storeRefused
            }
            if let before = write.before, try await !copy(before, to: writer) { return .removed }
            while true {
                switch nextStep() {
                case .write(let chunks):
                    let chunk = Self.joined(chunks)
                    let result = await Result(of: { try await writer.write(chunk) })
                    written(chunk.count)
                    try result.get()
                case .end(let receivedBytes, let isComplete):
                    guard let (head, includesAfter) = write.finished(receivedBytes: receivedBytes, isComplete: isComplete) else {
                        return .incompleteBody
                    }
                    if includesAfter, let after = write.after, try await !copy(after, to: writer) { return .removed }
                    _ = try await writer.publish(head, replacing: write.replaces)
                    tee.runtime.succeeded(reads: false)
                    return nil
                case .dropped: return .storeRefused
                case .wait:
                    await withCheckedContinuation { continuation in
                        let isReady = state.withLock { state in
                            guard state.queue.isEmpty, state.isComplete == nil, !state.isDropped else { return true }
                            state.pump = continuation
                            return false
                        }
                        if isReady { continuation.resume() }
                    }
                }
            }
        } catch let refusal as CacheStatus.Refusal {
            // The store works, and does not keep this entry.
            return refusal
        } catch {
            if !state.withLock(\.isDropped) {
                // After the entry was dropped, any error of the writer is expected.
                tee.runtime.failed("write an entry", error, tee.request, reads: false)
            }
            return .storeFailed
        }
    }

    private func nextStep() -> Step {
        state.withLock { state in
            if state.isDropped { return .dropped }
            if let isComplete = state.isComplete, !isComplete,
                tee.write.finished(receivedBytes: state.receivedBytes, isComplete: false) == nil
            {
                return .end(receivedBytes: state.receivedBytes, isComplete: false)
            }
            if let first = state.queue.popFirst() {
                // Each write needs a change of threads, so the pump joins several chunks in one write.
                var (chunks, bytes) = ([first], first.count)
                while bytes + Self.pieceLimitBytes <= Self.batchLimitBytes, let next = state.queue.popFirst() {
                    chunks.append(next)
                    bytes += next.count
                }
                return .write(chunks)
            }
            guard let isComplete = state.isComplete else { return .wait }
            return .end(receivedBytes: state.receivedBytes, isComplete: isComplete)
        }
    }

    private static func joined(_ chunks: [Data]) -> Data {
        if chunks.count == 1 { return chunks[0] }
        var bytes = Data(capacity: chunks.reduce(0) { $0 + $1.count })
        for chunk in chunks { bytes.append(chunk) }
        return bytes
    }

    /// Releases the reserved bytes of a write that has ended, and resumes the reader.
    private func written(_ bytes: Int) {
        tee.runtime.store.work.waiting.release(bytes)
        let reader = state.withLock { state in
            state.reservedBytes -= bytes
            return state.reader.take()
        }
        reader?.resume()
    }

    /// Copies stored bytes. Returns false if the stored bytes have disappeared, or the new entry was dropped.
    private func copy(_ piece: CachePiece, to writer: any CacheWriter) async throws -> Bool {
        guard let source = try await tee.runtime.store.body(of: piece.entry.id, offsets: piece.offsets) else { return false }
        defer { source.abandon() }
        while let chunk = try await source.next() {
            if state.withLock(\.isDropped) { return false }
            try await writer.write(chunk)
        }
        return true
    }
}
