internal import ErrandCore
internal import Synchronization

/// Returns when the task is cancelled.
func waitForCancellation() async throws {
    let stream = AsyncStream<Never> { _ in }
    for await _ in stream {}
}

/// Chunks that come when they are read.
final class ChunksBodySource: BodySource {
    private let rest: Mutex<ArraySlice<Data>>
    private let failure: (any Error)?

    init(_ chunks: [Data], failure: (any Error)? = nil) {
        rest = Mutex(chunks.filter { !$0.isEmpty }[...])
        self.failure = failure
    }

    func next() async throws -> Data? {
        if let chunk = rest.withLock({ $0.popFirst() }) { return chunk }
        if let failure { throw failure }
        return nil
    }

    func abandon() { rest.withLock { $0 = [] } }
}

/// A body in slices, each as late as the rate has it.
final class PacedBodySource: BodySource {
    private struct State {
        var rest = Data()
        var given = 0
    }

    private let base: any BodySource
    private let bytesPerSecond: Int
    private let clock: any Clock<Duration>
    private let state = Mutex(State())

    init(_ base: any BodySource, bytesPerSecond: Int, clock: any Clock<Duration>) {
        (self.base, self.bytesPerSecond, self.clock) = (base, bytesPerSecond, clock)
    }

    /// Twenty slices a second, none above 64 KiB.
    private var sliceBytes: Int { max(1, min(bytesPerSecond / 20, 64 * 1024)) }

    func next() async throws -> Data? {
        if state.withLock({ $0.rest.isEmpty }) {
            guard let chunk = try await base.next() else { return nil }
            state.withLock { $0.rest = chunk }
        }
        let slice = state.withLock { state in
            let slice = Data(state.rest.prefix(sliceBytes))
            state.rest = state.rest.dropFirst(slice.count)
            return slice
        }
        try await clock.sleep(for: (.seconds(1) * slice.count / bytesPerSecond).bounded)
        return slice
    }

    func abandon() {
        state.withLock { $0.rest = Data() }
        base.abandon()
    }

    var trailers: HTTPFields? { base.trailers }
}

/// A body up to a byte, and then a failure.
final class BreakingBodySource: BodySource {
    private let base: any BodySource
    private let failure: any Error
    private let left: Mutex<Int>

    init(_ base: any BodySource, afterBytes count: Int, failure: any Error) {
        (self.base, self.failure) = (base, failure)
        left = Mutex(count)
    }

    func next() async throws -> Data? {
        guard left.withLock({ $0 > 0 }) else { throw failure }
        guard let chunk = try await base.next() else { throw failure }
        return left.withLock { left in
            let given = chunk.prefix(left)
            left -= given.count
            return Data(given)
        }
    }

    func abandon() { base.abandon() }
}

/// A body that is watched: each piece, its end, and that nobody reads on. The end is told once.
final class ObservedBodySource: BodySource {
    private let base: any BodySource
    private let ownTrailers: HTTPFields?
    private let isOver = Mutex(false)
    private let onChunk: @Sendable (Data) -> Void
    private let onEnd: @Sendable (ExchangeLifetime.End) -> Void

    /// - Parameter trailers: in place of the body's own; nil leaves those.
    init(
        _ base: any BodySource, trailers: HTTPFields? = nil, onChunk: @escaping @Sendable (Data) -> Void = { _ in },
        onEnd: @escaping @Sendable (ExchangeLifetime.End) -> Void
    ) {
        (self.base, ownTrailers, self.onChunk, self.onEnd) = (base, trailers, onChunk, onEnd)
    }

    var trailers: HTTPFields? { ownTrailers ?? base.trailers }

    func next() async throws -> Data? {
        do {
            try Task.checkCancellation()
            if let chunk = try await base.next() {
                onChunk(chunk)
                return chunk
            }
        } catch {
            end(.failed(error))
            base.abandon()
            throw error
        }
        end(.complete)
        return nil
    }

    func abandon() {
        end(.abandoned)
        base.abandon()
    }

    private func end(_ end: ExchangeLifetime.End) {
        let isFirst = isOver.withLock { isOver in
            defer { isOver = true }
            return !isOver
        }
        if isFirst { onEnd(end) }
    }
}
