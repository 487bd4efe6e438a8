internal import Synchronization

/// A source of a file or a part of it. It reads 128 KiB at a time, and keeps no more in memory.
final class FileBodySource: BodySource {
    static let chunkBytes = 128 * 1024

    private struct State {
        var file: ReadOnlyFile?
        var offset: Int64
        let end: Int64
    }

    private let path: String
    private let state: Mutex<State>

    /// - Throws: ``FileReadError`` if the file can't be opened.
    init(path: String, from offset: Int64, to end: Int64) throws {
        self.path = path
        state = Mutex(State(file: try ReadOnlyFile(path: path), offset: offset, end: end))
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
        let chunk = try file.read(count: count, at: offset, path: path)
        guard !chunk.isEmpty else {
            // The length was declared to the server: a file that has become shorter can't be sent completely.
            throw FileReadError(path: path, operation: "read (the file became shorter)", code: 5)
        }
        state.withLock { $0.offset += Int64(chunk.count) }
        return chunk
    }

    func abandon() {
        let file = state.withLock { state in
            let file = state.file
            state.file = nil
            return file
        }
        _ = file  // closed here, outside the lock
    }
}
