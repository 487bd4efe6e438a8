internal import ErrandCore
internal import ErrandFormats

/// What an exchange knows of those who share it: decides, and leaves the doing to ``SharedExchange``.
struct SharedExchangeState: Sendable {
    /// One caller, from the moment it joins to the moment it has what it wants, fails or leaves.
    struct Member: Sendable {
        /// Who is to be woken.
        var waiter: CheckedContinuation<Void, Never>?
        /// The end of its own response; nil until it has one.
        var lifetime: ExchangeLifetime?
        /// Read and not yet taken.
        var chunks = ChunkQueue<Data>()
        /// It wants the next chunk, and has none.
        var isAsking = false
    }

    /// What a member is to do to get its next chunk.
    enum Step: Sendable {
        case chunk(Data)
        case end
        case failure(any Error)
        /// It was so slow that it would have kept more than the limit.
        case fellBehind
        /// It has left.
        case gone
        /// The chunk is on its way.
        case wait
        /// Read it, for all.
        case read(number: Int, ResponseBody.Reader)
        /// Read it, for nobody else can want it.
        case readAlone(ResponseBody.Reader)
    }

    /// What a member gets when the exchange is answered.
    enum Answer: Sendable {
        case response(Response, ExchangeLifetime)
        case failure(any Error)
        /// It was out before it took the answer.
        case fellBehind
        case none
    }

    /// One that has left.
    struct Departure: Sendable {
        let member: Member
        let isLast: Bool
        var isClosing = false
        /// To be released where it was the last, and not under the lock: letting go of a body tells its end.
        var answer: Response?
        var reader: ResponseBody.Reader?
    }

    /// Whom to wake, and whose exchange is over, once the lock is released.
    struct Wakes: Sendable {
        var waiters: [CheckedContinuation<Void, Never>] = []
        var lifetimes: [ExchangeLifetime] = []
        /// From now on nobody can join. Told once.
        var isClosing = false

        func wake() { for waiter in waiters { waiter.resume() } }
    }

    static let firstMember = 1

    private(set) var members = [firstMember: Member()]
    private var nextMember = firstMember
    /// Whether somebody can join.
    private var isOpen = true
    private var hasToldClosing = false
    /// The last one has left.
    private(set) var isOver = false
    private var answer: Result<Response, any Error>?
    private var reader: ResponseBody.Reader?
    private var ended: ExchangeLifetime.Outcome?
    private var reads = 0
    private var isReading = false
    /// With the trailers.
    private var bodyEnd: Result<HTTPFields?, any Error>?
    /// Members that are out, and have not been told.
    private var behind: Set<Int> = []

    // MARK: Coming and going

    /// Nil where it is too late, or there is no response yet and the caller does not want to wait for it.
    mutating func join(mayWait: Bool) -> Int? {
        guard isOpen, mayWait || answer != nil else { return nil }
        nextMember += 1
        members[nextMember] = Member()
        return nextMember
    }

    /// Nil if it had left before.
    mutating func leave(_ id: Int) -> Departure? {
        behind.remove(id)
        guard let member = members.removeValue(forKey: id) else { return nil }
        guard members.isEmpty else { return Departure(member: member, isLast: false) }
        (isOpen, isOver) = (false, true)
        defer { (answer, reader) = (nil, nil) }
        return Departure(member: member, isLast: true, isClosing: takeClosing(), answer: try? answer?.get(), reader: reader)
    }

    func isGone(_ id: Int) -> Bool { members[id] == nil }

    /// Keeps who waits, unless there is something for it already.
    mutating func wait(_ id: Int, _ waiter: CheckedContinuation<Void, Never>) -> Bool {
        guard let member = members[id], member.waiter == nil, !isReady(member) else { return false }
        members[id]?.waiter = waiter
        return true
    }

    mutating func stopWaiting(_ id: Int) -> CheckedContinuation<Void, Never>? {
        defer { members[id]?.waiter = nil }
        return members[id]?.waiter
    }

    private func isReady(_ member: Member) -> Bool {
        if member.lifetime == nil { return answer != nil }
        return !member.chunks.isEmpty || bodyEnd != nil
    }

    private mutating func takeClosing() -> Bool {
        guard !isOpen, !hasToldClosing else { return false }
        hasToldClosing = true
        return true
    }

    private mutating func wakes() -> Wakes {
        var wakes = Wakes(isClosing: takeClosing())
        for id in Array(members.keys) {
            if let waiter = stopWaiting(id) { wakes.waiters.append(waiter) }
        }
        return wakes
    }

    // MARK: The head

    /// Nil where everybody has left.
    mutating func answer(_ answer: Result<Response, any Error>) -> Wakes? {
        guard !isOver else { return nil }
        self.answer = answer
        if case .success(let response) = answer {
            reader = response.body.bufferedData == nil ? response.body.makeReader() : nil
            // What is whole in memory is not under way any more.
            isOpen = reader != nil
        } else {
            isOpen = false
        }
        return wakes()
    }

    /// The exchange has ended on the wire: what comes from now on is not concurrent with it.
    mutating func end(_ end: ExchangeLifetime.Outcome) -> Wakes {
        ended = end
        isOpen = false
        return Wakes(lifetimes: members.values.compactMap(\.lifetime), isClosing: takeClosing())
    }

    mutating func takeAnswer(_ id: Int) -> Answer {
        guard !isGone(id) else { return .fellBehind }
        switch answer {
        case .success(let response)?:
            let lifetime = ended.map { ExchangeLifetime(outcome: $0) } ?? ExchangeLifetime()
            members[id]?.lifetime = lifetime
            return .response(response, lifetime)
        case .failure(let error)?: return .failure(error)
        case nil: return .none
        }
    }

    /// The head, once it is there and while somebody stays.
    var head: HTTPResponse? { (try? answer?.get())?.head }

    // MARK: The body

    /// The trailers of a body that has come to its end.
    var trailers: HTTPFields? {
        guard case .success(let trailers)? = bodyEnd else { return nil }
        return trailers
    }

    /// A chunk that is there.
    mutating func takeChunk(_ id: Int) -> Data? { members[id]?.chunks.popFirst() }

    mutating func step(for id: Int) -> Step {
        if behind.remove(id) != nil { return .fellBehind }
        // A second reader at a time is against the rules of a body. (A copy of the member would make its chunks be copied as well.)
        guard !isGone(id), members[id]?.waiter == nil else { return .gone }
        members[id]?.isAsking = false
        if let chunk = members[id]?.chunks.popFirst() { return .chunk(chunk) }
        switch bodyEnd {
        case .success?: return .end
        case .failure(let error)?: return .failure(error)
        case nil: break
        }
        guard let reader else { return .gone }
        // Nobody can join any more: then a read that is torn by its caller's cancellation is nobody else's loss.
        if members.count == 1, !isOpen, !isReading { return .readAlone(reader) }
        members[id]?.isAsking = true
        guard !isReading else { return .wait }
        isReading = true
        reads += 1
        return .read(number: reads, reader)
    }

    /// What was read for all. Who would keep more than `limitBytes` is out, unless nobody has asked.
    mutating func receive(_ chunk: Data, limitBytes: Int) -> Wakes {
        (isReading, isOpen) = (false, false)
        let isAsked = members.values.contains(where: \.isAsking)
        var lifetimes: [ExchangeLifetime] = []
        for id in Array(members.keys) {
            let hasRoom = members[id].map { $0.isAsking || !isAsked || $0.chunks.bytes + chunk.count <= limitBytes } ?? false
            if hasRoom {
                members[id]?.chunks.append(chunk)
                // The read is satisfied. Until the next one, this member's buffer is limited again.
                members[id]?.isAsking = false
            } else {
                if let lifetime = members.removeValue(forKey: id)?.lifetime { lifetimes.append(lifetime) }
                behind.insert(id)
            }
        }
        var wakes = wakes()
        wakes.lifetimes = lifetimes
        return wakes
    }

    /// The body is over: as a whole, or by the error.
    mutating func endBody(_ error: (any Error)?) -> Wakes {
        (isReading, isOpen) = (false, false)
        if let error { bodyEnd = .failure(error) } else { bodyEnd = .success((try? answer?.get())?.body.trailers) }
        return wakes()
    }
}
