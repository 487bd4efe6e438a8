internal import Synchronization

/// The body of a request: nothing, bytes, a file, or a stream.
///
/// ```swift
/// RequestBody.text("hello")
/// try RequestBody.json(["name": "Ada"])                       // sets Content-Type
/// try RequestBody.file(atPath: "/tmp/photo.jpeg")
/// RequestBody.stream(chunks, length: 4096)
/// ```
///
/// A body declares its length, if the length is known, and its ability to be sent again. Retry, redirects, authentication and resumed
/// uploads check this declaration before they send the body again. Files and streams are read piece by piece while the body is sent.
public struct RequestBody: Sendable {
    /// The ability of a body to be sent again.
    public struct Replay: Sendable, Hashable, CustomStringConvertible {
        private let rawValue: Int
        /// The body can be sent only once.
        public static let oneShot = Replay(rawValue: 0)
        /// The body can be sent any number of times, from its first byte.
        public static let restartable = Replay(rawValue: 1)
        /// The body can be sent any number of times, from any byte.
        public static let seekable = Replay(rawValue: 2)

        /// Whether the body can be sent again: false only for ``oneShot``.
        public var canRestart: Bool { rawValue > 0 }
        /// Whether the body can be sent from any byte: true for ``seekable``.
        public var canSeek: Bool { rawValue > 1 }

        public var description: String { ["oneShot", "restartable", "seekable"][rawValue] }
    }

    private enum Storage: Sendable {
        case empty
        case data(Data)
        case file(path: String, range: Range<Int64>, isWhole: Bool)
        case stream(@Sendable (_ offset: Int64) async throws -> any BodySource)
        /// The bytes of a file, read through layers that observe the bytes and change nothing.
        indirect case observedFile(
            path: String, range: Range<Int64>, isWhole: Bool, open: @Sendable (_ offset: Int64) async throws -> any BodySource)
        /// A body with a media type.
        indirect case typed(Storage, contentType: String)
    }

    private let storage: Storage
    /// The length in bytes; `nil` if the length is unknown before the end. A body of unknown length is sent in chunks.
    public let length: Int64?
    /// The ability of the body to be sent again.
    public let replay: Replay
    private let opened: OpenedOnce?

    private init(_ storage: Storage, length: Int64?, replay: Replay) {
        self.init(storage, length: length, replay: replay, opened: replay.canRestart ? nil : OpenedOnce())
    }

    private init(_ storage: Storage, length: Int64?, replay: Replay, opened: OpenedOnce?) {
        self.storage = storage
        self.length = length.flatMap { $0 >= 0 ? $0 : nil }
        self.replay = replay
        self.opened = opened
    }

    /// Returns a body that reads each source of this body through `wrap`. If this body is one-shot, only one of the two bodies can be
    /// opened.
    ///
    /// - Parameter keepsBytes: whether the new body has the same bytes as this body. If true, the body of a file keeps the path
    ///   of the file.
    func replacingSource(
        length: Int64?, replay: Replay, keepsBytes: Bool = false,
        _ wrap: @escaping @Sendable (any BodySource, _ offset: Int64) -> any BodySource
    ) -> RequestBody {
        let base = self
        let open: @Sendable (Int64) async throws -> any BodySource = { wrap(try await base.source(from: $0), $0) }
        let replaced = RequestBody(
            keepsBytes ? observing(open) : .stream(open), length: length, replay: replay, opened: replay.canRestart ? nil : opened)
        return replaced.typed(as: contentType)
    }

    /// The media type, which a request takes as its `Content-Type`; `nil` for a body without a type.
    var contentType: String? {
        if case .typed(_, let contentType) = storage { contentType } else { nil }
    }

    /// This body without its media type.
    var untyped: RequestBody {
        guard case .typed(let base, _) = storage else { return self }
        return RequestBody(base, length: length, replay: replay, opened: opened)
    }

    /// Returns this body with a media type. If the type is `nil`, the body is unchanged.
    func typed(as contentType: String?) -> RequestBody {
        guard let contentType else { return self }
        return RequestBody(.typed(untyped.storage, contentType: contentType), length: length, replay: replay, opened: opened)
    }

    /// Returns storage with the bytes of this body, which `open` reads. If the bytes are in a file, the storage keeps the path of the file.
    private func observing(_ open: @escaping @Sendable (Int64) async throws -> any BodySource) -> Storage {
        switch storage {
        case .file(let path, let range, let isWhole), .observedFile(let path, let range, let isWhole, _):
            .observedFile(path: path, range: range, isWhole: isWhole, open: open)
        case .empty, .data, .stream: .stream(open)
        case .typed: untyped.observing(open)
        }
    }

    /// No body, with a length of zero.
    public static let empty = RequestBody(.empty, length: 0, replay: .seekable)

    /// Returns a body of bytes in memory.
    ///
    /// - Parameter contentType: the value of `Content-Type`, unless the request has the field. `nil`, the default: the body does not
    ///   set the field.
    public static func data(_ data: Data, contentType: String? = nil) -> RequestBody {
        RequestBody(.data(data), length: Int64(data.count), replay: .seekable).typed(as: contentType)
    }

    /// Returns a body of text, encoded as UTF-8.
    ///
    /// - Parameter contentType: the value of `Content-Type`, unless the request has the field. `nil`, the default: the body does not
    ///   set the field.
    public static func text(_ text: String, contentType: String? = nil) -> RequestBody {
        .data(Data(text.utf8), contentType: contentType)
    }

    /// Returns a body that reads a file, or a part of a file, while the body is sent.
    ///
    /// The body reads 128 KiB of the file at a time. The reads do not block Swift's cooperative threads.
    ///
    /// - Parameters:
    ///   - path: the path of a regular file. This function reads the length of the file. If the file is shorter when the body is sent, the
    ///     request fails.
    ///   - range: the bytes to send; `nil`, the default, means the whole file.
    ///   - contentType: the value of `Content-Type`, unless the request has the field. `nil`, the default: the body does not set the
    ///     field.
    /// - Throws: ``FileReadError`` if the path does not lead to a regular file, or if `range` is not within the file.
    public static func file(atPath path: String, range: Range<Int64>? = nil, contentType: String? = nil) throws -> RequestBody {
        let length = try ReadOnlyFile.lengthBytes(path: path)
        let isWhole = range == nil
        let range = range ?? 0..<length
        guard range.lowerBound >= 0, range.upperBound <= length else {
            throw FileReadError.invalid(
                path, reason: "the range \(range.lowerBound)..<\(range.upperBound) is not within its \(length.counted("byte"))")
        }
        let body = RequestBody(
            .file(path: path, range: range, isWhole: isWhole), length: range.upperBound - range.lowerBound, replay: .seekable)
        return body.typed(as: contentType)
    }

    /// Returns a body that reads a file, or a part of a file, while the body is sent. See ``file(atPath:range:contentType:)``.
    ///
    /// - Throws: ``FileReadError``, also if `url` is not a file URL.
    public static func file(_ url: URL, range: Range<Int64>? = nil, contentType: String? = nil) throws -> RequestBody {
        try file(atPath: FileReadError.path(of: url), range: range, contentType: contentType)
    }

    /// Returns a body from a stream. The body can be sent only once.
    ///
    /// - Parameters:
    ///   - sequence: the chunks; empty chunks are skipped.
    ///   - length: the length in bytes. `nil`, the default, means that the length is unknown. A negative number, such as
    ///     Foundation's -1, also means an unknown length. If the number of bytes in the stream differs from `length`, the
    ///     request fails.
    public static func stream<Chunks: AsyncSequence & Sendable>(
        _ sequence: Chunks, length: Int64? = nil
    ) -> RequestBody where Chunks.Element == Data {
        RequestBody(.stream { _ in SequenceBodySource(sequence) }, length: length, replay: .oneShot)
    }

    /// Returns a body from a stream. The stream is opened each time the body is sent.
    ///
    /// - Parameters:
    ///   - length: the length in bytes. `nil`, the default, means that the length is unknown. A negative number, such as
    ///     Foundation's -1, also means an unknown length.
    ///   - replay: ``Replay/restartable``, the default (`open` is called only with 0), or ``Replay/seekable``.
    ///   - open: returns a source that begins at the given offset, in bytes.
    public static func stream(
        length: Int64? = nil, replay: Replay = .restartable, open: @escaping @Sendable (_ offset: Int64) async throws -> any BodySource
    ) -> RequestBody {
        RequestBody(.stream(open), length: length, replay: replay)
    }

    /// Whether the body can be opened: false if the body is one-shot and was opened before.
    public var canBeSent: Bool { opened.map { !$0.isClaimed } ?? true }

    /// Whether there is nothing to send: true if the length is zero.
    public var isEmpty: Bool { length == 0 }

    /// The whole body, if it is in memory; `nil` for files and streams.
    public var bufferedData: Data? {
        switch storage {
        case .empty: Data()
        case .data(let data): data
        case .file, .stream, .observedFile: nil
        case .typed: untyped.bufferedData
        }
    }

    /// The file with the bytes of this body, even if the body reports its progress; `nil` if the bytes are not in a file. A range of `nil`
    /// means the whole file.
    package var file: (path: String, range: Range<Int64>?)? {
        switch storage {
        case .file(let path, let range, let isWhole), .observedFile(let path, let range, let isWhole, _): (path, isWhole ? nil : range)
        case .empty, .data, .stream: nil
        case .typed: untyped.file
        }
    }

    /// Returns this body, and reports to `watch` when a source of the body is being read, and when a chunk is being sent. A body in memory
    /// is returned unchanged.
    func watched(by watch: PhaseWatch) -> RequestBody {
        guard bufferedData == nil else { return self }
        let body = self
        return RequestBody(
            observing { WatchedBodySource(base: try await body.open(from: $0), watch: watch) }, length: length, replay: replay)
    }

    /// Opens a source of the body's bytes that begins at `offset`. For transports.
    ///
    /// - Parameter offset: the offset in bytes. If the body is not ``Replay/seekable``, the offset must be 0.
    /// - Throws: ``BodyAlreadyUsedError`` for a one-shot body that was opened before; the error of opening a file or a stream.
    public func open(from offset: Int64 = 0) async throws -> any BodySource {
        precondition(offset == 0 || replay.canSeek, "offset must be 0 for a body with the replay \(replay) (is \(offset))")
        if let opened, !opened.claim() { throw BodyAlreadyUsedError() }
        return try await source(from: offset)
    }

    private func source(from offset: Int64) async throws -> any BodySource {
        switch storage {
        case .empty: return DataBodySource(Data())
        case .data(let data): return DataBodySource(data.dropFirst(Int(offset)))
        case .file(let path, let range, _):
            let file = try await BlockingWork.runUntilCancelled { try ReadOnlyFile(path: path) }
            return FileBodySource(file, path: path, from: min(range.lowerBound + offset, range.upperBound), to: range.upperBound)
        case .stream(let open), .observedFile(_, _, _, let open): return try await open(offset)
        case .typed: return try await untyped.source(from: offset)
        }
    }
}

extension RequestBody: CustomStringConvertible, HidesStorage {
    /// The kind and the length, never the bytes.
    public var description: String {
        let size = length.map { $0.counted("byte") } ?? "unknown length"
        return switch storage {
        case .empty: "empty"
        case .data: size
        case .file, .observedFile: "file, \(size)"
        case .stream: "stream, \(size), \(replay)"
        case .typed: untyped.description
        }
    }
}

private final class OpenedOnce: Sendable {
    private let used = Atomic(false)
    var isClaimed: Bool { used.load(ordering: .acquiring) }
    /// Claims a one-shot body for its only reader. Returns true for the first caller only.
    func claim() -> Bool { !used.exchange(true, ordering: .acquiringAndReleasing) }
}
