internal import ErrandCore
internal import Synchronization

/// A body that is written in pieces. Each read returns one piece.
final class WrittenBody: BodySource {
    private struct State {
        var pieces: [Data] = []
        /// The number of pieces that were read.
        var taken = 0
        var isFinished = false
        var isAbandoned = false
        var reader: CheckedContinuation<Data?, any Error>?
    }

    private let state = Mutex(State())
    let trailers: HTTPFields?

    init(trailers: HTTPFields? = nil) { self.trailers = trailers }

    var isAbandoned: Bool { state.withLock(\.isAbandoned) }

    func write(_ text: String) { write(Data(text.utf8)) }

    func write(_ data: Data) {
        let reader = state.withLock { state in
            defer { state.reader = nil }
            if state.reader == nil { state.pieces.append(data) }
            return state.reader
        }
        reader?.resume(returning: data)
    }

    func finish() {
        let reader = state.withLock { state in
            state.isFinished = true
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(returning: nil)
    }

    func next() async throws -> Data? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<Data?, any Error>? in
                    if Task.isCancelled || state.isAbandoned { return .failure(CancellationError()) }
                    if state.taken < state.pieces.count {
                        defer { state.taken += 1 }
                        return .success(state.pieces[state.taken])
                    }
                    if state.isFinished { return .success(nil) }
                    state.reader = continuation
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            stop(abandoning: false)
        }
    }

    func abandon() { stop(abandoning: true) }

    private func stop(abandoning: Bool) {
        let reader = state.withLock { state in
            if abandoning { state.isAbandoned = true }
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(throwing: CancellationError())
    }
}

/// A source that calls closures.
struct ClosureSource: BodySource {
    let read: @Sendable () async throws -> Data?
    var onAbandon: @Sendable () -> Void = {}

    func next() async throws -> Data? { try await read() }
    func abandon() { onAbandon() }
}

/// Returns bytes without an early repetition.
func patternBytes(_ count: Int) -> Data {
    var state: UInt64 = 0x2545_F491_4F6C_DD1D
    var bytes = [UInt8]()
    bytes.reserveCapacity(count)
    for _ in 0..<count {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        bytes.append(UInt8(truncatingIfNeeded: state))
    }
    return Data(bytes)
}
