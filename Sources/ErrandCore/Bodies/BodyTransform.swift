internal import Synchronization

/// Transforms a body chunk by chunk as it is read: decompression, a digest, another case.
///
/// ```swift
/// struct Capitals: BodyTransform {
///     mutating func next(_ input: inout Data) -> Data? {
///         defer { input = Data() }
///         return input.isEmpty ? nil : Data(String(decoding: input, as: UTF8.self).uppercased().utf8)
///     }
/// }
///
/// let loud = response.body.transformed(by: Capitals())
/// ```
///
/// It is a value: each body has a copy of its own, which its only reader changes, without a lock or a task. Copies must not share a reference
/// that they change: bytes in memory are tried with one copy first, and a request's body has a copy for each time that it is sent. What a
/// transform returns goes to the reader before more is read.
public protocol BodyTransform: Sendable {
    /// The next bytes of the new body, made of bytes that it takes from the front of `input`.
    ///
    /// What it leaves in `input` is there at the next call, with what has come since, and takes memory. Indices begin at `input.startIndex`. It is
    /// called until it returns nil, also with an empty `input`, and then again when there is more. No bytes count as nil, unless it has taken
    /// some.
    ///
    /// - Returns: bytes, 64 KiB at most; nil where it needs more. More than 64 KiB reach the reader in pieces, but take memory as a whole.
    /// - Throws: what ends the body as failed: the reader gets the error. An exchange that is not over on the wire fails with it.
    mutating func next(_ input: inout Data) throws -> Data?

    /// The last bytes of the new body, when the old one has come to its end. Nil by default.
    ///
    /// It is called until it returns nil; no bytes count as nil, unless it has taken some of `input`. A transform that needs more than there was
    /// throws here.
    ///
    /// - Parameter input: what ``next(_:)`` has left. What is left of it in the end is dropped.
    mutating func finish(_ input: inout Data) throws -> Data?
}

extension BodyTransform {
    public mutating func finish(_ input: inout Data) throws -> Data? { nil }
}

/// What an observer of a body sees.
public enum BodyEvent: Sendable {
    /// A request's body is sent, from this offset on: each time anew. A response's body has no such event.
    case opened(at: Int64)
    /// The next bytes, never empty, as they are handed on.
    case chunk(Data)
    /// The body has come to its end, has failed, or nobody reads on. Trailer fields come with a complete body alone, where there were any.
    case end(ExchangeLifetime.End, trailers: HTTPFields?)
}

/// Tells a closure of one reading of a body: one event at a time, the end exactly once, and nothing after it.
final class BodyObserver: Sendable {
    private struct State {
        var isDelivering = false
        var isOver = false
        /// An end that has come while a chunk was handed over.
        var pending: BodyEvent?
    }

    private let handler: @Sendable (BodyEvent) -> Void
    private let state = Mutex(State())

    init(_ handler: @escaping @Sendable (BodyEvent) -> Void) { self.handler = handler }

    func opened(at offset: Int64) { handler(.opened(at: offset)) }

    /// Called by the one reader alone.
    func chunk(_ chunk: Data) {
        let isWanted = state.withLock { state in
            state.isDelivering = !state.isOver
            return state.isDelivering
        }
        guard isWanted else { return }
        handler(.chunk(chunk))
        let end = state.withLock { state in
            state.isDelivering = false
            return state.pending.take()
        }
        if let end { handler(end) }
    }

    func end(_ end: ExchangeLifetime.End, trailers: HTTPFields? = nil) {
        let event = BodyEvent.end(end, trailers: trailers)
        let isNow = state.withLock { state in
            if state.isOver { return false }
            state.isOver = true
            if state.isDelivering { state.pending = event }
            return !state.isDelivering
        }
        if isNow { handler(event) }
    }

    /// Nobody can read the body any more.
    deinit { end(.abandoned) }
}

/// What chunks pass between a source and its reader.
enum BodyStage: Sendable {
    case transform(any BodyTransform)
    case observe(BodyObserver)
    /// It sees other bytes than those that pass: the ones from which they were made in memory.
    case tap(BodyTap)
}

/// What goes into a pipeline.
protocol BodyInput {
    /// The next chunk; nil at the end, and from then on.
    func pull() async throws -> Data?
    /// At the end.
    var trailers: HTTPFields? { get }
}

/// The stages of a body, and how far they have come. Owned by one reader.
struct BodyPipeline: Sendable {
    /// The most that a transform hands on at once.
    static let chunkLimitBytes = 64 * 1024

    private var steps: [Step]

    /// - Parameter stages: innermost first.
    init(_ stages: [BodyStage]) { steps = stages.map(Step.init) }

    /// The next chunk of what comes out of the last stage.
    ///
    /// - Parameter input: what goes into the first.
    mutating func next(_ input: some BodyInput) async throws -> Data? { try await next(of: steps.count - 1, input) }

    private mutating func next(of index: Int, _ input: some BodyInput) async throws -> Data? {
        guard index >= 0 else { return try await input.pull() }
        switch steps[index] {
        case .observe(let observer):
            let chunk = try await next(of: index - 1, input)
            if let chunk { observer.chunk(chunk) } else { observer.end(.complete, trailers: input.trailers) }
            return chunk
        case .tap(let tap, let isDelivered):
            let chunk = try await next(of: index - 1, input)
            if !isDelivered {
                steps[index] = .tap(tap, isDelivered: true)
                if !tap.data.isEmpty { tap.observer.chunk(tap.data) }
            }
            if chunk == nil { tap.observer.end(.complete, trailers: input.trailers) }
            return chunk
        case .transform(var transformation):
            // Moved out, so that it is changed in place.
            steps[index] = .nothing
            defer { steps[index] = .transform(transformation) }
            while true {
                if let chunk = try transformation.output() { return chunk }
                if transformation.isOver { return nil }
                transformation.take(try await next(of: index - 1, input))
            }
        case .nothing: return nil
        }
    }

    /// One stage.
    private enum Step: Sendable {
        case transform(BodyTransformation)
        case observe(BodyObserver)
        case tap(BodyTap, isDelivered: Bool)
        /// While it is being asked.
        case nothing

        init(_ stage: BodyStage) {
            self =
                switch stage {
                case .transform(let transform): .transform(BodyTransformation(transform))
                case .observe(let observer): .observe(observer)
                case .tap(let tap): .tap(tap, isDelivered: false)
                }
        }
    }
}

/// A transform at work.
struct BodyTransformation: Sendable {
    /// Nil while it is being asked.
    private var transform: (any BodyTransform)?
    /// What it has not taken yet.
    private var input = Data()
    /// What is left of an output that was too long.
    private var rest = Data()
    private var isAtEnd = false
    private(set) var isOver = false

    init(_ transform: any BodyTransform) { self.transform = transform }

    /// What comes in; nil at the end.
    mutating func take(_ chunk: Data?) {
        guard let chunk else {
            isAtEnd = true
            return
        }
        if input.isEmpty { input = chunk } else { input.append(chunk) }
    }

    /// What goes out; nil where there is nothing before more comes in, and where it is over.
    mutating func output() throws -> Data? {
        if !rest.isEmpty { return firstOfRest() }
        // Moved out, so that it is changed in place.
        guard !isOver, var transform = transform.take() else { return nil }
        defer { self.transform = transform }
        while true {
            let before = input.count
            let output = isAtEnd ? try transform.finish(&input) : try transform.next(&input)
            guard let output else { break }
            if !output.isEmpty {
                if output.count <= BodyPipeline.chunkLimitBytes { return output }
                rest = output
                return firstOfRest()
            }
            // Nothing came of it: as long as it takes from the input, it may still get on.
            if input.count == before { break }
        }
        isOver = isAtEnd
        return nil
    }

    private mutating func firstOfRest() -> Data {
        let first = Data(rest.prefix(BodyPipeline.chunkLimitBytes))
        // A slice: a copy for each piece would be work that grows with the square of the bytes.
        rest = rest.count > first.count ? rest.dropFirst(first.count) : Data()
        return first
    }
}

extension BodyTransform {
    /// All that is made of `data`; nil if that is more than `limitBytes`, or fails.
    func output(of data: Data, upTo limitBytes: Int) -> Data? {
        var transformation = BodyTransformation(self)
        var all = Data()
        do {
            for input in [data, nil] {
                if input?.isEmpty != true { transformation.take(input) }
                while let chunk = try transformation.output() {
                    guard all.count + chunk.count <= limitBytes else { return nil }
                    if all.isEmpty { all = chunk } else { all.append(chunk) }
                }
            }
        } catch {
            return nil
        }
        return all
    }
}

extension ResponseBody {
    /// How much the output of a transform of bytes in memory may have to stay in memory: 1 MiB.
    static let transformedInMemoryLimitBytes = 1024 * 1024

    /// Returns a body that `transform` makes of this one, chunk by chunk as it is read.
    ///
    /// Use the returned body; this one can no longer be read. Trailers and abandonment behave as before.
    /// Bytes in memory are transformed at once and stay in memory, unless that fails or makes more than 1 MiB of them: then they
    /// become a stream.
    ///
    /// - Parameter length: of the new body, in bytes; nil where it is not known.
    public consuming func transformed(by transform: some BodyTransform, length: Int64? = nil) -> ResponseBody {
        switch storage {
        case .stream(let owner, let stages):
            guard let source = owner.move() else { return ResponseBody(usedUp: owner.request) }
            return ResponseBody(
                .stream(StreamOwner(source, request: owner.request, observers: owner.observers), stages + [.transform(transform)]),
                expectedLength: length)
        case .buffered(let bytes):
            let output = transform.output(of: bytes.data, upTo: Self.transformedInMemoryLimitBytes)
            guard let moved = bytes.moved(output ?? bytes.data, to: bytes.taps) else { return ResponseBody(usedUp: nil) }
            if let output { return ResponseBody(.buffered(moved), expectedLength: Int64(output.count)) }
            return ResponseBody(
                .stream(
                    StreamOwner(DataBodySource(bytes.data, trailers: bytes.trailers), request: nil, observers: bytes.taps.map(\.observer)),
                    bytes.taps.map { .tap($0) } + [.transform(transform)]),
                expectedLength: length)
        }
    }

    /// Returns this body, and reports its chunks and its end to `observe`.
    ///
    /// Use the returned body; this one can no longer be read. The end is `.complete` once the last chunk was handed on, `.failed` where the body
    /// breaks off or a transform further out fails before, and `.abandoned` where nobody reads on. Bytes in memory stay in memory: they are
    /// a chunk when somebody reads them, and none where somebody only looks at ``bufferedData``.
    ///
    /// - Parameter observe: is called with one event at a time, in the reader's task or where the body is let go of, and must not block. Nothing
    ///   follows the end, which comes exactly once.
    public consuming func observed(_ observe: @escaping @Sendable (BodyEvent) -> Void) -> ResponseBody {
        let observer = BodyObserver(observe)
        switch storage {
        case .stream(let owner, let stages):
            guard let source = owner.move() else { return ResponseBody(usedUp: owner.request) }
            return ResponseBody(
                .stream(
                    StreamOwner(source, request: owner.request, observers: owner.observers + [observer]), stages + [.observe(observer)]),
                expectedLength: expectedLength)
        case .buffered(let bytes):
            guard let moved = bytes.moved(bytes.data, to: bytes.taps + [BodyTap(observer: observer, data: bytes.data)]) else {
                return ResponseBody(usedUp: nil)
            }
            return ResponseBody(.buffered(moved), expectedLength: expectedLength)
        }
    }

    /// This body over another source, which `wrap` makes of its own; bytes in memory stay what they are.
    consuming func replacingSource(_ wrap: (any BodySource) -> some BodySource) -> ResponseBody {
        guard case .stream(let owner, let stages) = storage else { return self }
        guard let source = owner.move() else { return ResponseBody(usedUp: owner.request) }
        return ResponseBody(
            .stream(StreamOwner(wrap(source), request: owner.request, observers: owner.observers), stages), expectedLength: expectedLength)
    }

    private init(usedUp request: Request?) { self.init(.stream(StreamOwner(usedUp: request), []), expectedLength: nil) }
}

extension RequestBody {
    /// Returns a body that `transform` makes of this one, chunk by chunk as it is sent.
    ///
    /// Each time that it is sent, a copy of `transform` begins anew, so it can be sent again if this body can, but from its first byte alone.
    /// Bytes in memory are transformed at once and stay in memory, unless that fails or makes more than 1 MiB of them.
    ///
    /// - Parameter length: of the new body, in bytes; nil where it is not known.
    public func transformed(by transform: some BodyTransform, length: Int64? = nil) -> RequestBody {
        if let bytes, let output = transform.output(of: bytes, upTo: ResponseBody.transformedInMemoryLimitBytes) { return .data(output) }
        return .stream(length: length, replay: replay.canRestart ? .restartable : .oneShot) { _ in
            StagedBodySource(try await open(), [.transform(transform)], observer: nil)
        }
    }

    /// Returns this body, and reports to `observe` each time that it is opened, its chunks, and the end once for each opening.
    ///
    /// It is as long, and can be sent again in the same ways. Bytes in memory become a stream, so that `coalesce` does not share such a request.
    ///
    /// - Parameter observe: is called in the task that sends the body, and must not block.
    public func observed(_ observe: @escaping @Sendable (BodyEvent) -> Void) -> RequestBody {
        .stream(length: length, replay: replay) { offset in
            let source = try await open(from: offset)
            let observer = BodyObserver(observe)
            observer.opened(at: offset)
            return StagedBodySource(source, [.observe(observer)], observer: observer)
        }
    }
}

/// A request's body and what its chunks go through.
private final class StagedBodySource: BodySource {
    private let base: any BodySource
    private let observer: BodyObserver?
    /// Nil while it is being asked.
    private let pipeline: Mutex<BodyPipeline?>

    init(_ base: any BodySource, _ stages: [BodyStage], observer: BodyObserver?) {
        (self.base, self.observer) = (base, observer)
        pipeline = Mutex(BodyPipeline(stages))
    }

    private struct Input: BodyInput {
        let source: any BodySource
        func pull() async throws -> Data? {
            if let chunk = try await source.next() { return chunk }
            // A source may end where it is cancelled.
            try Task.checkCancellation()
            return nil
        }
        var trailers: HTTPFields? { source.trailers }
    }

    var trailers: HTTPFields? { base.trailers }

    func next() async throws -> Data? {
        var taken = pipeline.withLock { $0.take() }
        defer { pipeline.withLock { $0 = taken } }
        guard taken != nil else { throw BodyAlreadyUsed() }
        do {
            return try await taken?.next(Input(source: base))
        } catch {
            observer?.end(.failed(error))
            base.fail(with: error)
            throw error
        }
    }

    func abandon() {
        observer?.end(.abandoned)
        base.abandon()
    }

    func fail(with error: any Error) {
        observer?.end(.failed(error))
        base.fail(with: error)
    }
}
