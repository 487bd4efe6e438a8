internal import Synchronization

/// The body of a response: bytes in memory, or a stream that is read once, chunk by chunk, as fast as you take it.
///
/// ```swift
/// for try await chunk in response.body { file.write(chunk) }     // a stream
/// let data = try await response.body.collect(upTo: 1_000_000)    // all of it, or an error
/// for try await line in response.body.lines { … }                // text, empty lines kept
/// ```
///
/// A stream lets go of its connection when it was read to the end, when its iterator goes away (a `break` is enough), or when
/// the last reference to it does. Swift keeps a local reference to the end of its scope at the latest: for a large body that
/// you may not read, use `withResponse(to:)`.
public struct ResponseBody: Sendable, AsyncSequence {
    public typealias Element = Data
    public typealias Failure = any Error

    /// How much ``collect(upTo:)`` takes unless told: 64 MiB.
    public static let defaultCollectLimitBytes = 64 * 1024 * 1024

    private enum Storage: Sendable {
        case buffered(Data)
        case stream(StreamOwner)
    }

    private let storage: Storage
    /// In bytes, as the head declared it; nil where it did not.
    public let expectedLength: Int64?

    /// Bytes in memory. They can be read again and again.
    public init(_ data: Data = Data()) {
        storage = .buffered(data)
        expectedLength = Int64(data.count)
    }

    /// A stream over `source`, which is abandoned when nobody can read it any more.
    ///
    /// - Parameter request: named in the failures that the body itself throws.
    public init(_ source: some BodySource, expectedLength: Int64? = nil, request: Request? = nil) {
        storage = .stream(StreamOwner(source, request: request))
        self.expectedLength = expectedLength
    }

    /// The bytes, where they are in memory; nil for a stream.
    public var bufferedData: Data? {
        if case .buffered(let data) = storage { data } else { nil }
    }

    /// The trailer fields (RFC 9110, 6.5), once the body was read to its end; nil before, and where there were none.
    public var trailers: HTTPFields? {
        if case .stream(let owner) = storage { owner.trailers } else { nil }
    }

    /// All of the body in memory.
    ///
    /// - Parameter limitBytes: the most to take. A body whose declared length is over it fails before a byte is read.
    /// - Throws: ``TransportError`` with the code `bodyTooLarge` past the limit (the rest is abandoned), what broke the body off,
    ///   or ``BodyAlreadyUsed``.
    public func collect(upTo limitBytes: Int = defaultCollectLimitBytes) async throws -> Data {
        precondition(limitBytes >= 0, "limitBytes must be at least 0 (is \(limitBytes))")
        switch storage {
        case .buffered(let data):
            guard data.count <= limitBytes else { throw TransportError.bodyTooLarge(limitBytes: limitBytes, request: nil) }
            return data
        case .stream(let owner):
            if let expectedLength, expectedLength > Int64(limitBytes) {
                owner.abandon()
                throw TransportError.bodyTooLarge(limitBytes: limitBytes, request: owner.request)
            }
            let (data, isWhole) = try await prefix(limitBytes)
            guard isWhole else { throw TransportError.bodyTooLarge(limitBytes: limitBytes, request: owner.request) }
            return data
        }
    }

    /// At most `limitBytes` from the front, and whether that is all; what is left is abandoned.
    public func prefix(_ limitBytes: Int) async throws -> (data: Data, isWhole: Bool) {
        if case .buffered(let data) = storage { return (Data(data.prefix(limitBytes)), data.count <= limitBytes) }
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
        if case .stream(let owner) = storage { owner.abandon() }
    }

    public func makeAsyncIterator() -> Iterator {
        switch storage {
        case .buffered(let data): Iterator(buffered: data)
        case .stream(let owner): Iterator(reading: owner)
        }
    }

    /// A reader of the stream, for a source that wraps this body; nil where the bytes are in memory.
    package func makeReader() -> Reader? {
        if case .stream(let owner) = storage { Reader(owner) } else { nil }
    }

    /// Reads the body. When it goes away before the end, the rest of a stream is abandoned.
    public struct Iterator: AsyncIteratorProtocol {
        private var buffered: Data?
        fileprivate let reader: Reader?

        init(buffered data: Data) {
            buffered = data.isEmpty ? nil : data
            reader = nil
        }

        init(reading owner: StreamOwner) {
            reader = Reader(owner)
        }

        /// The next chunk, never empty; nil at the end.
        ///
        /// - Throws: ``BodyAlreadyUsed`` for the second iterator of one stream, and once the body was abandoned before its end;
        ///   ``TransportError`` when the body breaks off; `CancellationError`.
        public mutating func next() async throws -> Data? {
            if let reader { return try await reader.next() }
            defer { buffered = nil }
            return buffered
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? { try await next() }
    }

    /// What an iterator holds, so that a copy of it reads the same stream and the last copy abandons it.
    package final class Reader: Sendable {
        private let owner: StreamOwner
        private let source: (any BodySource)?

        init(_ owner: StreamOwner) {
            self.owner = owner
            source = owner.claim()
        }

        package func next() async throws -> Data? {
            guard let source else { throw BodyAlreadyUsed() }
            switch owner.phase {
            case .open: break
            case .over: return nil
            case .givenUp: throw BodyAlreadyUsed()
            }
            do {
                if let chunk = try await source.next() { return chunk }
            } catch let error as BodyAlreadyUsed {
                // Somebody else reads it at this moment, and goes on.
                throw error
            } catch {
                owner.release()
                throw error
            }
            // A body that another task gave up meanwhile has no end that could pass for the whole.
            guard owner.finish(trailers: source.trailers) else { throw BodyAlreadyUsed() }
            return nil
        }

        deinit { if source != nil { owner.abandon() } }
    }

    /// Holds the source of a stream until it was read, abandoned or forgotten.
    final class StreamOwner: Sendable {
        private struct State {
            var source: (any BodySource)?
            var isClaimed = false
            var isGivenUp = false
            var trailers: HTTPFields?

            var phase: Phase { isGivenUp ? .givenUp : source == nil ? .over : .open }
        }

        enum Phase: UInt8, AtomicRepresentable {
            /// There may be more to read.
            case open
            /// It came to its end, or its reader failed.
            case over
            /// It was abandoned before its end, by other than the reader's own failure.
            case givenUp
        }

        private let state: Mutex<State>
        /// The state's phase, for a reader that asks before each chunk. Written under the lock.
        private let currentPhase = Atomic(Phase.open)
        let request: Request?

        init(_ source: some BodySource, request: Request?) {
            state = Mutex(State(source: source))
            self.request = request
        }

        var trailers: HTTPFields? { state.withLock(\.trailers) }
        var phase: Phase { currentPhase.load(ordering: .acquiring) }

        /// The source, for the first caller alone.
        func claim() -> (any BodySource)? {
            state.withLock { state in
                defer { state.isClaimed = true }
                return state.isClaimed ? nil : state.source
            }
        }

        /// False if it was given up before.
        func finish(trailers: HTTPFields?) -> Bool {
            let (source, isGivenUp) = state.withLock { state in
                if !state.isGivenUp { state.trailers = trailers }
                defer { letGo(&state) }
                return (state.source, state.isGivenUp)
            }
            _ = source
            return !isGivenUp
        }

        func abandon() {
            state.withLock { state in
                if state.source != nil { state.isGivenUp = true }
                currentPhase.store(state.phase, ordering: .releasing)
            }
            release()
        }

        /// Lets go of the source, which has not come to its end.
        func release() {
            let source = state.withLock { state in
                state.isClaimed = true
                defer { letGo(&state) }
                return state.source
            }
            source?.abandon()
        }

        private func letGo(_ state: inout State) {
            state.source = nil
            currentPhase.store(state.phase, ordering: .releasing)
        }

        deinit { state.withLock(\.source)?.abandon() }
    }
}

extension ResponseBody: CustomStringConvertible, CustomReflectable {
    /// Kind and length, never the bytes.
    public var description: String {
        switch storage {
        case .buffered(let data): "\(data.count) bytes"
        case .stream: "stream, \(expectedLength.map { "\($0) bytes" } ?? "unknown length")"
        }
    }

    public var customMirror: Mirror { Mirror(self, children: ["body": description]) }
}

extension ResponseBody.Iterator: CustomReflectable {
    /// Nothing of the body.
    public var customMirror: Mirror { Mirror(self, children: ["isStream": reader != nil]) }
}
