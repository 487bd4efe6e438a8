#if SQLite
internal import ErrandCore
internal import Synchronization

/// The file of a body that is too large for the database. All calls block, except ``close()``.
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
        guard try file.lock() else { throw FileWriteError.removed(path, operation: "lock") }
        self.file = file
    }

    /// The name of the file of a number.
    static func name(of number: Int64) -> String {
        let digits = String(UInt64(bitPattern: number), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Returns the number of a name; `nil` for a name that ``name(of:)`` does not return.
    static func number(of name: String) -> Int64? {
        guard name.utf8.count == 16, let bits = UInt64(name, radix: 16) else { return nil }
        let number = Int64(bitPattern: bits)
        return Self.name(of: number) == name ? number : nil
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
#endif
