internal import ErrandCore
internal import ErrandFormats

/// The pure state machine of a shared exchange and its members. ``SharedExchange`` performs the decisions.
struct SharedExchangeState: Sendable {
    /// One caller that has joined. The member is removed when it has read the body, has failed, or no longer wants the body.
    struct Member: Sendable {
        /// The continuation to resume when the state of the member may have changed; `nil` if the member does not wait.
        var waiter: CheckedContinuation<Void, any Error>?
        /// The lifetime of the member's own response; `nil` before the response.
        var lifetime: ExchangeLifetime?
        /// The chunks that the member has not taken yet.
        var chunks = ChunkQueue<Data>()
        /// Whether the member waits for the next chunk.
        var isAsking = false
    }

    /// The step with which a member gets its next chunk.
    enum Step: Sendable {
        case chunk(Data)
        case end
        case failure(any Error)
        /// The member was evicted, because its buffer would have exceeded the limit.
        case tooSlow
        /// The member has left.
        case hasLeft
        /// The member waits for a read that is in progress.
        case wait
        /// The member reads the chunk for all members.
        case read(number: Int, ResponseBody.SharedIterator)
        /// The member reads the chunk only for itself, because no other member can need the chunk.
        case readAlone(ResponseBody.SharedIterator)
    }

    /// The result of the exchange for one member.
    enum Arrival: Sendable {
        case response(Response, ExchangeLifetime)
        case failure(any Error)
        /// The member was evicted before it took the response.
        case tooSlow
        case none
    }

    /// A member that has left.
    struct Departure: Sendable {
        let member: Member
        let isLast: Bool
        var isClosing = false
        /// The response, which is returned only for the last member. The caller must release the response after the lock is released,
        /// because releasing a body reports its end.
        var response: Response?
        var reader: ResponseBody.SharedIterator?
    }

    /// The members to resume, and the lifetimes to end, after the lock is released.
    struct Effects: Sendable {
        var waiters: [CheckedContinuation<Void, any Error>] = []
        var lifetimes: [ExchangeLifetime] = []
        /// Whether the exchange has just been closed to new callers. This value is true only once.
        var isClosing = false

        func resumeWaiters() { for waiter in waiters { waiter.resume() } }
    }

    static let firstMember = 1

    private(set) var members = [firstMember: Member()]
    private var nextMember = firstMember
    /// Whether a caller can join.
    private var isOpen = true
    private var hasReportedClosing = false
    /// Whether the last member has left.
    private(set) var isOver = false
    private var result: Result<Response, any Error>?
    private var reader: ResponseBody.SharedIterator?
    private var ended: ExchangeLifetime.Outcome?
    private var reads = 0
    private var isReading = false
    /// The trailers of a complete body, or the error that ended the body; `nil` before the end.
    private var bodyEnd: Result<HTTPFields?, any Error>?
    /// The evicted members that have not received their error yet.
    private var slowMembers: Set<Int> = []

    // MARK: Members

    /// Adds a member. Returns `nil` if no caller can join any more. Also returns `nil` if there is no response yet, and `mayWait` is false.
    mutating func join(mayWait: Bool) -> Int? {
        guard isOpen, mayWait || result != nil else { return nil }
        nextMember += 1
        members[nextMember] = Member()
        return nextMember
    }

    /// Removes a member. Returns `nil` if the member had already left.
    mutating func leave(_ id: Int) -> Departure? {
        slowMembers.remove(id)
        guard let member = members.removeValue(forKey: id) else { return nil }
        guard members.isEmpty else { return Departure(member: member, isLast: false) }
        (isOpen, isOver) = (false, true)
        defer { (result, reader) = (nil, nil) }
        return Departure(member: member, isLast: true, isClosing: takeClosing(), response: try? result?.get(), reader: reader)
    }

    func hasLeft(_ id: Int) -> Bool { members[id] == nil }

    /// Stores the continuation of a member that must wait. Returns false if the member need not wait.
    mutating func wait(_ id: Int, _ waiter: CheckedContinuation<Void, any Error>) -> Bool {
        guard let member = members[id], member.waiter == nil, !isReady(member) else { return false }
        members[id]?.waiter = waiter
        return true
    }

    mutating func stopWaiting(_ id: Int) -> CheckedContinuation<Void, any Error>? {
        members[id]?.waiter.take()
    }

    private func isReady(_ member: Member) -> Bool {
        if member.lifetime == nil { return result != nil }
        return !member.chunks.isEmpty || bodyEnd != nil
    }

    private mutating func takeClosing() -> Bool {
        guard !isOpen, !hasReportedClosing else { return false }
        hasReportedClosing = true
        return true
    }

    private mutating func makeEffects() -> Effects {
        var effects = Effects(isClosing: takeClosing())
        for id in Array(members.keys) {
            if let waiter = stopWaiting(id) { effects.waiters.append(waiter) }
        }
        return effects
    }

    // MARK: The head

    /// Records the response. Returns `nil` if every member has left.
    mutating func receive(_ result: Result<Response, any Error>) -> Effects? {
        guard !isOver else { return nil }
        self.result = result
        if case .success(let response) = result {
            reader = response.body.bufferedData == nil ? response.body.makeSharedIterator() : nil
            // If the whole response is in memory, the exchange is no longer in progress.
            isOpen = reader != nil
        } else {
            isOpen = false
        }
        return makeEffects()
    }

    /// Records the end of the exchange on the wire. No caller can join any more, because a later request is not concurrent with the
    /// exchange.
    mutating func end(_ end: ExchangeLifetime.Outcome) -> Effects {
        ended = end
        isOpen = false
        return Effects(lifetimes: members.values.compactMap(\.lifetime), isClosing: takeClosing())
    }

    mutating func takeResult(_ id: Int) -> Arrival {
        guard !hasLeft(id) else { return .tooSlow }
        switch result {
        case .success(let response)?:
            let lifetime = ended.map { ExchangeLifetime(outcome: $0) } ?? ExchangeLifetime()
            members[id]?.lifetime = lifetime
            return .response(response, lifetime)
        case .failure(let error)?: return .failure(error)
        case nil: return .none
        }
    }

    /// The head of the response; `nil` before the response, and after the last member has left.
    var head: HTTPResponse? { (try? result?.get())?.head }

    // MARK: The body

    /// The trailers of a body that was read to its end.
    var trailers: HTTPFields? {
        guard case .success(let trailers)? = bodyEnd else { return nil }
        return trailers
    }

    /// Takes a buffered chunk.
    mutating func takeChunk(_ id: Int) -> Data? { members[id]?.chunks.popFirst() }

    mutating func step(for id: Int) -> Step {
        if slowMembers.remove(id) != nil { return .tooSlow }
        // Two concurrent reads of one body are not allowed. The member is read in place, because a copy of the member would also copy its
        // chunks.
        guard !hasLeft(id), members[id]?.waiter == nil else { return .hasLeft }
        members[id]?.isAsking = false
        if let chunk = members[id]?.chunks.popFirst() { return .chunk(chunk) }
        switch bodyEnd {
        case .success?: return .end
        case .failure(let error)?: return .failure(error)
        case nil: break
        }
        guard let reader else { return .hasLeft }
        // This member is the only member, and no further caller can join. Therefore, if the caller is cancelled, the read may be
        // interrupted.
        if members.count == 1, !isOpen, !isReading { return .readAlone(reader) }
        members[id]?.isAsking = true
        guard !isReading else { return .wait }
        isReading = true
        reads += 1
        return .read(number: reads, reader)
    }

    /// Delivers a chunk to every member. If the buffer of a member would exceed `limitBytes`, the member is evicted. If no member
    /// is waiting for a chunk, no member is evicted.
    mutating func receive(_ chunk: Data, limitBytes: Int) -> Effects {
        (isReading, isOpen) = (false, false)
        let isAsked = members.values.contains(where: \.isAsking)
        var lifetimes: [ExchangeLifetime] = []
        for id in Array(members.keys) {
            let hasRoom = members[id].map { $0.isAsking || !isAsked || $0.chunks.bytes + chunk.count <= limitBytes } ?? false
            if hasRoom {
                members[id]?.chunks.append(chunk)
                // The read is complete. Until the member's next read, the buffer of the member is limited again.
                members[id]?.isAsking = false
            } else {
                if let lifetime = members.removeValue(forKey: id)?.lifetime { lifetimes.append(lifetime) }
                slowMembers.insert(id)
            }
        }
        var effects = makeEffects()
        effects.lifetimes = lifetimes
        return effects
    }

    /// Records the end of the body. If `error` is `nil`, the body is complete.
    mutating func endBody(_ error: (any Error)?) -> Effects {
        (isReading, isOpen) = (false, false)
        if let error { bodyEnd = .failure(error) } else { bodyEnd = .success((try? result?.get())?.body.trailers) }
        return makeEffects()
    }
}
