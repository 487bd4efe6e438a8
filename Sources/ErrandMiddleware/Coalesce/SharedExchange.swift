internal import ErrandCore
internal import Synchronization

/// One exchange, and those who share it. It belongs to none of them: it goes on while one of them stays.
final class SharedExchange: Sendable {
    /// Counts the exchanges of a middleware.
    let number: Int
    /// Of the request that is sent for all.
    let sent: RequestID
    private let priority: RequestPriority
    /// For those who send it again.
    let retry = SharedRetry()
    private let limitBytes: Int
    /// Nobody can join any more.
    private let onClose: @Sendable () -> Void
    /// Nobody stays.
    private let onOver: @Sendable () -> Void
    private let state = Mutex(SharedExchangeState())
    /// The exchange itself is number 0; then come the reads of its body, of which one is under way at most.
    private let work = SingleFlight<Int, Void>()

    init(
        number: Int, sent: RequestID, priority: RequestPriority, limitBytes: Int, onClose: @escaping @Sendable () -> Void,
        onOver: @escaping @Sendable () -> Void
    ) {
        (self.number, self.sent, self.priority, self.limitBytes) = (number, sent, priority, limitBytes)
        (self.onClose, self.onOver) = (onClose, onOver)
    }

    var memberCount: Int { state.withLock(\.members.count) }
    var trailers: HTTPFields? { state.withLock(\.trailers) }

    // MARK: Coming and going

    /// The member's number; nil where it is too late, or where the caller would wait behind those who are less urgent than itself.
    func join(_ priority: RequestPriority) -> Int? { state.withLock { $0.join(mayWait: priority <= self.priority) } }

    /// Does nothing for a member that has left.
    ///
    /// - Parameter end: of its response's lifetime; nil lets that go on.
    func leave(_ member: Int, _ end: ExchangeLifetime.Outcome?) {
        guard let left = state.withLock({ $0.leave(member) }) else { return }
        left.member.waiter?.resume()
        if let end { left.member.lifetime?.end(end) }
        guard left.isLast else { return }
        if left.isClosing { onClose() }
        left.answer?.body.abandon()
        work.cancelAll()
        onOver()
        withExtendedLifetime(left.reader) {}
    }

    /// Returns when there may be something for the member, or when the task is cancelled.
    private func wait(_ member: Int) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waits = state.withLock { !Task.isCancelled && $0.wait(member, continuation) }
                if !waits { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.stopWaiting(member) }?.resume()
        }
    }

    private func act(on wakes: SharedExchangeState.Wakes, lifetimes end: @autoclosure () -> ExchangeLifetime.Outcome) {
        if wakes.isClosing { onClose() }
        for lifetime in wakes.lifetimes { lifetime.end(end()) }
        wakes.wake()
    }

    // MARK: The head

    /// Sends `request` for all. Called once, by the first member.
    func send(_ request: Request, to next: some HTTPSender) {
        var request = request
        request.deadline = nil  // each member has its own
        request.options.call.awaitsDecoding = false  // and so it has its own end of the call
        let shared = request
        work.begin(0) { [self] in
            do {
                answered(.success(try await next.send(shared)))
            } catch {
                answered(.failure(error))
            }
        }
    }

    private func answered(_ answer: Result<Response, any Error>) {
        let wakes = state.withLock { $0.answer(answer) }
        guard let wakes else {
            if case .success(let response) = answer { response.body.abandon() }
            return
        }
        // Weakly: an exchange whose sender never tells its end would keep itself.
        if case .success(let response) = answer { response.exchange.onEnd { [weak self] in self?.ended($0) } }
        act(on: wakes, lifetimes: .complete)
    }

    private func ended(_ end: ExchangeLifetime.Outcome) { act(on: state.withLock { $0.end(end) }, lifetimes: end) }

    /// What came of the exchange, and the lifetime of the member's response.
    ///
    /// - Throws: what the exchange failed by; `CancellationError` when the task is cancelled. Then the member has left.
    func answer(to member: Int) async throws -> (Response, ExchangeLifetime) {
        do {
            while true {
                try Task.checkCancellation()
                switch state.withLock({ $0.takeAnswer(member) }) {
                case .response(let response, let lifetime): return (response, lifetime)
                case .failure(let error): throw error
                case .fellBehind: throw fellBehind
                case .none: await wait(member)
                }
            }
        } catch {
            leave(member, .abandoned)
            throw error
        }
    }

    // MARK: The body

    /// The member's next chunk; nil at the end. Whoever gets an error is to leave.
    ///
    /// - Throws: what the body broke off by; ``SlowReaderError``; ``BodyAlreadyUsedError`` once the member has left; `CancellationError` when the
    ///   task is cancelled.
    func next(for member: Int) async throws -> Data? {
        while true {
            try Task.checkCancellation()
            switch state.withLock({ $0.step(for: member) }) {
            case .chunk(let chunk): return chunk
            case .end:
                leave(member, .complete)
                return nil
            case .failure(let error): throw error
            case .fellBehind: throw fellBehind
            case .gone: throw BodyAlreadyUsedError()
            case .wait: await wait(member)
            case .read(let number, let reader):
                beginRead(number, reader)
                await wait(member)
            case .readAlone(let reader):
                do {
                    if let chunk = try await reader.next() { return chunk }
                } catch {
                    // Another task has given the view up.
                    if state.withLock({ $0.isGone(member) }) { throw BodyAlreadyUsedError() }
                    throw error
                }
                act(on: state.withLock { $0.endBody(nil) }, lifetimes: .complete)
            }
        }
    }

    /// The member's next chunk, if it is there.
    func chunkAtHand(for member: Int) -> Data? { state.withLock { $0.takeChunk(member) } }

    private var fellBehind: SlowReaderError {
        SlowReaderError(limitBytes: limitBytes, request: nil, response: state.withLock(\.head))
    }

    private func beginRead(_ number: Int, _ reader: ResponseBody.Reader) {
        work.begin(number) { [self] in
            do {
                received(try await reader.next())
            } catch {
                act(on: state.withLock { $0.endBody(error) }, lifetimes: .failed(error))
            }
        }
        // The last member may have left, from another task, before the read was known.
        if state.withLock(\.isOver) { work.cancelAll() }
    }

    private func received(_ chunk: Data?) {
        let wakes = state.withLock { state in
            guard let chunk else { return state.endBody(nil) }
            return state.receive(chunk, limitBytes: limitBytes)
        }
        // Those whose lifetime ends here are out.
        act(on: wakes, lifetimes: .failed(fellBehind))
    }
}
