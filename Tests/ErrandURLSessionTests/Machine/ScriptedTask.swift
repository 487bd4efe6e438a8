internal import ErrandCore

@testable internal import ErrandURLSession

/// An error of the machine's tests: the fault and the position, as text.
struct ScriptedFailure: Error, Hashable {
    let fault: String
    let phase: String
    let delivery: Delivery
    let hasHead: Bool
}

/// A machine whose actions are counted.
struct ScriptedTask {
    typealias Machine = URLSessionMachine<Int, Int, Int>

    var machine: Machine
    private(set) var log: [String] = []
    /// The number of times that each waiter was resumed.
    private(set) var heads: [Int: Int] = [:]
    private(set) var readers: [Int: Int] = [:]
    /// The replies to each challenge.
    private(set) var replies: [Int: [Machine.TrustReply]] = [:]
    private(set) var deliveredBytes = 0
    private(set) var isSuspended = false
    private(set) var flowChanges = 0

    init(_ change: (inout Machine.Rules) -> Void = { _ in }) {
        var rules = Machine.Rules()
        (rules.marks.readAheadBytes, rules.marks.windowBytes) = (5, 5)
        change(&rules)
        machine = Machine(rules) { fault, exchange in
            ScriptedFailure(
                fault: "\(fault)".prefix { $0 != "(" }.description, phase: exchange.position.phase.description,
                delivery: exchange.position.delivery, hasHead: exchange.head != nil)
        }
    }

    func count(_ name: String) -> Int { log.count { $0 == name } }
    var outcome: ExchangeLifetime.Outcome? { if case .ended(let outcome) = machine.state { outcome } else { nil } }

    var failure: ScriptedFailure? {
        if case .failed(let error)? = outcome { error as? ScriptedFailure } else { nil }
    }

    /// Applies a call or a callback, and carries out its actions.
    mutating func apply(_ step: (inout Machine) -> [Machine.Action]) {
        for action in step(&machine) {
            switch action {
            case .start: log.append("start")
            case .adjustFlow: log.append("adjustFlow")
            case .cancelTask: log.append("cancelTask")
            case .stopUpload: log.append("stopUpload")
            case .ask(let trust): log.append("ask \(trust.host)")
            case .reply(let challenge, let reply):
                log.append("reply")
                replies[challenge, default: []].append(reply)
            case .record(let kind, let bytes): log.append(kind.description + (bytes.map { " \($0)" } ?? ""))
            case .recordInformational: log.append("informationalResponse")
            case .recordHead: log.append("responseHead")
            case .recordTimings: log.append("timings")
            case .recordEnd(let error): log.append(error == nil ? "end" : "end failed")
            case .endLifetime: log.append("endLifetime")
            case .forget: log.append("forget")
            case .deliverHead(_, let waiter):
                log.append("deliverHead")
                heads[waiter, default: 0] += 1
            case .failHead(let waiter, _):
                log.append("failHead")
                heads[waiter, default: 0] += 1
            case .deliver(let chunk, let waiter):
                log.append("deliver")
                deliveredBytes += chunk.count
                readers[waiter, default: 0] += 1
            case .endBody(let waiter, let error):
                log.append(error == nil ? "endBody" : "failBody")
                readers[waiter, default: 0] += 1
            case .publishEnd: apply { $0.publishEnd() }
            }
        }
    }

    /// Suspends or resumes the task, as the machine says now.
    mutating func adjustFlow() {
        guard machine.isHeldBack != isSuspended else { return }
        isSuspended.toggle()
        flowChanges += 1
    }

    /// Reads a chunk, and counts its bytes.
    mutating func read(orWait waiter: Int? = nil) -> Machine.Read {
        var read = Machine.Read.pending
        apply { machine in
            let (result, actions) = machine.read(orWait: waiter)
            read = result
            return actions
        }
        if case .chunk(let chunk) = read { deliveredBytes += chunk.count }
        return read
    }

    mutating func respond(_ fields: HTTPFields = [:], status: Int = 200, to method: HTTPRequest.Method = .get) {
        let head = ReceivedHead(HTTPResponse(status: .init(code: status), headerFields: fields), to: method)
        apply { $0.receive(head).1 }
    }
}

extension URLSessionMachine.Read {
    var isPending: Bool { if case .pending = self { true } else { false } }
    var isChunk: Bool { if case .chunk = self { true } else { false } }
    var failure: (any Error)? { if case .failure(let error) = self { error } else { nil } }
}
