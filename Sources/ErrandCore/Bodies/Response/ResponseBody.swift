internal import Synchronization

/// The body of a response: bytes in memory, or a stream. A body is read once, chunk by chunk, at the reader's pace.
///
/// ```swift
/// for try await chunk in response.body { file.write(chunk) }     // a stream
/// let data = try await response.body.collect(upTo: 1_000_000)    // all of it, or an error
/// for try await line in response.body.lines { … }                // text, empty lines kept
/// ```
///
/// Like a stream, a body in memory can be read only once. Therefore code that works with a small body also works with a large body.
/// ``bufferedData`` returns the bytes without reading the body. Only an empty body in memory, without trailers and observers, can be read
/// again.
///
/// A stream releases its connection as soon as one of these is true:
/// - the reader has reached the end
/// - the iterator was released (`break` is enough)
/// - the last reference to the body was released
///
/// Swift releases a local reference at the end of its scope or earlier. If your code may leave a large body unread, use
/// `withResponse(to:)`.
public struct ResponseBody: Sendable, AsyncSequence {
    public typealias Element = Data
    public typealias Failure = any Error

    /// The default limit of ``collect(upTo:)``: 64 MiB.
    public static let defaultCollectLimitBytes = 64 * 1024 * 1024

    enum Storage: Sendable {
        case buffered(BufferedBytes)
        /// A source, and the stages that its bytes pass through on their way to the reader.
        case stream(StreamOwner, [BodyStage])
    }

    let storage: Storage
    /// The length in bytes that the head of the response declares; `nil` if the length is unknown. For a body created from bytes,
    /// the value is the number of bytes.
    public let expectedLength: Int64?

    init(_ storage: Storage, expectedLength: Int64?) { (self.storage, self.expectedLength) = (storage, expectedLength) }

    /// Creates a body of bytes in memory.
    ///
    /// - Parameters:
    ///   - data: the bytes. Default: no bytes.
    ///   - trailers: the trailer fields ([RFC 9110, section 6.5](https://www.rfc-editor.org/rfc/rfc9110#section-6.5)); `nil`, the default,
    ///     if there are no trailer fields.
    public init(_ data: Data = Data(), trailers: HTTPFields? = nil) {
        storage = .buffered(BufferedBytes(data, trailers: trailers))
        expectedLength = Int64(data.count)
    }

    /// Returns a body of bytes in memory. ``RequestBody`` has a function with the same name.
    public static func data(_ data: Data) -> ResponseBody { ResponseBody(data) }

    /// Returns a body of text in memory, encoded as UTF-8.
    public static func text(_ text: String) -> ResponseBody { ResponseBody(Data(text.utf8)) }

    /// Creates a body from the bytes that a transport has received.
    ///
    /// - Parameter expectedLength: the length that the head declares; `nil` if the head declares no length.
    package init(_ data: Data, trailers: HTTPFields?, expectedLength: Int64?) {
        storage = .buffered(BufferedBytes(data, trailers: trailers))
        self.expectedLength = expectedLength
    }

    /// Creates a body that is a stream of the bytes of `source`. The source is abandoned if the body is abandoned, fails, or is
    /// released before its end.
    ///
    /// - Parameters:
    ///   - source: the bytes.
    ///   - expectedLength: the length in bytes; `nil`, the default, if the length is unknown.
    ///   - request: the request to which the errors of the body itself refer.
    public init(_ source: some BodySource, expectedLength: Int64? = nil, request: Request? = nil) {
        storage = .stream(StreamOwner(source, request: request), [])
        self.expectedLength = expectedLength
    }

    /// Returns a stream of the chunks of `sequence`, such as an `AsyncStream` of data.
    ///
    /// The sequence's iterator is released at the end of the body, or when the body is abandoned, fails or is released.
    ///
    /// - Parameter length: the length in bytes, for ``expectedLength``; `nil`, the default, if the length is not known.
    public static func stream<Chunks: AsyncSequence & Sendable>(
        _ sequence: Chunks, length: Int64? = nil
    ) -> ResponseBody where Chunks.Element == Data {
        ResponseBody(SequenceBodySource(sequence), expectedLength: length.flatMap { $0 >= 0 ? $0 : nil })
    }

    /// The bytes of a body in memory; `nil` for a stream. Access to this property does not read the body.
    public var bufferedData: Data? {
        if case .buffered(let bytes) = storage { bytes.data } else { nil }
    }

    /// The trailer fields of a body in memory, even before the body is read; `nil` for a stream.
    package var bufferedTrailers: HTTPFields? {
        if case .buffered(let bytes) = storage { bytes.trailers } else { nil }
    }

    /// The trailer fields ([RFC 9110, section 6.5](https://www.rfc-editor.org/rfc/rfc9110#section-6.5)), after the body was read to
    /// its end; `nil` before the end, and if there are no trailer fields.
    public var trailers: HTTPFields? {
        switch storage {
        case .buffered(let bytes): bytes.isRead ? bytes.trailers : nil
        case .stream(let owner, _): owner.trailers
        }
    }

    /// Reads the whole body into memory.
    ///
    /// - Parameter limitBytes: the maximum length of the body, in bytes; at least 0. Default: 64 MiB. If a body declares a
    ///   larger length, this function fails before anything is read.
    /// - Throws: ``TransportError`` with the code `bodyTooLarge` if the body exceeds the limit (the rest is abandoned); the error
    ///   that ended the body early; ``BodyAlreadyUsedError``.
    public func collect(upTo limitBytes: Int = defaultCollectLimitBytes) async throws -> Data {
        precondition(limitBytes >= 0, "limitBytes must be at least 0 (is \(limitBytes))")
        switch storage {
        case .buffered(let bytes):
            guard bytes.data.count <= limitBytes else {
                guard bytes.claim() else { throw BodyAlreadyUsedError() }
                bytes.abandon()
                throw tooLarge(limitBytes)
            }
            return try bytes.readAll()
        case .stream(let owner, _):
            if let expectedLength, expectedLength > Int64(limitBytes) {
                guard owner.claim() != nil else { throw BodyAlreadyUsedError() }
                owner.abandon()
                throw tooLarge(limitBytes)
            }
            let (data, isWhole) = try await prefix(limitBytes: limitBytes)
            guard isWhole else { throw tooLarge(limitBytes) }
            return data
        }
    }

    /// Returns the error for a body, or a part of a body, that exceeds a limit. The error of a stream names the request.
    func tooLarge(_ limitBytes: Int) -> TransportError { .bodyTooLarge(limitBytes: limitBytes, request: request) }

    /// The request of a stream; `nil` for a body in memory, and for a stream without a request.
    var request: Request? { if case .stream(let owner, _) = storage { owner.request } else { nil } }

    /// Reads at most `limitBytes` bytes from the beginning of the body. Returns these bytes, and whether these bytes are the whole body.
    /// The rest of the body is abandoned.
    ///
    /// - Throws: the error that ended the body early; ``BodyAlreadyUsedError``.
    public func prefix(limitBytes: Int) async throws -> (data: Data, isWhole: Bool) {
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

    /// Releases the body without reading the rest. If the whole response has arrived, the connection stays open. If a part is missing,
    /// HTTP/1.1 closes the connection, and HTTP/2 ends only the stream.
    public func abandon() {
        switch storage {
        case .buffered(let bytes): bytes.abandon()
        case .stream(let owner, _): owner.abandon()
        }
    }

    /// Ends the unread rest of the body, because a later stage has failed. The exchange ends as failed. Call this function from a
    /// ``BodySource`` that reads this body.
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

    /// Returns an iterator for several tasks that read one after another.
    package func makeSharedIterator() -> SharedIterator { SharedIterator(makeAsyncIterator()) }

    /// An iterator over the chunks of a body. If the iterator is released before the end, the rest of a stream is abandoned. A copy of
    /// the iterator reads the same body.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        private enum Kind: Sendable {
            case buffered(BufferedBytes, isReader: Bool)
            case stream(StreamReader)
        }

        private let kind: Kind
        /// The stages of the body: its transforms and observers. `nil` for a body without stages.
        private var pipeline: BodyPipeline?
        /// The number of times that this copy has read from the pipeline. Only the copy that made the last read has the
        /// pipeline's state.
        private var readCount = 0

        init(_ bytes: BufferedBytes) {
            kind = .buffered(bytes, isReader: bytes.claim())
            pipeline = nil
        }

        init(_ owner: StreamOwner, _ stages: [BodyStage]) {
            kind = .stream(StreamReader(owner))
            pipeline = stages.isEmpty ? nil : BodyPipeline(stages)
        }

        /// Returns the next chunk, never empty; `nil` at the end.
        ///
        /// - Throws: ``BodyAlreadyUsedError`` for the second iterator of a body, and after the body was abandoned before its end.
        ///   If a body is transformed, a copy of its iterator also throws this error after another copy has read.
        ///   ``TransportError`` if the body ends early; `CancellationError`.
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
            guard var pipeline, reader.claimRead(readCount) else { throw BodyAlreadyUsedError() }
            readCount += 1
            if try reader.pull.isOver { return nil }
            // If the pipeline stayed in the property, each change would copy its buffers. Therefore the pipeline is moved out of the
            // property.
            self.pipeline = BodyPipeline([])
            defer { self.pipeline = pipeline }
            do {
                // A stage may already have a chunk. Without this check, that chunk would be returned even after a cancellation or a
                // passed deadline.
                try reader.checkLimits()
                if let chunk = try await pipeline.next(reader.pull) { return chunk }
            } catch {
                reader.fail(error)
                throw error
            }
            try reader.pull.finish()
            return nil
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? { try await next() }

        /// Returns the error for a body that exceeds a limit: see ``ResponseBody/tooLarge(_:)``.
        func tooLarge(_ limitBytes: Int) -> TransportError { tooLarge("more than \(limitBytes.counted("byte"))") }

        /// Returns the error for a part of the body, such as a line, that exceeds a limit.
        ///
        /// - Parameter excess: the excess in words: `more than 1024 bytes`.
        func tooLarge(_ excess: String) -> TransportError {
            guard case .stream(let reader) = kind else { return .bodyTooLarge(excess, request: nil) }
            return .bodyTooLarge(excess, request: reader.request)
        }
    }

    /// Marks the bytes of a body in memory as read. Call this function if another body gets a copy of the bytes.
    package func countAsRead() {
        if case .buffered(let bytes) = storage { _ = try? bytes.readAll() }
    }

    /// Returns this body as a source for the body of another message. The source can be read only once.
    package func asSource() -> any BodySource { ForwardedBodySource(self) }

    /// An iterator that several tasks use one after another.
    package final class SharedIterator: Sendable {
        private let iterator: Mutex<Iterator?>

        fileprivate init(_ iterator: Iterator) { self.iterator = Mutex(iterator) }

        package func next() async throws -> Data? {
            // The iterator is taken out while it is in use, so that a concurrent caller is treated as a second reader.
            guard var taken = iterator.withLock({ $0.take() }) else { throw BodyAlreadyUsedError() }
            defer { iterator.withLock { [taken] in $0 = taken } }
            return try await taken.next()
        }
    }
}

/// A source that reads a response's body, for the body of another message.
private struct ForwardedBodySource: BodySource {
    private let body: ResponseBody
    private let reader: ResponseBody.SharedIterator

    init(_ body: ResponseBody) { (self.body, reader) = (body, body.makeSharedIterator()) }

    func next() async throws -> Data? { try await reader.next() }
    func abandon() { body.abandon() }
    func fail(with error: any Error) { body.fail(with: error) }
    var trailers: HTTPFields? { body.trailers }
}

extension ResponseBody: CustomStringConvertible, HidesStorage {
    /// The kind and the length, never the bytes.
    public var description: String {
        switch storage {
        case .buffered(let bytes): bytes.data.count.counted("byte")
        case .stream: "stream, \(expectedLength.map { $0.counted("byte") } ?? "unknown length")"
        }
    }
}

extension ResponseBody.Iterator: HidesStorage {}
