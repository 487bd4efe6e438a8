internal import Dispatch
internal import ErrandCore
internal import Synchronization

/// Passes the chunks of a body from a task to a thread that waits for chunks. The buffer holds one chunk at a time.
final class UploadBuffer: UploadSink {
    private struct State {
        var chunk = Data()
        var end: End?
        /// The task that waits until the chunk was read.
        var writer: CheckedContinuation<Void, any Error>?
        var isReaderWaiting = false
    }

    private enum End {
        case complete
        /// The body has failed or was released. Reading fails.
        case stopped
    }

    enum Reading: Sendable, Equatable {
        case bytes(Int)
        case end
        case failure
    }

    private let state = Mutex(State())
    private let wakeUp = DispatchSemaphore(value: 0)

    /// Writes a chunk. Returns when the chunk was read.
    ///
    /// - Throws: ``UploadSinkClosedError`` if the buffer was stopped.
    func write(_ chunk: Data) async throws {
        guard !chunk.isEmpty else { return }
        try await withCheckedThrowingContinuation { continuation in
            let (isOver, mustWake) = state.withLock { state in
                if state.end != nil { return (true, false) }
                (state.chunk, state.writer) = (chunk, continuation)
                defer { state.isReaderWaiting = false }
                return (false, state.isReaderWaiting)
            }
            if isOver { return continuation.resume(throwing: UploadSinkClosedError()) }
            if mustWake { wakeUp.signal() }
        }
    }

    func finish() { end(.complete) }
    func stop() { end(.stopped) }

    /// Ends the body. Only the first call has an effect.
    private func end(_ end: End) {
        let (writer, mustWake) = state.withLock { state -> (CheckedContinuation<Void, any Error>?, Bool) in
            if state.end != nil { return (nil, false) }
            state.end = end
            if case .stopped = end { state.chunk = Data() }
            defer { state.isReaderWaiting = false }
            return (state.writer.take(), state.isReaderWaiting)
        }
        writer?.resume(throwing: UploadSinkClosedError())
        if mustWake { wakeUp.signal() }
    }

    /// Copies the next bytes. Blocks the thread until bytes are available, or until the body has ended.
    func read(into target: UnsafeMutableBufferPointer<UInt8>) -> Reading {
        while true {
            let (reading, writer) = state.withLock { state -> (Reading?, CheckedContinuation<Void, any Error>?) in
                if !state.chunk.isEmpty {
                    let count = min(target.count, state.chunk.count)
                    state.chunk.copyBytes(to: target, count: count)
                    state.chunk = state.chunk.dropFirst(count)
                    return (.bytes(count), state.chunk.isEmpty ? state.writer.take() : nil)
                }
                switch state.end {
                case .complete?: return (.end, nil)
                case .stopped?: return (.failure, nil)
                case nil:
                    state.isReaderWaiting = true
                    return (nil, nil)
                }
            }
            writer?.resume()
            if let reading { return reading }
            wakeUp.wait()
        }
    }
}
