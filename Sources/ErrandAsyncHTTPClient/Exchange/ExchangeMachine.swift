#if AsyncHTTPClient
internal import ErrandCore

/// The kinds of handles that an ``ExchangeMachine`` keeps for its transport. The machine only stores the handles and returns them.
///
/// The layout of a handle should be known at compile time. The layout of a `CheckedContinuation` is not. A state that contains
/// a continuation is slow to copy, because the runtime looks up the type of each part.
protocol ExchangeHandles {
    /// The caller that waits for the head of the response.
    associatedtype HeadWaiter: Sendable
    /// The reader that waits for the next chunk of the response's body.
    associatedtype ChunkWaiter: Sendable
    /// The demand for more of the body, for which the connection waits before it reads on.
    associatedtype Demand: Sendable
    /// The other objects that live as long as the exchange, such as the timer of its deadline and the task that sends its body.
    associatedtype Held: Sendable
}

/// The decisions for one exchange: a value without locks, tasks and channels.
///
/// Each event is a method that returns a decision. The transport calls the method under its lock, and carries out the decision
/// after the lock is released. Events after the end change nothing.
struct ExchangeMachine<Handles: ExchangeHandles>: Sendable {
    /// The number of bytes of a body that are received before a reader asks for them.
    static var readAheadBytes: Int { 64 * 1024 }

    private(set) var state = State.idle
    /// The objects that the exchange holds. `nil` after the end.
    private(set) var held: Handles.Held?
    private var head: HTTPResponse?
    private var chunks = ChunkQueue<Data>()
    private var sentBytes: Int64 = 0
    private var receivedBytes: Int64 = 0

    init(holding held: Handles.Held) { self.held = held }

    // MARK: - The request

    /// Begins to wait for the response. Returns false if the exchange was already cancelled. Then `waiter` is not kept.
    mutating func begin(_ waiter: Handles.HeadWaiter) -> Bool {
        guard case .idle = state else { return false }
        state = .starting(.connecting(waiter))
        return true
    }

    enum Attachment: Sendable {
        case proceed
        case withdraw
        case conclude(Ending)
        /// The exchange had already ended. The caller must end the objects that it wanted to attach.
        case refused
    }

    /// Attaches the task that the client has returned. `hold` stores the task, with which the request can be withdrawn.
    mutating func attach(_ hold: (inout Handles.Held) -> Void) -> Attachment {
        guard self.hold(hold) else { return .refused }
        switch state {
        case .starting(let progress):
            state = .running(progress)
        case .cancelledInStart(.connecting(let waiter)):
            state = .withdrawing(reason: .cancellation, .connecting(waiter))
            return .withdraw
        case .cancelledInStart:
            if let ending = stop(.failed(CancellationError())) { return .conclude(ending) }
        case .idle, .running, .withdrawing, .ended:
            break
        }
        return .proceed
    }

    /// Changes the held objects. After the end, changes nothing and returns false.
    mutating func hold(_ change: (inout Handles.Held) -> Void) -> Bool {
        guard var changed = held.take() else { return false }
        change(&changed)
        held = changed
        return true
    }

    mutating func sendHead() {
        if case .connecting(let waiter)? = progress { progress = .sending(waiter) }
    }

    /// Records sent bytes of the request's body. Returns the number of bytes sent so far, `nil` after the end.
    mutating func send(_ count: Int) -> Int64? {
        guard !hasEnded else { return nil }
        sentBytes += Int64(count)
        return sentBytes
    }

    mutating func endSending() {
        if case .sending(let waiter)? = progress { progress = .awaitingResponse(waiter) }
    }

    // MARK: - The response

    struct HeadDelivery: Sendable {
        let waiter: Handles.HeadWaiter
        /// Whether sending stops, because the server refuses the request.
        let stopsUpload: Bool
    }

    /// - Parameter bodyLength: the length of the body in bytes; `nil` if only the end of the body shows its length.
    /// - Returns: `nil` if no caller waits for a head.
    mutating func receive(_ head: HTTPResponse, bodyLength: Int64?) -> HeadDelivery? {
        switch progress {
        case .connecting(let waiter)?, .sending(let waiter)?, .awaitingResponse(let waiter)?:
            self.head = head
            progress = .receiving(Receiving(missingBytes: bodyLength))
            return HeadDelivery(waiter: waiter, stopsUpload: head.status.code >= 300)
        case .receiving?, nil:
            return nil
        }
    }

    enum ChunkDelivery: Sendable {
        /// No reader wants the chunk.
        case ignored
        case queued
        /// The chunk was queued, and the connection waits.
        case holdBack(Handles.Demand)
        case deliver(to: Handles.ChunkWaiter)
    }

    /// - Parameter demand: creates the demand for which the connection waits. Called only if the connection must wait.
    mutating func receive(_ chunk: Data, demand: () -> Handles.Demand) -> ChunkDelivery {
        guard case .receiving(var receiving)? = progress else { return .ignored }
        receivedBytes += Int64(chunk.count)
        receiving.missingBytes = receiving.missingBytes.map { $0 - Int64(chunk.count) }
        let delivery: ChunkDelivery
        switch receiving.flow {
        case .awaited(let waiter):
            receiving.flow = .open
            delivery = .deliver(to: waiter)
        case .open:
            chunks.append(chunk)
            if chunks.bytes >= Self.readAheadBytes {
                let demand = demand()
                receiving.flow = .heldBack(demand)
                delivery = .holdBack(demand)
            } else {
                delivery = .queued
            }
        case .heldBack(let demand):
            chunks.append(chunk)
            delivery = .holdBack(demand)
        }
        progress = .receiving(receiving)
        return delivery
    }

    /// Records the end of the response.
    mutating func receiveEnd() -> Ending? {
        guard case .receiving? = progress else { return nil }
        return end(.complete)
    }

    enum Read: Sendable {
        /// - Parameter demand: completed by the caller, so that the connection continues to read. `nil` if the connection does not wait.
        case chunk(Data, demand: Handles.Demand?)
        case end
        case failure(any Error)
        /// No chunk is queued. If there is a waiter, the machine keeps it.
        case pending
    }

    /// Returns the next chunk, the end or the failure. Queued chunks come before the end.
    mutating func read(orWait waiter: Handles.ChunkWaiter? = nil) -> Read {
        if let chunk = takeChunk() { return chunk }
        if case .ended(let end) = state {
            switch end {
            case .complete: return .end
            case .failed(let error): return .failure(error)
            case .abandoned: return .failure(CancellationError())
            }
        }
        // Only one reader at a time is allowed.
        guard case .receiving(var receiving)? = progress, case .open = receiving.flow else { return .failure(BodyAlreadyUsedError()) }
        guard let waiter else { return .pending }
        receiving.flow = .awaited(waiter)
        progress = .receiving(receiving)
        return .pending
    }

    /// Removes and returns the first queued chunk. `nil` if no chunk is queued.
    mutating func takeChunk() -> Read? {
        guard let chunk = chunks.popFirst() else { return nil }
        guard case .receiving(var receiving)? = progress, case .heldBack(let demand) = receiving.flow, chunks.bytes < Self.readAheadBytes
        else { return .chunk(chunk, demand: nil) }
        receiving.flow = .open
        progress = .receiving(receiving)
        return .chunk(chunk, demand: demand)
    }

    // MARK: - Giving up

    enum Withdrawal: Sendable {
        /// No action is needed now.
        case nothing
        /// Withdraw the request, and then call ``withdrawn(_:)``.
        case withdraw
        case conclude(Ending)
    }

    /// Records that the deadline has passed.
    mutating func expire(_ failure: (Position) -> any Error) -> Withdrawal {
        switch state {
        case .starting(.connecting(let waiter)), .running(.connecting(let waiter)):
            state = .withdrawing(reason: .deadline, .connecting(waiter))
            return .withdraw
        case .cancelledInStart(.connecting(let waiter)):
            state = .withdrawing(reason: .cancellation, .connecting(waiter))
            return .withdraw
        case .idle, .starting, .cancelledInStart, .running:
            return fail(failure).map { .conclude($0) } ?? .nothing
        case .withdrawing, .ended:
            return .nothing
        }
    }

    /// Records that the task that waits for the response, or reads it, was cancelled.
    ///
    /// - Parameter isTracked: whether an observer needs to know if a part of the request was sent. Then the exchange ends only when that
    ///   is certain.
    mutating func cancel(isTracked: Bool) -> Withdrawal {
        // The queued chunks are dropped. A reader must not see their absence as the end of the body.
        if case .ended(.complete) = state, !chunks.isEmpty { state = .ended(.failed(CancellationError())) }
        if isTracked {
            switch state {
            case .starting(.connecting(let waiter)), .cancelledInStart(.connecting(let waiter)):
                state = .cancelledInStart(.connecting(waiter))
                return .nothing
            case .running(.connecting(let waiter)):
                state = .withdrawing(reason: .cancellation, .connecting(waiter))
                return .withdraw
            case .withdrawing(_, .connecting(let waiter)):
                state = .withdrawing(reason: .cancellation, .connecting(waiter))
                return .nothing
            case .idle, .starting, .cancelledInStart, .running, .withdrawing, .ended:
                break
            }
        }
        return stop(.failed(CancellationError())).map { .conclude($0) } ?? .nothing
    }

    /// Ends the exchange after its request was withdrawn. All bytes that were sent before have been reported.
    mutating func withdrawn(_ failure: (Position) -> any Error) -> Ending? {
        guard case .withdrawing(let reason, _) = state else { return nil }
        switch reason {
        case .deadline: return fail(failure)
        case .cancellation: return stop(.failed(CancellationError()))
        }
    }

    /// Ends the exchange because no reader wants the rest of the response.
    mutating func abandon() -> Ending? { stop(.abandoned) }

    /// Ends the exchange by the error of a transform of the body. Queued chunks are dropped.
    mutating func abandon(because error: any Error) -> Ending? { stop(.failed(error)) }

    // MARK: - Failing

    /// Records that the connection or the pool has failed. If the response is complete, the exchange succeeds: a server may close the
    /// connection because it does not want the rest of the request (RFC 9113, 8.1).
    mutating func connectionFailed(_ failure: (Position) -> any Error) -> Ending? {
        if case .receiving(let receiving)? = progress, receiving.missingBytes == 0 { return end(.complete) }
        if case .withdrawing = state { return nil }  // the reason of the withdrawal counts
        return fail(failure)
    }

    /// Ends the exchange by a failure. Queued chunks can still be read.
    mutating func fail(_ failure: (Position) -> any Error) -> Ending? {
        guard !hasEnded else { return nil }
        return end(.failed(failure(position)))
    }

    /// Ends the exchange if it has not ended. Always drops the queued chunks.
    private mutating func stop(_ end: ExchangeLifetime.Outcome) -> Ending? {
        chunks.removeAll()
        return hasEnded ? nil : self.end(end)
    }

    // MARK: - The end

    private var hasEnded: Bool { if case .ended = state { true } else { false } }

    /// The progress; `nil` before the beginning and after the end. A new value changes no other part of the state.
    private var progress: Progress? {
        get {
            switch state {
            case .idle, .ended: nil
            case .starting(let progress), .cancelledInStart(let progress), .running(let progress), .withdrawing(_, let progress): progress
            }
        }
        set {
            guard let newValue else { return }
            switch state {
            case .idle, .ended: break
            case .starting: state = .starting(newValue)
            case .cancelledInStart: state = .cancelledInStart(newValue)
            case .running: state = .running(newValue)
            case .withdrawing(let reason, _): state = .withdrawing(reason: reason, newValue)
            }
        }
    }

    private var position: Position {
        switch progress {
        case .connecting?, nil: Position(phase: .connect, delivery: .notSent, head: nil)
        case .sending?: Position(phase: .send, delivery: .unknown, head: nil)
        case .awaitingResponse?: Position(phase: .response, delivery: .unknown, head: nil)
        case .receiving?: Position(phase: .body, delivery: .sent, head: head)
        }
    }

    private mutating func end(_ end: ExchangeLifetime.Outcome) -> Ending {
        var headWaiter: Handles.HeadWaiter?
        var chunkWaiter: Handles.ChunkWaiter?
        var demand: Handles.Demand?
        switch progress {
        case .connecting(let waiter)?, .sending(let waiter)?, .awaitingResponse(let waiter)?:
            headWaiter = waiter
        case .receiving(let receiving)?:
            switch receiving.flow {
            case .open: break
            case .awaited(let waiter): chunkWaiter = waiter
            case .heldBack(let held): demand = held
            }
        case nil: break
        }
        state = .ended(end)
        defer { held = nil }
        return Ending(
            end: end,
            sizes: ExchangeLifetime.BodySizes(requestBytes: sentBytes, responseBytes: receivedBytes),
            held: held, headWaiter: headWaiter, chunkWaiter: chunkWaiter, demand: demand)
    }
}
#endif
