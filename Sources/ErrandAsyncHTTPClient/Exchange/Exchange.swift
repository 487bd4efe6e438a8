#if AsyncHTTPClient
internal import AsyncHTTPClient
internal import ErrandCore
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization

/// One request and its response. The client reports the events on the wire to the exchange. A reader uses the exchange as the source of
/// the body.
///
/// The client calls from an event loop, the reader from its task. ``ExchangeMachine`` decides under the only lock. The exchange carries
/// out a decision after the lock is released.
final class Exchange: ReadyBodySource {
    struct Handles: ExchangeHandles {
        /// A class, because the layout of a continuation is known only at run time.
        final class HeadWaiter: Sendable {
            let continuation: CheckedContinuation<ErrandCore.Response, any Error>
            init(_ continuation: CheckedContinuation<ErrandCore.Response, any Error>) { self.continuation = continuation }
        }

        final class ChunkWaiter: Sendable {
            let continuation: CheckedContinuation<Data?, any Error>
            init(_ continuation: CheckedContinuation<Data?, any Error>) { self.continuation = continuation }
        }

        typealias Demand = EventLoopPromise<Void>

        struct Held: Sendable {
            /// The loan of the client. The loan ends when the transport is shut down.
            let loan: ClientLoan
            var task: (HTTPClient.Task<Void>, of: any EventLoopGroup)?
            var deadline: Scheduled<Void>?
            var upload: Task<Void, Never>?
            /// The client waits for this promise while the body is sent.
            var sent: EventLoopPromise<Void>?
            /// The event loop on which the client reports its events. `nil` before the first event.
            var eventLoop: (any EventLoop)?
        }
    }

    typealias Machine = ExchangeMachine<Handles>

    let request: Request
    let events: ExchangeEventLog?
    let lifetime = ExchangeLifetime()
    let machine: Mutex<Machine>
    /// The bytes of the response's body that `events` has recorded. Counted only if there are events.
    let reportedBytes = Atomic<Int64>(0)
    /// The start, as a time since ``base``. The layout of a duration is known at compile time, the layout of an instant is not.
    private let started: Duration
    private static let base = ContinuousClock.now

    init(_ request: Request, loan: ClientLoan) {
        self.request = request
        events = request.options.eventSink.map { ExchangeEventLog($0, request: request.id) }
        started = Self.base.duration(to: .now)
        machine = Mutex(Machine(holding: Handles.Held(loan: loan)))
    }

    // MARK: - Sending

    /// Sends the request. Returns when the head of the response has been received.
    func run(on client: HTTPClient) async throws -> ErrandCore.Response {
        let message = try HTTPClient.Request(request, body: clientBody(on: client.eventLoopGroup))
        if request.deadline?.hasPassed == true {
            throw TransportError.timedOut(.queue, after: .zero, request: request, delivery: .notSent)
        }
        events?.record(.start)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let waiter = Handles.HeadWaiter(continuation)
                guard machine.withLock({ $0.begin(waiter) }) else { return continuation.resume(throwing: CancellationError()) }
                let task = client.execute(request: message, delegate: self)
                attach(task, of: client.eventLoopGroup)
            }
        } onCancel: {
            cancel()
        }
    }

    private func attach(_ task: HTTPClient.Task<Void>, of group: any EventLoopGroup) {
        // The client also has deadlines. But the client does not report a deadline that passes while it holds the rest of the
        // response.
        let deadline = request.deadline?.continuousInstant.map { instant in
            task.eventLoop.scheduleTask(in: .nanoseconds(ContinuousClock.now.duration(to: instant).wholeNanoseconds)) {
                // Runs after the work that the loop has already queued. The client can withdraw a request only after it has noted that
                // the request is queued.
                task.eventLoop.execute { self.expire(task, of: group) }
            }
        }
        let attachment = machine.withLock { machine in
            machine.attach { ($0.task, $0.deadline) = ((task, group), deadline) }
        }
        switch attachment {
        case .proceed: break
        case .withdraw: task.eventLoop.execute { self.withdraw(task, of: group) }
        case .conclude(let ending): conclude(ending)
        case .refused:
            deadline?.cancel()
            task.fail(reason: CancellationError())
        }
        // A client that is shut down fails the task without an event for its delegate.
        task.futureResult.whenFailure { error in self.end(by: error) { $0.connectionFailed($1) } }
    }

    // MARK: - Reading

    func next() async throws -> Data? {
        // A queued chunk needs no cancellation handler.
        if !Task.isCancelled, let read = read() { return try read.get() }
        return try await withTaskCancellationHandler {
            try Task.checkCancellation()
            if let read = read() { return try read.get() }
            return try await withCheckedThrowingContinuation { continuation in
                if let read = read(orWait: Handles.ChunkWaiter(continuation)) { continuation.resume(with: read) }
            }
        } onCancel: {
            cancel()
        }
    }

    /// Returns the next chunk, the end or the failure. `nil` if nothing is queued. Then `waiter` waits for the next event.
    private func read(orWait waiter: Handles.ChunkWaiter? = nil) -> Result<Data?, any Error>? {
        switch machine.withLock({ $0.read(orWait: waiter) }) {
        case .chunk(let chunk, let demand):
            demand?.succeed()
            return .success(chunk)
        case .end: return .success(nil)
        case .failure(let error): return .failure(error)
        case .pending: return nil
        }
    }

    func takeReadyChunk() -> Data? {
        guard !Task.isCancelled, case .chunk(let chunk, let demand)? = machine.withLock({ $0.takeChunk() }) else { return nil }
        demand?.succeed()
        return chunk
    }

    // MARK: - Giving up

    func abandon() {
        if let ending = machine.withLock({ $0.abandon() }) { conclude(ending) }
    }

    func fail(with error: any Error) {
        if let ending = machine.withLock({ $0.abandon(because: error) }) { conclude(ending) }
    }

    private func cancel() {
        // Whether a part of the request was sent is of interest only to an observer of the events.
        let (withdrawal, task) = machine.withLock { machine in (machine.cancel(isTracked: events != nil), machine.held?.task) }
        switch withdrawal {
        case .nothing: break
        case .withdraw: if let (task, group) = task { task.eventLoop.execute { self.withdraw(task, of: group) } }
        case .conclude(let ending): conclude(ending)
        }
    }

    /// Handles the passed deadline. Must be called on the task's event loop.
    private func expire(_ task: HTTPClient.Task<Void>, of group: any EventLoopGroup) {
        switch deciding(HTTPClientError.deadlineExceeded, { $0.expire($1) }) {
        case .nothing: break
        case .withdraw: withdraw(task, of: group)
        case .conclude(let ending): conclude(ending)
        }
    }

    /// Ends an exchange that has not reported any sent bytes, after it is certain whether bytes were sent. Must be called on the task's
    /// event loop.
    ///
    /// A connection may already send the request before the client's report arrives here. If the failure then said "not sent", the
    /// request could be processed twice. Therefore the request is withdrawn first. Then a task passes through each event loop twice,
    /// because one loop may queue the request and a different loop may send it. After both rounds, the loops have done and reported all
    /// earlier work.
    private func withdraw(_ task: HTTPClient.Task<Void>, of group: any EventLoopGroup) {
        task.fail(reason: HTTPClientError.deadlineExceeded)
        let loops = Array(group.makeIterator())
        (loops + loops).reduce(task.eventLoop.makeSucceededVoidFuture()) { passed, loop in passed.flatMap { loop.submit {} } }
            .hop(to: task.eventLoop)
            .whenComplete { _ in self.end(by: HTTPClientError.deadlineExceeded) { $0.withdrawn($1) } }
    }

    // MARK: - Ending

    /// Ends the exchange by an error that the client reports.
    func end(by error: any Error) { end(by: error) { $0.fail($1) } }

    /// Applies an event to the machine. The event may end the exchange with `error`.
    func end(by error: any Error, _ event: (inout Machine, (Machine.Position) -> any Error) -> Machine.Ending?) {
        if let ending = deciding(error, event) { conclude(ending) }
    }

    private func deciding<Decision: Sendable>(
        _ error: any Error, _ event: (inout Machine, (Machine.Position) -> any Error) -> Decision
    ) -> Decision {
        machine.withLock { machine in
            let loan = machine.held?.loan
            return event(&machine) { position in
                FailureMapping(
                    request: request, phase: position.phase, delivery: position.delivery, head: position.head,
                    elapsed: Self.base.duration(to: .now) - started, isShutDown: loan?.client == nil
                ).failure(for: error)
            }
        }
    }

    func conclude(_ ending: Machine.Ending) {
        let error: (any Error)? =
            switch ending.end {
            case .complete: nil
            case .failed(let error): error
            case .abandoned: CancellationError()
            }
        ending.held?.deadline?.cancel()
        ending.held?.upload?.cancel()
        // The promise fails before the task fails. Otherwise, the client would never complete a waiting write.
        ending.held?.sent?.fail(error ?? CancellationError())
        if let error {
            ending.held?.task?.0.fail(reason: error)
            ending.demand?.fail(error)
        } else {
            ending.demand?.succeed()
        }
        events?.record(.end, failure: error)
        lifetime.end(ending.end, sizes: ending.sizes)
        if let error {
            ending.headWaiter?.continuation.resume(throwing: error)
            ending.chunkWaiter?.continuation.resume(throwing: error)
        } else {
            ending.chunkWaiter?.continuation.resume(returning: nil)
        }
    }
}
#endif
