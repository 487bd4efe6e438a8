public import ErrandCore
public import ErrandTesting
internal import Synchronization
internal import Testing

/// Sends `request` again where the pool gave it a connection whose end it had not learnt of yet.
public func sendUntilSent(_ request: Request, by transport: some HTTPTransport) async throws -> Response {
    for _ in 0..<5 {
        do {
            return try await transport.send(request)
        } catch let failure as TransportError where failure.delivery == .notSent {
            #expect(failure.code == .connectionLost)
        }
    }
    return try await transport.send(request)
}

extension Request {
    /// This request with a sink for its events.
    public func telling(_ sink: RecordingEventSink) -> Request {
        var copy = self
        copy.options.eventSink = sink
        return copy
    }
}

extension Response {
    /// Waits for the end of the exchange; how it ended.
    public func end(upTo limit: Duration = .seconds(30)) async throws -> ExchangeLifetime.Outcome {
        let ended = Watched<ExchangeLifetime.Outcome?>(nil)
        exchange.onEnd { end in ended.change { $0 = end } }
        return try #require(try await ended.wait("the end of the exchange", upTo: limit) { $0 != nil })
    }
}

extension ExchangeLifetime.Outcome {
    public var isComplete: Bool { if case .complete = self { true } else { false } }
    public var isAbandoned: Bool { if case .abandoned = self { true } else { false } }
    public var failure: (any Error)? { if case .failed(let error) = self { error } else { nil } }
}

extension RecordingEventSink {
    /// The kinds without the progress of the body.
    public var steps: [ExchangeEvent.Kind] { kinds.filter { $0 != .requestBytesSent } }
}

/// Gives `totalBytes`, chunk by chunk, as fast as it is asked, and counts them.
public final class CountingBodySource: BodySource {
    public struct Progress: Sendable {
        public var produced = 0
        public var isAbandoned = false
    }

    public let progress = Watched(Progress())
    private let totalBytes: Int
    private let chunk: Data

    public init(totalBytes: Int, chunkBytes: Int = 64 * 1024) {
        self.totalBytes = totalBytes
        chunk = Data(repeating: 0x61, count: chunkBytes)
    }

    public func next() async throws -> Data? {
        let produced = progress.value.produced
        guard produced < totalBytes else { return nil }
        let next = chunk.prefix(totalBytes - produced)
        progress.change { $0.produced += next.count }
        return next
    }

    public func abandon() { progress.change { $0.isAbandoned = true } }

    /// Waits until nothing was produced for 300 ms; how much was.
    public func producedAtRest() async throws -> Int {
        var last = (count: progress.value.produced, since: ContinuousClock.now)
        try await poll("a producer at rest", value: { progress.value.produced }) { count in
            if count != last.count { last = (count, .now) }
            return count > 0 && ContinuousClock.now - last.since > .milliseconds(300)
        }
        return last.count
    }
}

/// Gives one chunk, and then what is set: an error, or nothing for ever.
public final class ScriptedBodySource: BodySource {
    public enum Then: Sendable {
        case fails(any Error)
        /// Waits until its task is cancelled, and throws then.
        case hangs
        /// Waits until its task is cancelled, and says then that it is at its end, as `AsyncStream` does.
        case hangsAndEnds
    }

    public let isAbandoned = Watched(false)
    public let isHanging = Watched(false)
    private let first: Mutex<Data?>
    private let then: Then

    public init(first: Data? = Data("first".utf8), then: Then) {
        self.first = Mutex(first)
        self.then = then
    }

    public func next() async throws -> Data? {
        let chunk = first.withLock { first in
            defer { first = nil }
            return first
        }
        if let chunk { return chunk }
        switch then {
        case .fails(let error): throw error
        case .hangs, .hangsAndEnds:
            isHanging.change { $0 = true }
            do {
                try await Task.sleep(for: .seconds(60))
            } catch {
                if case .hangs = then { throw error }
            }
            return nil
        }
    }

    public func abandon() { isAbandoned.change { $0 = true } }
}

/// Every element of the first with every one of the second, for tests whose other argument is the transport.
public func pairs<First: Sendable, Second: Sendable>(_ first: [First], _ second: [Second]) -> [(First, Second)] {
    first.flatMap { one in second.map { (one, $0) } }
}

/// An error of the caller's own.
public struct SourceBroke: Error, Equatable {
    public init() {}
}
