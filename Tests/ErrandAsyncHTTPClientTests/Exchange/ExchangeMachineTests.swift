#if AsyncHTTPClient
internal import Errand
@testable internal import ErrandAsyncHTTPClient
internal import Foundation
internal import Testing

/// What an exchange does about each event in each state, without a connection.
@Suite(.timeLimit(.minutes(5))) struct ExchangeMachineTests {
    enum Handles: ExchangeHandles {
        typealias HeadWaiter = String
        typealias ChunkWaiter = String
        typealias Demand = String
        typealias Held = String
    }

    typealias Machine = ExchangeMachine<Handles>

    /// Where the exchange was.
    struct Failed: Error, CustomStringConvertible {
        let position: Machine.Position
        var description: String {
            "failure in \(position.phase), delivery: \(position.delivery), status: \(position.head?.status.code ?? 0)"
        }
    }

    /// What can happen to an exchange.
    enum Event: String, CaseIterable, Sendable {
        case begin, attach, sentHead, sentPart, sentAll
        case success, refusal, emptySuccess, chunk, largeChunk, wholeBody, end
        case read, wait
        case connectionFailure, failure, deadline, withdrawn, cancellation, trackedCancellation, abandonment

        /// What the machine says is to be done; empty for nothing.
        func apply(to machine: inout Machine) -> String {
            let failure = { Failed(position: $0) as any Error }
            switch self {
            case .begin: return machine.begin("head waiter") ? "" : "refused"
            case .attach:
                switch machine.attach({ $0 += " and task" }) {
                case .proceed: return ""
                case .withdraw: return "withdraw"
                case .conclude(let ending): return text(ending)
                case .refused: return "refused"
                }
            case .sentHead: machine.sendHead()
            case .sentPart: return machine.send(10).map { "\($0) bytes sent" } ?? ""
            case .sentAll: machine.endSending()
            case .success, .refusal, .emptySuccess:
                let head = HTTPResponse(status: self == .refusal ? .contentTooLarge : .ok)
                let length: Int64? = self == .emptySuccess ? 0 : self == .success ? 100_000 : nil
                guard let delivery = machine.receive(head, bodyLength: length) else { return "" }
                return "wake \(delivery.waiter)" + (delivery.stopsUpload ? ", stop the upload" : "")
            case .chunk, .largeChunk, .wholeBody:
                let count = self == .chunk ? 1_000 : self == .largeChunk ? 64 * 1024 : 100_000
                switch machine.receive(Data(count: count), demand: { "demand" }) {
                case .ignored: return ""
                case .queued: return "queued"
                case .holdBack(let demand): return "hold back by \(demand)"
                case .deliver(let waiter): return "wake \(waiter)"
                }
            case .end: return text(machine.receiveEnd())
            case .read, .wait:
                switch machine.read(orWait: self == .wait ? "reader" : nil) {
                case .chunk(let chunk, let demand): return "\(chunk.count) bytes" + (demand.map { ", grant \($0)" } ?? "")
                case .end: return "end"
                case .failure(let error): return "throw \(type(of: error))"
                case .pending: return ""
                }
            case .connectionFailure: return text(machine.connectionFailed(failure))
            case .failure: return text(machine.fail(failure))
            case .deadline: return text(machine.expire(failure))
            case .withdrawn: return text(machine.withdrawn(failure))
            case .cancellation: return text(machine.cancel(isTracked: false))
            case .trackedCancellation: return text(machine.cancel(isTracked: true))
            case .abandonment: return text(machine.abandon())
            }
            return ""
        }

        private func text(_ withdrawal: Machine.Withdrawal) -> String {
            switch withdrawal {
            case .nothing: ""
            case .withdraw: "withdraw"
            case .conclude(let ending): text(ending)
            }
        }

        private func text(_ ending: Machine.Ending?) -> String {
            guard let ending else { return "" }
            let woken = [ending.headWaiter, ending.chunkWaiter].compactMap { $0 }.map { ", wake \($0)" }
            return "release \(ending.held ?? "nothing")" + woken.joined() + (ending.demand.map { ", give up \($0)" } ?? "")
        }
    }

    static func text(_ state: Machine.State) -> String {
        switch state {
        case .idle: "idle"
        case .starting(let progress): "starting, \(text(progress))"
        case .cancelledInStart(let progress): "cancelled in start, \(text(progress))"
        case .running(let progress): text(progress)
        case .withdrawing(let reason, let progress): "withdrawing by \(reason), \(text(progress))"
        case .ended(.complete): "complete"
        case .ended(.failed(let error)): error is CancellationError ? "cancelled" : "\(error)"
        case .ended(.abandoned): "abandoned"
        }
    }

    static func text(_ progress: Machine.Progress) -> String {
        switch progress {
        case .connecting: "connecting"
        case .sending: "sending"
        case .awaitingResponse: "awaiting the response"
        case .receiving(let receiving):
            switch receiving.flow {
            case .open: "receiving"
            case .awaited: "receiving for a reader"
            case .heldBack: "receiving, held back"
            }
        }
    }

    /// One state, by the events that lead to it, and what each event does in it.
    struct Row: Sendable, CustomTestStringConvertible {
        let state: String
        let path: [Event]
        /// `event: what to do -> new state`, one a line; without an arrow the state stays. An event that is not named does nothing.
        let outcomes: String

        init(_ state: String, after path: [Event], _ outcomes: String) { (self.state, self.path, self.outcomes) = (state, path, outcomes) }

        var testDescription: String { state }
    }

    @Test(arguments: rows) func eachEventHasItsEffectInEachState(row: Row) throws {
        var machine = Machine(holding: "owner")
        for event in row.path { _ = event.apply(to: &machine) }
        #expect(Self.text(machine.state) == row.state)
        var outcomes: [String] = []
        for event in Event.allCases {
            var changed = machine
            let action = event.apply(to: &changed)
            let state = Self.text(changed.state)
            guard !action.isEmpty || state != row.state else { continue }
            let arrow = state == row.state ? "" : "-> \(state)"
            outcomes.append("\(event): " + [action, arrow].filter { !$0.isEmpty }.joined(separator: " "))
            if case .ended = changed.state { #expect(changed.held == nil) } else { #expect(changed.held != nil) }
        }
        #expect(outcomes.joined(separator: "\n") == row.outcomes)
    }

    // MARK: Series of events

    private static func receiving(bodyLength: Int64? = nil) -> Machine {
        var machine = Machine(holding: "owner")
        for event in [Event.begin, .attach, .sentHead, .sentAll] { _ = event.apply(to: &machine) }
        _ = machine.receive(HTTPResponse(status: .ok), bodyLength: bodyLength)
        return machine
    }

    @Test func theConnectionWaitsWhile64KiBAreQueued() {
        var machine = Self.receiving()
        var demands = 0
        func receive(_ count: Int) -> String? {
            guard
                case .holdBack(let demand) = machine.receive(
                    Data(count: count),
                    demand: {
                        demands += 1; return "\(demands)"
                    })
            else { return nil }
            return demand
        }
        func read() -> String? {
            guard case .chunk(_, let demand) = machine.read() else { return nil }
            return demand
        }
        #expect(receive(64 * 1024 - 1) == nil)
        #expect(demands == 0)
        #expect(receive(1) == "1")
        #expect(receive(10) == "1")  // what was on its way already
        #expect(demands == 1)
        #expect(read() == "1")
        #expect(read() == nil)
        #expect(receive(64 * 1024 - 11) == nil)
        #expect(receive(1) == "2")
        #expect(receive(64 * 1024) == "2")
        #expect(read() == nil)  // 64 KiB and a byte are left
        #expect(read() == nil)
        #expect(read() == nil)
        #expect(read() == "2")
    }

    @Test func chunksAreReadInOrderAndThenTheEnd() {
        var machine = Self.receiving()
        for byte in UInt8(1)...3 { _ = machine.receive(Data([byte]), demand: { "" }) }
        #expect(machine.receiveEnd() != nil)
        for byte in UInt8(1)...3 {
            guard case .chunk(Data([byte]), nil) = machine.read() else {
                Issue.record("chunk \(byte) is missing")
                return
            }
        }
        guard case .end = machine.read() else {
            Issue.record("the end is missing")
            return
        }
    }

    @Test(arguments: [Event.abandonment, .cancellation, .trackedCancellation]) func abandoningDropsQueuedChunksAfterTheEndToo(event: Event)
    {
        var machine = Self.receiving()
        #expect(Event.chunk.apply(to: &machine) == "queued")
        #expect(Event.end.apply(to: &machine) == "release owner and task")
        #expect(event.apply(to: &machine) == "")
        // What a cancellation has dropped is not the end of the body.
        #expect(Event.read.apply(to: &machine) == (event == .abandonment ? "end" : "throw CancellationError"))
    }

    @Test func aTransformFailsTheResponseWithItsOwnError() {
        struct Corrupt: Error {}
        var machine = Self.receiving()
        guard case .failed(let error)? = machine.abandon(because: Corrupt())?.end else { return #expect(Bool(false), "failed") }
        #expect(error is Corrupt)
        #expect(machine.abandon(because: Corrupt()) == nil)
    }

    @Test func theSizesAreCountedOnTheWire() {
        var machine = Self.receiving()
        #expect(machine.send(30) == 30)
        #expect(machine.send(12) == 42)
        _ = Event.chunk.apply(to: &machine)
        _ = Event.chunk.apply(to: &machine)
        let ending = machine.receiveEnd()
        #expect(ending?.sizes == ExchangeLifetime.BodySizes(requestBytes: 42, responseBytes: 2_000))
        #expect(machine.send(1) == nil)
    }

    /// A server may close on a request that it does not want whole, as soon as its response is (RFC 9113, 8.1).
    @Test(arguments: [1, 1_000, 1_001]) func aConnectionThatFailsAfterTheLastByteOfADeclaredBodyHasEndedIt(bytes: Int64) {
        var machine = Self.receiving(bodyLength: bytes)
        _ = Event.chunk.apply(to: &machine)
        _ = Event.connectionFailure.apply(to: &machine)
        #expect(Self.text(machine.state) == (bytes == 1_000 ? "complete" : "failure in body, delivery: sent, status: 200"))
    }

    @Test func heldStateChangesUntilTheEnd() {
        var machine = Self.receiving()
        #expect(machine.hold { $0 = "changed" })
        #expect(machine.abandon()?.held == "changed")
        #expect(!machine.hold { $0 = "late" })
        #expect(machine.held == nil)
    }

    // MARK: The table

    static let rows: [Row] = [
        Row(
            "idle", after: [],
            """
            begin: -> starting, connecting
            sentPart: 10 bytes sent
            read: throw BodyAlreadyUsedError
            wait: throw BodyAlreadyUsedError
            connectionFailure: release owner -> failure in connect, delivery: notSent, status: 0
            failure: release owner -> failure in connect, delivery: notSent, status: 0
            deadline: release owner -> failure in connect, delivery: notSent, status: 0
            cancellation: release owner -> cancelled
            trackedCancellation: release owner -> cancelled
            abandonment: release owner -> abandoned
            """),
        Row(
            "starting, connecting", after: [.begin],
            """
            begin: refused
            attach: -> connecting
            sentHead: -> starting, sending
            sentPart: 10 bytes sent
            success: wake head waiter -> starting, receiving
            refusal: wake head waiter, stop the upload -> starting, receiving
            emptySuccess: wake head waiter -> starting, receiving
            read: throw BodyAlreadyUsedError
            wait: throw BodyAlreadyUsedError
            connectionFailure: release owner, wake head waiter -> failure in connect, delivery: notSent, status: 0
            failure: release owner, wake head waiter -> failure in connect, delivery: notSent, status: 0
            deadline: withdraw -> withdrawing by deadline, connecting
            cancellation: release owner, wake head waiter -> cancelled
            trackedCancellation: -> cancelled in start, connecting
            abandonment: release owner, wake head waiter -> abandoned
            """),
        Row(
            "starting, sending", after: [.begin, .sentHead],
            """
            begin: refused
            attach: -> sending
            sentPart: 10 bytes sent
            sentAll: -> starting, awaiting the response
            success: wake head waiter -> starting, receiving
            refusal: wake head waiter, stop the upload -> starting, receiving
            emptySuccess: wake head waiter -> starting, receiving
            read: throw BodyAlreadyUsedError
            wait: throw BodyAlreadyUsedError
            connectionFailure: release owner, wake head waiter -> failure in send, delivery: unknown, status: 0
            failure: release owner, wake head waiter -> failure in send, delivery: unknown, status: 0
            deadline: release owner, wake head waiter -> failure in send, delivery: unknown, status: 0
            cancellation: release owner, wake head waiter -> cancelled
            trackedCancellation: release owner, wake head waiter -> cancelled
            abandonment: release owner, wake head waiter -> abandoned
            """),
        Row(
            "cancelled in start, connecting", after: [.begin, .trackedCancellation],
            """
            begin: refused
            attach: withdraw -> withdrawing by cancellation, connecting
            sentHead: -> cancelled in start, sending
            sentPart: 10 bytes sent
            success: wake head waiter -> cancelled in start, receiving
            refusal: wake head waiter, stop the upload -> cancelled in start, receiving
            emptySuccess: wake head waiter -> cancelled in start, receiving
            read: throw BodyAlreadyUsedError
            wait: throw BodyAlreadyUsedError
            connectionFailure: release owner, wake head waiter -> failure in connect, delivery: notSent, status: 0
            failure: release owner, wake head waiter -> failure in connect, delivery: notSent, status: 0
            deadline: withdraw -> withdrawing by cancellation, connecting
            cancellation: release owner, wake head waiter -> cancelled
            abandonment: release owner, wake head waiter -> abandoned
            """),
        Row(
            "cancelled in start, sending", after: [.begin, .trackedCancellation, .sentHead],
            """
            begin: refused
            attach: release owner and task, wake head waiter -> cancelled
            sentPart: 10 bytes sent
            sentAll: -> cancelled in start, awaiting the response
            success: wake head waiter -> cancelled in start, receiving
            refusal: wake head waiter, stop the upload -> cancelled in start, receiving
            emptySuccess: wake head waiter -> cancelled in start, receiving
            read: throw BodyAlreadyUsedError
            wait: throw BodyAlreadyUsedError
            connectionFailure: release owner, wake head waiter -> failure in send, delivery: unknown, status: 0
            failure: release owner, wake head waiter -> failure in send, delivery: unknown, status: 0
            deadline: release owner, wake head waiter -> failure in send, delivery: unknown, status: 0
            cancellation: release owner, wake head waiter -> cancelled
            trackedCancellation: release owner, wake head waiter -> cancelled
            abandonment: release owner, wake head waiter -> abandoned
            """),
        Row(
            "cancelled in start, receiving", after: [.begin, .trackedCancellation, .sentHead, .success],
            """
            begin: refused
            attach: release owner and task -> cancelled
            sentPart: 10 bytes sent
            chunk: queued
            largeChunk: hold back by demand -> cancelled in start, receiving, held back
            wholeBody: hold back by demand -> cancelled in start, receiving, held back
            end: release owner -> complete
            wait: -> cancelled in start, receiving for a reader
            connectionFailure: release owner -> failure in body, delivery: sent, status: 200
            failure: release owner -> failure in body, delivery: sent, status: 200
            deadline: release owner -> failure in body, delivery: sent, status: 200
            cancellation: release owner -> cancelled
            trackedCancellation: release owner -> cancelled
            abandonment: release owner -> abandoned
            """),
        Row(
            "connecting", after: [.begin, .attach],
            """
            begin: refused
            sentHead: -> sending
            sentPart: 10 bytes sent
            success: wake head waiter -> receiving
            refusal: wake head waiter, stop the upload -> receiving
            emptySuccess: wake head waiter -> receiving
            read: throw BodyAlreadyUsedError
            wait: throw BodyAlreadyUsedError
            connectionFailure: release owner and task, wake head waiter -> failure in connect, delivery: notSent, status: 0
            failure: release owner and task, wake head waiter -> failure in connect, delivery: notSent, status: 0
            deadline: withdraw -> withdrawing by deadline, connecting
            cancellation: release owner and task, wake head waiter -> cancelled
            trackedCancellation: withdraw -> withdrawing by cancellation, connecting
            abandonment: release owner and task, wake head waiter -> abandoned
            """),
        Row(
            "sending", after: [.begin, .attach, .sentHead],
            """
            begin: refused
            sentPart: 10 bytes sent
            sentAll: -> awaiting the response
            success: wake head waiter -> receiving
            refusal: wake head waiter, stop the upload -> receiving
            emptySuccess: wake head waiter -> receiving
            read: throw BodyAlreadyUsedError
            wait: throw BodyAlreadyUsedError
            connectionFailure: release owner and task, wake head waiter -> failure in send, delivery: unknown, status: 0
            failure: release owner and task, wake head waiter -> failure in send, delivery: unknown, status: 0
            deadline: release owner and task, wake head waiter -> failure in send, delivery: unknown, status: 0
            cancellation: release owner and task, wake head waiter -> cancelled
            trackedCancellation: release owner and task, wake head waiter -> cancelled
            abandonment: release owner and task, wake head waiter -> abandoned
            """),
        Row(
            "awaiting the response", after: [.begin, .attach, .sentHead, .sentAll],
            """
            begin: refused
            sentPart: 10 bytes sent
            success: wake head waiter -> receiving
            refusal: wake head waiter, stop the upload -> receiving
            emptySuccess: wake head waiter -> receiving
            read: throw BodyAlreadyUsedError
            wait: throw BodyAlreadyUsedError
            connectionFailure: release owner and task, wake head waiter -> failure in response, delivery: unknown, status: 0
            failure: release owner and task, wake head waiter -> failure in response, delivery: unknown, status: 0
            deadline: release owner and task, wake head waiter -> failure in response, delivery: unknown, status: 0
            cancellation: release owner and task, wake head waiter -> cancelled
            trackedCancellation: release owner and task, wake head waiter -> cancelled
            abandonment: release owner and task, wake head waiter -> abandoned
            """),
        Row(
            "receiving", after: [.begin, .attach, .sentHead, .sentAll, .success],
            """
            begin: refused
            sentPart: 10 bytes sent
            chunk: queued
            largeChunk: hold back by demand -> receiving, held back
            wholeBody: hold back by demand -> receiving, held back
            end: release owner and task -> complete
            wait: -> receiving for a reader
            connectionFailure: release owner and task -> failure in body, delivery: sent, status: 200
            failure: release owner and task -> failure in body, delivery: sent, status: 200
            deadline: release owner and task -> failure in body, delivery: sent, status: 200
            cancellation: release owner and task -> cancelled
            trackedCancellation: release owner and task -> cancelled
            abandonment: release owner and task -> abandoned
            """),
        Row(
            "receiving", after: [.begin, .attach, .sentHead, .sentAll, .success, .chunk],
            """
            begin: refused
            sentPart: 10 bytes sent
            chunk: queued
            largeChunk: hold back by demand -> receiving, held back
            wholeBody: hold back by demand -> receiving, held back
            end: release owner and task -> complete
            read: 1000 bytes
            wait: 1000 bytes
            connectionFailure: release owner and task -> failure in body, delivery: sent, status: 200
            failure: release owner and task -> failure in body, delivery: sent, status: 200
            deadline: release owner and task -> failure in body, delivery: sent, status: 200
            cancellation: release owner and task -> cancelled
            trackedCancellation: release owner and task -> cancelled
            abandonment: release owner and task -> abandoned
            """),
        Row(
            "receiving", after: [.begin, .attach, .sentHead, .sentAll, .emptySuccess],
            """
            begin: refused
            sentPart: 10 bytes sent
            chunk: queued
            largeChunk: hold back by demand -> receiving, held back
            wholeBody: hold back by demand -> receiving, held back
            end: release owner and task -> complete
            wait: -> receiving for a reader
            connectionFailure: release owner and task -> complete
            failure: release owner and task -> failure in body, delivery: sent, status: 200
            deadline: release owner and task -> failure in body, delivery: sent, status: 200
            cancellation: release owner and task -> cancelled
            trackedCancellation: release owner and task -> cancelled
            abandonment: release owner and task -> abandoned
            """),
        Row(
            "receiving for a reader", after: [.begin, .attach, .sentHead, .sentAll, .success, .wait],
            """
            begin: refused
            sentPart: 10 bytes sent
            chunk: wake reader -> receiving
            largeChunk: wake reader -> receiving
            wholeBody: wake reader -> receiving
            end: release owner and task, wake reader -> complete
            read: throw BodyAlreadyUsedError
            wait: throw BodyAlreadyUsedError
            connectionFailure: release owner and task, wake reader -> failure in body, delivery: sent, status: 200
            failure: release owner and task, wake reader -> failure in body, delivery: sent, status: 200
            deadline: release owner and task, wake reader -> failure in body, delivery: sent, status: 200
            cancellation: release owner and task, wake reader -> cancelled
            trackedCancellation: release owner and task, wake reader -> cancelled
            abandonment: release owner and task, wake reader -> abandoned
            """),
        Row(
            "receiving, held back", after: [.begin, .attach, .sentHead, .sentAll, .success, .largeChunk],
            """
            begin: refused
            sentPart: 10 bytes sent
            chunk: hold back by demand
            largeChunk: hold back by demand
            wholeBody: hold back by demand
            end: release owner and task, give up demand -> complete
            read: 65536 bytes, grant demand -> receiving
            wait: 65536 bytes, grant demand -> receiving
            connectionFailure: release owner and task, give up demand -> failure in body, delivery: sent, status: 200
            failure: release owner and task, give up demand -> failure in body, delivery: sent, status: 200
            deadline: release owner and task, give up demand -> failure in body, delivery: sent, status: 200
            cancellation: release owner and task, give up demand -> cancelled
            trackedCancellation: release owner and task, give up demand -> cancelled
            abandonment: release owner and task, give up demand -> abandoned
            """),
        Row(
            "receiving, held back", after: [.begin, .attach, .sentHead, .sentAll, .success, .wholeBody],
            """
            begin: refused
            sentPart: 10 bytes sent
            chunk: hold back by demand
            largeChunk: hold back by demand
            wholeBody: hold back by demand
            end: release owner and task, give up demand -> complete
            read: 100000 bytes, grant demand -> receiving
            wait: 100000 bytes, grant demand -> receiving
            connectionFailure: release owner and task, give up demand -> complete
            failure: release owner and task, give up demand -> failure in body, delivery: sent, status: 200
            deadline: release owner and task, give up demand -> failure in body, delivery: sent, status: 200
            cancellation: release owner and task, give up demand -> cancelled
            trackedCancellation: release owner and task, give up demand -> cancelled
            abandonment: release owner and task, give up demand -> abandoned
            """),
        Row(
            "withdrawing by deadline, connecting", after: [.begin, .attach, .deadline],
            """
            begin: refused
            sentHead: -> withdrawing by deadline, sending
            sentPart: 10 bytes sent
            success: wake head waiter -> withdrawing by deadline, receiving
            refusal: wake head waiter, stop the upload -> withdrawing by deadline, receiving
            emptySuccess: wake head waiter -> withdrawing by deadline, receiving
            read: throw BodyAlreadyUsedError
            wait: throw BodyAlreadyUsedError
            failure: release owner and task, wake head waiter -> failure in connect, delivery: notSent, status: 0
            withdrawn: release owner and task, wake head waiter -> failure in connect, delivery: notSent, status: 0
            cancellation: release owner and task, wake head waiter -> cancelled
            trackedCancellation: -> withdrawing by cancellation, connecting
            abandonment: release owner and task, wake head waiter -> abandoned
            """),
        Row(
            "withdrawing by deadline, connecting", after: [.begin, .deadline],
            """
            begin: refused
            sentHead: -> withdrawing by deadline, sending
            sentPart: 10 bytes sent
            success: wake head waiter -> withdrawing by deadline, receiving
            refusal: wake head waiter, stop the upload -> withdrawing by deadline, receiving
            emptySuccess: wake head waiter -> withdrawing by deadline, receiving
            read: throw BodyAlreadyUsedError
            wait: throw BodyAlreadyUsedError
            failure: release owner, wake head waiter -> failure in connect, delivery: notSent, status: 0
            withdrawn: release owner, wake head waiter -> failure in connect, delivery: notSent, status: 0
            cancellation: release owner, wake head waiter -> cancelled
            trackedCancellation: -> withdrawing by cancellation, connecting
            abandonment: release owner, wake head waiter -> abandoned
            """),
        Row(
            "withdrawing by deadline, sending", after: [.begin, .attach, .deadline, .sentHead],
            """
            begin: refused
            sentPart: 10 bytes sent
            sentAll: -> withdrawing by deadline, awaiting the response
            success: wake head waiter -> withdrawing by deadline, receiving
            refusal: wake head waiter, stop the upload -> withdrawing by deadline, receiving
            emptySuccess: wake head waiter -> withdrawing by deadline, receiving
            read: throw BodyAlreadyUsedError
            wait: throw BodyAlreadyUsedError
            failure: release owner and task, wake head waiter -> failure in send, delivery: unknown, status: 0
            withdrawn: release owner and task, wake head waiter -> failure in send, delivery: unknown, status: 0
            cancellation: release owner and task, wake head waiter -> cancelled
            trackedCancellation: release owner and task, wake head waiter -> cancelled
            abandonment: release owner and task, wake head waiter -> abandoned
            """),
        Row(
            "withdrawing by deadline, receiving", after: [.begin, .attach, .deadline, .sentHead, .success],
            """
            begin: refused
            sentPart: 10 bytes sent
            chunk: queued
            largeChunk: hold back by demand -> withdrawing by deadline, receiving, held back
            wholeBody: hold back by demand -> withdrawing by deadline, receiving, held back
            end: release owner and task -> complete
            wait: -> withdrawing by deadline, receiving for a reader
            failure: release owner and task -> failure in body, delivery: sent, status: 200
            withdrawn: release owner and task -> failure in body, delivery: sent, status: 200
            cancellation: release owner and task -> cancelled
            trackedCancellation: release owner and task -> cancelled
            abandonment: release owner and task -> abandoned
            """),
        Row(
            "withdrawing by deadline, receiving", after: [.begin, .attach, .deadline, .sentHead, .emptySuccess],
            """
            begin: refused
            sentPart: 10 bytes sent
            chunk: queued
            largeChunk: hold back by demand -> withdrawing by deadline, receiving, held back
            wholeBody: hold back by demand -> withdrawing by deadline, receiving, held back
            end: release owner and task -> complete
            wait: -> withdrawing by deadline, receiving for a reader
            connectionFailure: release owner and task -> complete
            failure: release owner and task -> failure in body, delivery: sent, status: 200
            withdrawn: release owner and task -> failure in body, delivery: sent, status: 200
            cancellation: release owner and task -> cancelled
            trackedCancellation: release owner and task -> cancelled
            abandonment: release owner and task -> abandoned
            """),
        Row(
            "withdrawing by cancellation, connecting", after: [.begin, .attach, .trackedCancellation],
            """
            begin: refused
            sentHead: -> withdrawing by cancellation, sending
            sentPart: 10 bytes sent
            success: wake head waiter -> withdrawing by cancellation, receiving
            refusal: wake head waiter, stop the upload -> withdrawing by cancellation, receiving
            emptySuccess: wake head waiter -> withdrawing by cancellation, receiving
            read: throw BodyAlreadyUsedError
            wait: throw BodyAlreadyUsedError
            failure: release owner and task, wake head waiter -> failure in connect, delivery: notSent, status: 0
            withdrawn: release owner and task, wake head waiter -> cancelled
            cancellation: release owner and task, wake head waiter -> cancelled
            abandonment: release owner and task, wake head waiter -> abandoned
            """),
        Row(
            "withdrawing by cancellation, sending", after: [.begin, .attach, .trackedCancellation, .sentHead],
            """
            begin: refused
            sentPart: 10 bytes sent
            sentAll: -> withdrawing by cancellation, awaiting the response
            success: wake head waiter -> withdrawing by cancellation, receiving
            refusal: wake head waiter, stop the upload -> withdrawing by cancellation, receiving
            emptySuccess: wake head waiter -> withdrawing by cancellation, receiving
            read: throw BodyAlreadyUsedError
            wait: throw BodyAlreadyUsedError
            failure: release owner and task, wake head waiter -> failure in send, delivery: unknown, status: 0
            withdrawn: release owner and task, wake head waiter -> cancelled
            cancellation: release owner and task, wake head waiter -> cancelled
            trackedCancellation: release owner and task, wake head waiter -> cancelled
            abandonment: release owner and task, wake head waiter -> abandoned
            """),
        Row(
            "complete", after: [.begin, .attach, .sentHead, .sentAll, .success, .end],
            """
            begin: refused
            attach: refused
            read: end
            wait: end
            """),
        Row(
            "complete", after: [.begin, .attach, .sentHead, .sentAll, .success, .chunk, .end],
            """
            begin: refused
            attach: refused
            read: 1000 bytes
            wait: 1000 bytes
            cancellation: -> cancelled
            trackedCancellation: -> cancelled
            """),
        Row(
            "failure in body, delivery: sent, status: 200", after: [.begin, .attach, .sentHead, .success, .chunk, .failure],
            """
            begin: refused
            attach: refused
            read: 1000 bytes
            wait: 1000 bytes
            """),
        Row(
            "cancelled", after: [.cancellation],
            """
            begin: refused
            attach: refused
            read: throw CancellationError
            wait: throw CancellationError
            """),
        Row(
            "abandoned", after: [.begin, .attach, .sentHead, .success, .chunk, .abandonment],
            """
            begin: refused
            attach: refused
            read: throw CancellationError
            wait: throw CancellationError
            """),
    ]
}
#endif
