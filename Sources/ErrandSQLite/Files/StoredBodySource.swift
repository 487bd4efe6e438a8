#if SQLite
internal import ErrandCore
internal import Synchronization

/// A source of the bytes of a stored body in a file. Each part is checked before its bytes are returned.
final class StoredBodySource: BodySource {
    private struct State {
        var file: ReadOnlyFile?
        /// The index of the next part, and its offsets in the file and in the body.
        var frame = 0
        var fileOffset: Int64 = 0
        var offset: Int64 = 0
        /// The first bytes, which were read in advance.
        var first: Data?
    }

    private let path: String
    private let frames: [BodyFrames.Frame]
    private let place: StoredPiece.Place
    private let offsets: Range<Int64>
    private let sealing: CacheSealing?
    private let calls: FileCalls
    private let damaged: @Sendable () -> Void
    private let state: Mutex<State>

    /// Opens the file, and reads the first bytes. This initializer blocks.
    ///
    /// - Parameter damaged: a closure that is called if a part after the first part can't be read.
    /// - Throws: `FileReadError`; ``StoredPiece/Damaged``; the errors of `open`.
    init(
        path: String, frames: BodyFrames, place: StoredPiece.Place, offsets: Range<Int64>, sealing: CacheSealing?, calls: FileCalls,
        damaged: @escaping @Sendable () -> Void
    ) throws {
        (self.path, self.frames, self.place, self.offsets) = (path, frames.frames, place, offsets)
        (self.sealing, self.calls, self.damaged) = (sealing, calls, damaged)
        let file = try ReadOnlyFile(path: path)
        guard try file.lengthBytes(path: path) == frames.storedBytes, offsets.upperBound <= frames.contentBytes else {
            throw StoredPiece.Damaged()
        }
        var state = State(file: file)
        // Parts before the range are not read.
        while state.frame < frames.frames.count {
            let frame = frames.frames[state.frame]
            guard state.offset + Int64(frame.contentBytes) <= offsets.lowerBound else { break }
            state.offset += Int64(frame.contentBytes)
            state.fileOffset += Int64(frame.storedBytes)
            state.frame += 1
        }
        self.state = Mutex(state)
        let chunk = try readNext()
        self.state.withLock { $0.first = chunk }
    }

    /// Reads the next part. Returns `nil` at the end.
    private func readNext() throws -> Data? {
        let (file, index, fileOffset, offset) = state.withLock { ($0.file, $0.frame, $0.fileOffset, $0.offset) }
        guard let file, offset < offsets.upperBound, !offsets.isEmpty, index < frames.count else { return nil }
        let frame = frames[index]
        var stored = Data()
        while stored.count < frame.storedBytes {
            let piece = try file.read(
                count: frame.storedBytes - stored.count, at: fileOffset + Int64(stored.count), path: path, calls: calls)
            if piece.isEmpty { throw StoredPiece.Damaged() }
            if stored.isEmpty { stored = piece } else { stored.append(piece) }
        }
        let place = place.with(index: Int32(index))
        let content = try StoredPiece(stored: stored, checksum: frame.checksum).content(at: place, sealing: sealing)
        guard content.count == frame.contentBytes else { throw StoredPiece.Damaged() }
        state.withLock { state in
            state.frame += 1
            state.fileOffset += Int64(frame.storedBytes)
            state.offset += Int64(frame.contentBytes)
        }
        let (lower, upper) = (max(0, offsets.lowerBound - offset), min(Int64(content.count), offsets.upperBound - offset))
        if lower == 0, upper == Int64(content.count) { return content }
        return Data(content[content.startIndex + Int(lower)..<content.startIndex + Int(upper)])
    }

    func next() async throws -> Data? {
        try Task.checkCancellation()
        if let first = state.withLock({ $0.first.take() }) { return first }
        guard state.withLock({ $0.file != nil && $0.offset < offsets.upperBound }) else {
            abandon()
            return nil
        }
        do {
            return try await BlockingWork.runUntilCancelled { try self.readNext() }
        } catch {
            abandon()
            if !(error is CancellationError) { damaged() }
            throw error
        }
    }

    func abandon() {
        let file = state.withLock { state in
            state.first = nil
            return state.file.take()
        }
        _ = file  // closed here, outside the lock
    }
}
#endif
