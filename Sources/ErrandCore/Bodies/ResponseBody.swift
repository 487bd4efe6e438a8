internal import Synchronization

/// The body of a response: bytes in memory, or a stream. It is read once, chunk by chunk, as fast as you take it.
///
/// ```swift
/// for try await chunk in response.body { file.write(chunk) }     // a stream
/// let data = try await response.body.collect(upTo: 1_000_000)    // all of it, or an error
/// for try await line in response.body.lines { … }                // text, empty lines kept
/// ```
///
/// Bytes in memory are read once as well, so that code which works with a small body works with a large one; ``bufferedData`` shows them without
/// reading. Only an empty body in memory that nobody observes can be read again.
///
/// A stream lets go of its connection when it was read to the end, when its iterator goes away (a `break` is enough), or when
/// the last reference to it does. Swift keeps a local reference to the end of its scope at the latest: for a large body that
/// you may not read, use `withResponse(to:)`.
public struct ResponseBody: Sendable, AsyncSequence {
    public typealias Element = Data
    public typealias Failure = any Error

    /// How much ``collect(upTo:)`` takes unless told: 64 MiB.
    public static let defaultCollectLimitBytes = 64 * 1024 * 1024

    enum Storage: Sendable {
        case buffered(BufferedBytes)
        /// What a source has, and what it goes through on its way to the reader.
        case stream(StreamOwner, [BodyStage])
    }

    let storage: Storage
    /// In bytes: as the head declared it, or as many as there are in memory; nil where it is not known.
    public let expectedLength: Int64?

    init(_ storage: Storage, expectedLength: Int64?) { (self.storage, self.expectedLength) = (storage, expectedLength) }

    /// Bytes in memory.
    ///
    /// - Parameter trailers: fields that came after them (RFC 9110, 6.5); nil where there were none.
    public init(_ data: Data = Data(), trailers: HTTPFields? = nil) {
        storage = .buffered(BufferedBytes(data, trailers: trailers))
        expectedLength = Int64(data.count)
    }

    /// A stream over `source`, which is abandoned when nobody can read it any more.
    ///
    /// - Parameter request: named in the failures that the body itself throws.
    public init(_ source: some BodySource, expectedLength: Int64? = nil, request: Request? = nil) {
        storage = .stream(StreamOwner(source, request: request), [])
        self.expectedLength = expectedLength
    }

    /// A stream of the chunks of `sequence`, such as an `AsyncStream` of data. The sequence's iterator goes when nobody can read the body any more.
    ///
    /// - Parameter length: in bytes, for ``expectedLength``; nil where it is not known.
    public static func stream<Chunks: AsyncSequence & Sendable>(
        _ sequence: Chunks, length: Int64? = nil
    ) -> ResponseBody where Chunks.Element == Data {
        ResponseBody(SequenceBodySource(sequence), expectedLength: length.flatMap { $0 >= 0 ? $0 : nil })
    }

    /// The bytes, where they are in memory; nil for a stream. Looking at them is not reading.
    public var bufferedData: Data? {
        if case .buffered(let bytes) = storage { bytes.data } else { nil }
    }

    /// The trailer fields of bytes in memory, read or not; nil for a stream.
    package var bufferedTrailers: HTTPFields? {
        if case .buffered(let bytes) = storage { bytes.trailers } else { nil }
    }

    /// The trailer fields (RFC 9110, 6.5), once the body was read to its end; nil before, and where there were none.
    public var trailers: HTTPFields? {
        switch storage {
        case .buffered(let bytes): bytes.isRead ? bytes.trailers : nil
        case .stream(let owner, _): owner.trailers
        }
    }

    /// All of the body in memory.
    ///
    /// - Parameter limitBytes: the most to take. A body whose declared length is over it fails before a byte is read.
    /// - Throws: ``TransportError`` with the code `bodyTooLarge` past the limit (the rest is abandoned), what broke the body off,
    ///   or ``BodyAlreadyUsedError``.
    public func collect(upTo limitBytes: Int = defaultCollectLimitBytes) async throws -> Data {
        precondition(limitBytes >= 0, "limitBytes must be at least 0 (is \(limitBytes))")
        switch storage {
        case .buffered(let bytes):
            guard bytes.data.count <= limitBytes else {
                guard bytes.claim() else { throw BodyAlreadyUsedError() }
                bytes.abandon()
                throw TransportError.bodyTooLarge(limitBytes: limitBytes, request: nil)
            }
            return try bytes.readAll()
        case .stream(let owner, _):
            if let expectedLength, expectedLength > Int64(limitBytes) {
                guard owner.claim() != nil else { throw BodyAlreadyUsedError() }
                owner.abandon()
                throw TransportError.bodyTooLarge(limitBytes: limitBytes, request: owner.request)
            }
            let (data, isWhole) = try await prefix(upTo: limitBytes)
            guard isWhole else { throw TransportError.bodyTooLarge(limitBytes: limitBytes, request: owner.request) }
            return data
        }
    }

    /// At most `limitBytes` from the front, and whether that is all; what is left is abandoned.
    public func prefix(upTo limitBytes: Int) async throws -> (data: Data, isWhole: Bool) {
        if case .buffered(let bytes) = storage, bytes.data.count <= limitBytes { return (try bytes.readAll(), true) }
        var iterator = makeAsyncIterator()
        var collected = Data()
        while let chunk = try await iterator.next() {
            guard collected.count + chunk.count <= limitBytes else {
                collected.append(chunk.prefix(limitBytes - collected.count))
                abandon()
                return (collected, false)
            }
            if collected.isEmpty { collected = chunk } else { collected.append(chunk) }
        }
        return (collected, true)
    }

    /// Gives up what was not read: the connection is closed, or kept if the whole response has been received.
    public func abandon() {
        switch storage {
        case .buffered(let bytes): bytes.abandon()
        case .stream(let owner, _): owner.abandon()
        }
    }

    /// Gives up what was not read, because what it goes through has failed: the exchange ends as failed. For a ``BodySource`` over this body.
    public func fail(with error: any Error) {
        switch storage {
        case .buffered(let bytes): bytes.abandon()
        case .stream(let owner, _): owner.readerFailed(error)
        }
    }

    public func makeAsyncIterator() -> Iterator {
        switch storage {
        case .buffered(let bytes): Iterator(bytes)
        case .stream(let owner, let stages): Iterator(owner, stages)
        }
    }

    /// A reader for several tasks, one after another.
    package func makeReader() -> Reader { Reader(makeAsyncIterator()) }

    /// Reads the body. When it goes away before the end, the rest of a stream is abandoned. A copy reads the same body.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        private enum Kind: Sendable {
            case buffered(BufferedBytes, isReader: Bool)
            case stream(StreamReader)
        }

        private let kind: Kind
        /// What chunks go through; nil for nothing, as a rule.
        private var pipeline: BodyPipeline?
        /// How often the pipeline was asked: its state is that of the copy that was asked last.
        private var turn = 0

        init(_ bytes: BufferedBytes) {
            kind = .buffered(bytes, isReader: bytes.claim())
            pipeline = nil
        }

        init(_ owner: StreamOwner, _ stages: [BodyStage]) {
            kind = .stream(StreamReader(owner))
            pipeline = stages.isEmpty ? nil : BodyPipeline(stages)
        }

        /// The next chunk, never empty; nil at the end.
        ///
        /// - Throws: ``BodyAlreadyUsedError`` for the second iterator of one body, and once the body was abandoned before its end; for the copy of an
        ///   iterator over a transformed body, once another copy has read on; ``TransportError`` when the body breaks off; `CancellationError`.
        public mutating func next() async throws -> Data? {
            switch kind {
            case .buffered(let bytes, let isReader):
                guard isReader else { throw BodyAlreadyUsedError() }
                return try bytes.next()
            case .stream(let reader):
                if pipeline != nil { return try await transformed(reader) }
                return try await reader.next()
            }
        }

        private mutating func transformed(_ reader: StreamReader) async throws -> Data? {
            guard var pipeline, reader.takeTurn(turn) else { throw BodyAlreadyUsedError() }
            turn += 1
            if try reader.isOver { return nil }
            // Moved out, so that it is changed in place.
            self.pipeline = BodyPipeline([])
            defer { self.pipeline = pipeline }
            do {
                // What needs no read has nobody else who looks.
                try reader.checkLimits()
                if let chunk = try await pipeline.next(reader) { return chunk }
            } catch {
                reader.fail(error)
                throw error
            }
            try reader.finish()
            return nil
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? { try await next() }

        fileprivate var isStream: Bool {
            if case .stream = kind { true } else { false }
        }
    }

    /// Bytes in memory that several have copies of count as read.
    package func countAsRead() {
        if case .buffered(let bytes) = storage { _ = try? bytes.readAll() }
    }

    /// This body as a source, to be sent on. It can be read once.
    package func asSource() -> any BodySource { ForwardedBodySource(self) }

    /// An iterator that is asked from one task after another.
    package final class Reader: Sendable {
        private let iterator: Mutex<Iterator?>

        fileprivate init(_ iterator: Iterator) { self.iterator = Mutex(iterator) }

        package func next() async throws -> Data? {
            // Taken out while it is asked: who asks at the same time is a second reader.
            guard var taken = iterator.withLock({ $0.take() }) else { throw BodyAlreadyUsedError() }
            defer { iterator.withLock { [taken] in $0 = taken } }
            return try await taken.next()
        }
    }
}

/// A response's body as the source of another message's.
private struct ForwardedBodySource: BodySource {
    private let body: ResponseBody
    private let reader: ResponseBody.Reader

    init(_ body: ResponseBody) { (self.body, reader) = (body, body.makeReader()) }

    func next() async throws -> Data? { try await reader.next() }
    func abandon() { body.abandon() }
    func fail(with error: any Error) { body.fail(with: error) }
    var trailers: HTTPFields? { body.trailers }
}

extension ResponseBody: CustomStringConvertible, CustomReflectable {
    /// Kind and length, never the bytes.
    public var description: String {
        switch storage {
        case .buffered(let bytes): "\(bytes.data.count) bytes"
        case .stream: "stream, \(expectedLength.map { "\($0) bytes" } ?? "unknown length")"
        }
    }

    public var customMirror: Mirror { Mirror(self, children: ["body": description]) }
}

extension ResponseBody.Iterator: CustomReflectable {
    /// Nothing of the body.
    public var customMirror: Mirror { Mirror(self, children: ["isStream": isStream]) }
}
