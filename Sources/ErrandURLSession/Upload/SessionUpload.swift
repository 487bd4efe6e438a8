internal import ErrandCore
internal import Foundation
internal import Synchronization

/// The body of a request that a session reads as a stream: a file, or a stream of the app.
///
/// A task reads the body at the speed of the session. The upload owns the task, and ends it with ``stop()``.
final class SessionUpload: Sendable {
    private struct State {
        var isStopped = false
        var pump: Task<Void, Never>?
        var sink: (any UploadSink)?
        /// The exchange that is notified of the end and of a failure. Before there is an exchange, the body is not read.
        weak var exchange: SessionExchange?
    }

    private let body: RequestBody
    private let makeSink: @Sendable (_ onEnd: @escaping @Sendable () -> Void) -> (InputStream, any UploadSink)?
    private let state = Mutex(State())

    init(
        _ body: RequestBody,
        makeSink: @escaping @Sendable (@escaping @Sendable () -> Void) -> (InputStream, any UploadSink)? = makePlatformSink
    ) {
        (self.body, self.makeSink) = (body, makeSink)
    }

    /// Sets the exchange that is notified of the end and of a failure, and begins to read the body.
    func start(for exchange: SessionExchange) {
        state.withLock { state in
            state.exchange = exchange
            if let sink = state.sink, state.pump == nil { state.pump = pump(into: sink) }
        }
    }

    /// Returns a stream of the body from its beginning, and ends the earlier stream. `nil` after the upload was stopped.
    func open() -> InputStream? {
        let count = Counted()
        guard
            let (stream, sink) = makeSink({ [weak self] in
                guard let self else { return }
                self.state.withLock(\.exchange)?.readWholeBody(of: count.value)
            })
        else { return nil }
        let counting = CountingSink(base: sink, count: count)
        let (isOpen, pump, earlier) = state.withLock { state in
            let (pump, earlier) = (state.pump.take(), state.sink.take())
            if !state.isStopped {
                state.sink = counting
                if state.exchange != nil { state.pump = self.pump(into: counting) }
            }
            return (!state.isStopped, pump, earlier)
        }
        pump?.cancel()
        earlier?.stop()
        if isOpen { return stream }
        sink.stop()
        return nil
    }

    /// Releases the body. After this call, the session can't read the rest of the body.
    func stop() {
        let (pump, sink) = state.withLock { state in
            state.isStopped = true
            return (state.pump.take(), state.sink.take())
        }
        pump?.cancel()
        sink?.stop()
    }

    private func pump(into sink: any UploadSink) -> Task<Void, Never> {
        Task { [body, weak self] in
            do {
                // `URLSession` sends no trailers.
                _ = try await body.pump { try await sink.write($0) }
                sink.finish()
            } catch {
                // This task is cancelled if the exchange has ended. If the sink is closed, the session ends the exchange.
                if !Task.isCancelled, !(error is UploadSinkClosedError) { self?.exchange?.failBody(error) }
                sink.stop()
            }
        }
    }

    private var exchange: SessionExchange? { state.withLock(\.exchange) }
}

/// A sink that counts the bytes of a body.
private struct CountingSink: UploadSink {
    let base: any UploadSink
    let count: Counted

    func write(_ chunk: Data) async throws {
        count.add(Int64(chunk.count))
        try await base.write(chunk)
    }

    func finish() { base.finish() }
    func stop() { base.stop() }
}

/// The number of bytes that a pump has read from a body.
private final class Counted: Sendable {
    private let bytes = Atomic<Int64>(0)
    var value: Int64 { bytes.load(ordering: .relaxed) }
    func add(_ count: Int64) { bytes.wrappingAdd(count, ordering: .relaxed) }
}
