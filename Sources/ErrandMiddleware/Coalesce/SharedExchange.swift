internal import ErrandCore
internal import Synchronization

/// One exchange and its members. The exchange belongs to all of its members, and continues while at least one member stays.
final class SharedExchange: Sendable {
    /// The number of the exchange within its middleware.
    let number: Int
    /// The ID of the request that is sent for all members.
    let sent: RequestID
    private let priority: RequestPriority
    /// The retry state that members share when they send the request again.
    let retry = SharedRetry()
    private let limitBytes: Int
    /// A closure that is called when no further caller can join.
    private let onClose: @Sendable () -> Void
    /// A closure that is called when the last member has left.
    private let onOver: @Sendable () -> Void
    private let state = Mutex(SharedExchangeState())
    /// The tasks of the exchange, by number. Task 0 sends the request. All later tasks read the body; at most one of them is in progress.
    private let work = SingleFlight<Int, Void>()

    init(
        number: Int, sent: RequestID, priority: RequestPriority, limitBytes: Int, onClose: @escaping @Sendable () -> Void,
        onOver: @escaping @Sendable () -> Void
    ) {
        self.number = number
        self.sent = sent
        self.priority = priority
        self.limitBytes = limitBytes
        (self.onClose, self.onOver) = (onClose, onOver)
    }

    var memberCount: Int { state.withLock(\.members.count) }
    var trailers: HTTPFields? { state.withLock(\.trailers) }

    // MARK: Members

    /// Adds a member, and returns the number of the member. Returns `nil` if no caller can join any more. Also returns `nil` if there is no
    /// response yet, and the caller has a higher priority than the exchange.
    func join(_ priority: RequestPriority) -> Int? { state.withLock { $0.join(mayWait: priority <= self.priority) } }

    /// Removes a member. Does nothing for a member that has left.
    ///
    /// - Parameter end: the outcome with which the lifetime of the member's response ends. With `nil`, the lifetime continues.
    func leave(_ member: Int, _ end: ExchangeLifetime.Outcome?) {
        guard let left = state.withLock({ $0.leave(member) }) else { return }
        left.member.waiter?.resume()
        if let end { left.member.lifetime?.end(end) }
        guard left.isLast else { return }
        if left.isClosing { onClose() }
        left.response?.body.abandon()
        work.cancelAll()
        onOver()
        withExtendedLifetime(left.reader) {}
    }

    /// Waits until the state of the member may have changed.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    private func wait(_ member: Int) async throws {
        try await waitInQueue { _, continuation in
            state.withLock { !Task.isCancelled && $0.wait(member, continuation) } ? nil : .success(())
        } leave: { [self] _ in
            state.withLock { $0.stopWaiting(member) }
        }
    }

    private func act(on effects: SharedExchangeState.Effects, lifetimes end: @autoclosure () -> ExchangeLifetime.Outcome) {
        if effects.isClosing { onClose() }
        for lifetime in effects.lifetimes { lifetime.end(end()) }
        effects.resumeWaiters()
    }

    // MARK: The head

    /// Sends `request` for all members. Only the first member calls this function, once.
    func send(_ request: Request, to next: some HTTPSender) {
        var request = request
        request.deadline = nil  // each member has its own deadline
        // Each member ends its own call. If the stack has an outer `validateStatus`, each member itself also reads the error of the back
        // end.
        request.options.call.awaitsDecoding = false
        if request.options.call.passedStatusRule != nil { request.options.call.serviceErrors = nil }
        let shared = request
        work.begin(0) { [self] in receive(await Result(of: { try await next.send(shared) })) }
    }

    private func receive(_ result: Result<Response, any Error>) {
        let effects = state.withLock { $0.receive(result) }
        guard let effects else {
            if case .success(let response) = result { response.body.abandon() }
            return
        }
        // The reference is weak. If the sender never reported the end, a strong reference would keep the exchange in memory forever.
        if case .success(let response) = result { response.exchange.onEnd { [weak self] in self?.end($0) } }
        act(on: effects, lifetimes: .complete)
    }

    private func end(_ end: ExchangeLifetime.Outcome) { act(on: state.withLock { $0.end(end) }, lifetimes: end) }

    /// Waits for the response of the exchange. Returns this response, and the lifetime of the member's own response.
    ///
    /// - Throws: the failure of the exchange; ``SlowReaderError``; `CancellationError` when the task is cancelled. If this method throws,
    ///   the member has left.
    func response(for member: Int) async throws -> (Response, ExchangeLifetime) {
        do {
            while true {
                try Task.checkCancellation()
                switch state.withLock({ $0.takeResult(member) }) {
                case .response(let response, let lifetime): return (response, lifetime)
                case .failure(let error): throw error
                case .tooSlow: throw slowReaderError
                case .none: try await wait(member)
                }
            }
        } catch {
            leave(member, .abandoned)
            throw error
        }
    }

    // MARK: The body

    /// Returns the member's next chunk; `nil` at the end. A caller that gets an error must call ``leave(_:_:)``.
    ///
    /// - Throws: the error that ended the body; ``SlowReaderError``; ``/ErrandCore/BodyAlreadyUsedError`` after the member has
    ///   left; `CancellationError` when the task is cancelled.
    func next(for member: Int) async throws -> Data? {
        while true {
            try Task.checkCancellation()
            switch state.withLock({ $0.step(for: member) }) {
            case .chunk(let chunk): return chunk
            case .end:
                leave(member, .complete)
                return nil
            case .failure(let error): throw error
            case .tooSlow: throw slowReaderError
            case .hasLeft: throw BodyAlreadyUsedError()
            case .wait: try await wait(member)
            case .read(let number, let reader):
                beginRead(number, reader)
                try await wait(member)
            case .readAlone(let reader):
                do {
                    if let chunk = try await reader.next() { return chunk }
                } catch {
                    // Another task has abandoned this member's view of the body.
                    if state.withLock({ $0.hasLeft(member) }) { throw BodyAlreadyUsedError() }
                    throw error
                }
                act(on: state.withLock { $0.endBody(nil) }, lifetimes: .complete)
            }
        }
    }

    /// Takes the member's next chunk, if a chunk is buffered.
    func takeBufferedChunk(for member: Int) -> Data? { state.withLock { $0.takeChunk(member) } }

    private var slowReaderError: SlowReaderError {
        SlowReaderError(limitBytes: limitBytes, request: nil, response: state.withLock(\.head))
    }

    private func beginRead(_ number: Int, _ reader: ResponseBody.SharedIterator) {
        // Another task may have removed the last member before the read was registered.
        work.begin(number, while: { !state.withLock(\.isOver) }) { [self] in
            do {
                receive(try await reader.next())
            } catch {
                act(on: state.withLock { $0.endBody(error) }, lifetimes: .failed(error))
            }
        }
    }

    private func receive(_ chunk: Data?) {
        let effects = state.withLock { state in
            guard let chunk else { return state.endBody(nil) }
            return state.receive(chunk, limitBytes: limitBytes)
        }
        // After a chunk, `effects` ends only the lifetimes of evicted members.
        act(on: effects, lifetimes: .failed(slowReaderError))
    }
}
