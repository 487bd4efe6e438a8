#if SQLite
internal import ErrandCore
internal import Synchronization

/// A list of the parts in which a body is stored. Each part has a checksum, and is sealed alone if the store has a ``CacheSealing``.
struct BodyFrames: Sendable {
    /// A part of a body.
    struct Frame: Sendable {
        /// The number of bytes of the body in this part.
        let contentBytes: Int
        /// The number of bytes of this part on the disk.
        let storedBytes: Int
        let checksum: UInt32
    }

    /// The largest part: 128 KiB.
    static let limitBytes = 128 * 1024

    private static let encodedFrameBytes = 12

    /// Returns the number of bytes of a body and of the list of its parts, if the parts are not sealed.
    static func bytes(of contentBytes: Int64) -> Int64 {
        let (sum, overflows) = contentBytes.addingReportingOverflow((contentBytes / Int64(limitBytes) + 1) * Int64(encodedFrameBytes))
        return overflows ? .max / 2 : sum
    }

    var frames: [Frame] = []

    /// The number of bytes of the body.
    var contentBytes: Int64 { frames.reduce(0) { $0 + Int64($1.contentBytes) } }
    /// The number of bytes on the disk.
    var storedBytes: Int64 { frames.reduce(0) { $0 + Int64($1.storedBytes) } }

    var encoded: Data {
        var data = Data(capacity: frames.count * Self.encodedFrameBytes)
        for frame in frames {
            for number in [UInt32(frame.contentBytes), UInt32(frame.storedBytes), frame.checksum] {
                withUnsafeBytes(of: number.littleEndian) { data.append(contentsOf: $0) }
            }
        }
        return data
    }

    init() {}

    /// - Throws: ``StoredPiece/Damaged``.
    init(encoded data: Data) throws {
        let octets = [UInt8](data)
        guard octets.count % Self.encodedFrameBytes == 0 else { throw StoredPiece.Damaged() }
        func number(_ index: Int) -> UInt32 { (0..<4).reduce(0) { $0 | UInt32(octets[index + $1]) << (8 * $1) } }
        for index in stride(from: 0, to: octets.count, by: Self.encodedFrameBytes) {
            let (content, stored) = (Int(number(index)), Int(number(index + 4)))
            guard (1...Self.limitBytes).contains(content), stored > 0, stored <= Self.limitBytes * 2 else { throw StoredPiece.Damaged() }
            frames.append(Frame(contentBytes: content, storedBytes: stored, checksum: number(index + 8)))
        }
    }
}

/// The file to which a body is written that is too large for the database. All calls block, except ``close()``.
///
/// The file has a lock until it is closed. A process that finds a file without a lock and without an entry removes the file.
final class BodyFile: Sendable {
    private struct State {
        var frames = BodyFrames()
        var offset: Int64 = 0
        /// The bytes of the current part that are not sealed yet.
        var unsealed = Data()
        /// The checksum and the length of the current part, if parts are not sealed.
        var sum: CRC32?
        var frameBytes = 0
    }

    let number: Int64
    private let key: [UInt8]
    private let file: PartialFile
    private let sealing: CacheSealing?
    private let state = Mutex(State())

    /// Creates the file.
    ///
    /// - Throws: `FileWriteError`.
    init(number: Int64, key: [UInt8], in folder: StoreFolder, sealing: CacheSealing?, calls: FileCalls) throws {
        (self.number, self.key, self.sealing) = (number, key, sealing)
        let path = folder.file(Self.name(of: number))
        let file: PartialFile
        do throws(FileWriteError) {
            file = try PartialFile(path: path, .new, calls: calls)
        } catch {
            // A person or another process may have removed the folder.
            try folder.create()
            file = try PartialFile(path: path, .new, calls: calls)
        }
        // Between the creation and the lock, another process may have removed the file as a leftover.
        guard try file.lock() else { throw FileWriteError(path: path, operation: "lock", code: 0, reason: "it has just been removed") }
        self.file = file
    }

    /// The name of the file of a number.
    static func name(of number: Int64) -> String {
        let digits = String(UInt64(bitPattern: number), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    private func place(_ index: Int) -> StoredPiece.Place { StoredPiece.Place(number: number, key: key, index: Int32(index)) }

    /// Appends bytes.
    ///
    /// - Throws: `FileWriteError`; the errors of `seal`.
    func append(_ chunk: Data) throws {
        try state.withLock { state in
            var rest = chunk[...]
            while !rest.isEmpty {
                if let sealing {
                    let piece = rest.prefix(BodyFrames.limitBytes - state.unsealed.count)
                    state.unsealed.append(piece)
                    rest = rest.dropFirst(piece.count)
                    if state.unsealed.count == BodyFrames.limitBytes { try writeSealed(&state, sealing) }
                } else {
                    let piece = rest.prefix(BodyFrames.limitBytes - state.frameBytes)
                    try file.write(piece, at: state.offset)
                    var sum = state.sum ?? Self.sum(of: place(state.frames.frames.count))
                    sum.update(piece)
                    (state.sum, state.offset) = (sum, state.offset + Int64(piece.count))
                    state.frameBytes += piece.count
                    rest = rest.dropFirst(piece.count)
                    if state.frameBytes == BodyFrames.limitBytes { Self.endFrame(&state) }
                }
            }
        }
    }

    private static func sum(of place: StoredPiece.Place) -> CRC32 {
        var sum = CRC32()
        sum.update(place.octets)
        return sum
    }

    private static func endFrame(_ state: inout State) {
        guard let sum = state.sum.take() else { return }
        state.frames.frames.append(
            .init(contentBytes: state.frameBytes, storedBytes: state.frameBytes, checksum: sum.value))
        state.frameBytes = 0
    }

    private func writeSealed(_ state: inout State, _ sealing: CacheSealing) throws {
        guard !state.unsealed.isEmpty else { return }
        let piece = try StoredPiece(state.unsealed, at: place(state.frames.frames.count), sealing: sealing)
        try file.write(piece.stored, at: state.offset)
        state.offset += Int64(piece.stored.count)
        state.frames.frames.append(
            .init(contentBytes: state.unsealed.count, storedBytes: piece.stored.count, checksum: piece.checksum))
        state.unsealed = Data()
    }

    /// Ends the last part. Returns all parts.
    ///
    /// - Throws: `FileWriteError`; the errors of `seal`.
    func finish() throws -> BodyFrames {
        try state.withLock { state in
            if let sealing { try writeSealed(&state, sealing) } else { Self.endFrame(&state) }
            return state.frames
        }
    }

    /// Closes the file, and releases its lock.
    func close() { file.close() }
}

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

    /// Opens the file, and reads the first bytes. Blocks.
    ///
    /// - Parameter damaged: called if a part is damaged.
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
        var place = place
        place = StoredPiece.Place(number: place.number, key: place.key, index: Int32(index))
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
