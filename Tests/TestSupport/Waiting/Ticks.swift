public import ErrandCore
internal import Synchronization

/// Gives a scenario a job when something happens elsewhere, on an event loop or in the task of an upload, so that it can be cancelled
/// there.
public final class Ticks: EventSink {
    private let waiter = Mutex<AsyncStream<Void>.Continuation?>(nil)

    public init() {}

    public func tick() { _ = waiter.withLock { $0 }?.yield() }
    public func record(_ event: ExchangeEvent) { tick() }

    public func during<Result>(_ body: () async throws -> Result) async throws -> Result {
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        waiter.withLock { $0 = continuation }
        // The loop yields after each tick. Without the yield, several ticks would be one job.
        async let _ = { for await _ in stream { await Task.yield() } }()
        return try await body()
    }
}

/// A source that ticks at each chunk of another source.
public struct TickingSource: BodySource {
    private let source: any BodySource
    private let ticks: Ticks

    public init(source: any BodySource, ticks: Ticks) { (self.source, self.ticks) = (source, ticks) }

    public func next() async throws -> Data? {
        ticks.tick()
        return try await source.next()
    }

    public func abandon() { source.abandon() }
}
