internal import Synchronization

/// A source of the bytes of a file, or of a part of a file. The source reads 128 KiB at a time, and keeps at most 128 KiB in memory.
///
/// The source does not read on Swift's cooperative threads. If the reader is cancelled while the disk delays a read, the reader
/// gets `CancellationError` immediately. The read continues to its end. If the source was abandoned, the file is closed at the
/// end of the read.
final class FileBodySource: BodySource {
    static let chunkBytes = 128 * 1024

    private struct State {
        var file: ReadOnlyFile?
        var offset: Int64
        let end: Int64
    }

    private let path: String
    private let calls: FileCalls
    private let state: Mutex<State>

    init(_ file: ReadOnlyFile, path: String, from offset: Int64, to end: Int64, calls: FileCalls = .system) {
        (self.path, self.calls) = (path, calls)
        state = Mutex(State(file: file, offset: offset, end: end))
    }

    func next() async throws -> Data? {
        try Task.checkCancellation()
        let (file, offset, count) = state.withLock { state in
            (state.file, state.offset, Int(min(Int64(Self.chunkBytes), state.end - state.offset)))
        }
        guard let file, count > 0 else {
            abandon()
            return nil
        }
        let chunk = try await BlockingWork.runUntilCancelled { [path, calls] in
            try file.read(count: count, at: offset, path: path, calls: calls)
        }
        try Task.checkCancellation()
        guard !chunk.isEmpty else {
            // The length was declared to the server. If the file has become shorter, the declared bytes can't be sent.
            throw FileReadError.changed(path, reason: "the file has become shorter since the request was made")
        }
        state.withLock { $0.offset += Int64(chunk.count) }
        return chunk
    }

    func abandon() {
        let file = state.withLock { $0.file.take() }
        _ = file  // closed here, outside the lock
    }
}
