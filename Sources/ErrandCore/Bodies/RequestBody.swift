internal import Synchronization

/// What a request sends after its head: nothing, bytes, a file, or a stream.
///
/// It declares its length, if that is known, and how it can be sent again; retry, redirect, authentication and resumed uploads
/// ask before they resend. Files and streams are never loaded whole.
public struct RequestBody: Sendable {
    /// How a body can be sent again.
    public struct Replay: Sendable, Hashable, CustomStringConvertible {
        private let rawValue: Int
        /// Once only: reading it uses it up.
        public static let oneShot = Replay(rawValue: 0)
        /// As often as wanted, from its first byte.
        public static let restartable = Replay(rawValue: 1)
        /// As often as wanted, from any byte.
        public static let seekable = Replay(rawValue: 2)

        /// True unless it is ``oneShot``.
        public var canRestart: Bool { rawValue > 0 }
        /// True for ``seekable``.
        public var canSeek: Bool { rawValue > 1 }

        public var description: String { ["oneShot", "restartable", "seekable"][rawValue] }
    }

    private enum Storage: Sendable {
        case empty
        case data(Data)
        case file(path: String, range: Range<Int64>, isWhole: Bool)
        case stream(@Sendable (_ offset: Int64) async throws -> any BodySource)
    }

    private let storage: Storage
    /// In bytes; nil where it is not known before the end, and the body is sent in chunks.
    public let length: Int64?
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

    /// A body over the sources of this one. Where one of them was opened, the other can't be.
    func replacingSource(
        length: Int64?, replay: Replay, _ wrap: @escaping @Sendable (any BodySource, _ offset: Int64) -> any BodySource
    ) -> RequestBody {
        let base = self
        return RequestBody(
            .stream { wrap(try await base.source(from: $0), $0) }, length: length, replay: replay, opened: replay.canRestart ? nil : opened)
    }

    /// No body. Its length is zero.
    public static let empty = RequestBody(.empty, length: 0, replay: .seekable)

    /// Bytes that are in memory.
    public static func data(_ data: Data) -> RequestBody { RequestBody(.data(data), length: Int64(data.count), replay: .seekable) }

    /// Text, as UTF-8.
    public static func text(_ text: String) -> RequestBody { .data(Data(text.utf8)) }

    /// A file, or a part of it, read while it is sent.
    ///
    /// - Parameters:
    ///   - path: a regular file. Its length is taken now; if it is shorter when it is sent, the request fails.
    ///   - range: the bytes to send; nil means all.
    /// - Throws: ``FileReadError`` if there is no such file or `range` reaches past its end.
    public static func file(atPath path: String, range: Range<Int64>? = nil) throws -> RequestBody {
        let length = try ReadOnlyFile.lengthBytes(path: path)
        let isWhole = range == nil
        let range = range ?? 0..<length
        guard range.lowerBound >= 0, range.upperBound <= length else {
            throw FileReadError(path: path, operation: "read the bytes \(range) of its \(length)", code: 22)
        }
        return RequestBody(
            .file(path: path, range: range, isWhole: isWhole), length: range.upperBound - range.lowerBound, replay: .seekable)
    }

    /// A file, read while it is sent. See ``file(atPath:range:)``.
    public static func file(_ url: URL, range: Range<Int64>? = nil) throws -> RequestBody {
        try file(atPath: url.path, range: range)
    }

    /// A stream that can be read once.
    ///
    /// - Parameters:
    ///   - sequence: its chunks; empty ones are passed over.
    ///   - length: in bytes, if it is known. Nil and negative numbers, such as Foundation's -1, mean that it is not. A stream that yields another number of bytes fails the request.
    public static func stream<Chunks: AsyncSequence & Sendable>(
        _ sequence: Chunks, length: Int64? = nil
    ) -> RequestBody where Chunks.Element == Data {
        RequestBody(.stream { _ in SequenceBodySource(sequence) }, length: length, replay: .oneShot)
    }

    /// A stream that is made anew each time it is sent.
    ///
    /// - Parameters:
    ///   - length: in bytes, if it is known. Nil and negative numbers, such as Foundation's -1, mean that it is not.
    ///   - replay: ``Replay/restartable`` (then `open` is called with 0 alone) or ``Replay/seekable``.
    ///   - open: makes a source that begins at the given offset.
    public static func stream(
        length: Int64? = nil, replay: Replay = .restartable, open: @escaping @Sendable (_ offset: Int64) async throws -> any BodySource
    ) -> RequestBody {
        RequestBody(.stream(open), length: length, replay: replay)
    }

    /// Whether it can be opened: false for a body that can be read once only, and was.
    public var canBeSent: Bool { opened.map { !$0.isClaimed } ?? true }

    /// True if there is nothing to send.
    public var isEmpty: Bool { length == 0 }

    /// The bytes, where they are in memory; nil for files and streams.
    public var bytes: Data? {
        switch storage {
        case .empty: Data()
        case .data(let data): data
        case .file, .stream: nil
        }
    }

    /// The file, where it is one; a range of nil stands for all of it.
    package var file: (path: String, range: Range<Int64>?)? {
        if case .file(let path, let range, let isWhole) = storage { (path, isWhole ? nil : range) } else { nil }
    }

    /// This body, each of whose sources tells `watch` when it is asked and when it is held. Bytes in memory stay what they are.
    func watched(by watch: PhaseWatch) -> RequestBody {
        guard bytes == nil else { return self }
        let body = self
        return RequestBody(
            .stream { WatchedBodySource(base: try await body.open(from: $0), watch: watch) }, length: length, replay: replay)
    }

    /// A source of the body's bytes from `offset` on: what a transport reads.
    ///
    /// - Precondition: `offset` is 0, unless ``replay`` is ``Replay/seekable``; then it is at most the body's length.
    /// - Throws: ``BodyAlreadyUsedError`` if it can be read once only and was; what opening a file or a stream throws.
    public func open(from offset: Int64 = 0) async throws -> any BodySource {
        precondition(offset == 0 || replay.canSeek, "offset must be 0 for a body that can't seek, whose replay is \(replay) (is \(offset))")
        if let opened, !opened.claim() { throw BodyAlreadyUsedError() }
        return try await source(from: offset)
    }

    private func source(from offset: Int64) async throws -> any BodySource {
        switch storage {
        case .empty: return DataBodySource(Data())
        case .data(let data): return DataBodySource(data.dropFirst(Int(offset)))
        case .file(let path, let range, _):
            return try FileBodySource(path: path, from: min(range.lowerBound + offset, range.upperBound), to: range.upperBound)
        case .stream(let open): return try await open(offset)
        }
    }
}

extension RequestBody: CustomStringConvertible, CustomReflectable {
    /// Kind and length, never the bytes.
    public var description: String {
        let size = length.map { "\($0) bytes" } ?? "unknown length"
        return switch storage {
        case .empty: "empty"
        case .data: size
        case .file: "file, \(size)"
        case .stream: "stream, \(size), \(replay)"
        }
    }

    public var customMirror: Mirror { Mirror(self, children: ["body": description]) }
}

private final class OpenedOnce: Sendable {
    private let used = Atomic(false)
    var isClaimed: Bool { used.load(ordering: .acquiring) }
    /// True for the first caller alone.
    func claim() -> Bool { !used.exchange(true, ordering: .acquiringAndReleasing) }
}
