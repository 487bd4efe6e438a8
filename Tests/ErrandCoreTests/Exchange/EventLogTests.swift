import Errand
import ErrandTesting
import Synchronization
import TestSupport
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct EventLogTests {
    /// Returns a sink that records its events in a list, and calls a closure during the first event.
    private static func stalling(_ list: RecordingEventSink, _ duringFirst: @escaping @Sendable () -> Void) -> ClosureEventSink {
        ClosureEventSink { event in
            list.record(event)
            if list.events.count == 1 { duringFirst() }
        }
    }

    private final class LogBox: Sendable {
        let log = Mutex<ExchangeEventLog?>(nil)
        var value: ExchangeEventLog? { log.withLock { $0 } }
    }

    /// The events that a sink gets if they happen while the sink handles the first event.
    private func told(while busy: @escaping @Sendable (ExchangeEventLog) -> Void) -> [ExchangeEvent] {
        let (log, sink) = (LogBox(), RecordingEventSink())
        let made = ExchangeEventLog(Self.stalling(sink) { if let log = log.value { busy(log) } }, request: RequestID())
        log.log.withLock { $0 = made }
        made.record(.start)
        return sink.events
    }

    @Test func queuedProgressIsReplacedByLaterProgress() {
        let events = told { log in
            for bytes in 1...100_000 { log.record(.responseBytesReceived, bytes: Int64(bytes)) }
            log.record(.requestSent)
            log.record(.responseBytesReceived, bytes: 100_001)
            log.record(.end)
        }
        #expect(events.map(\.kind) == [.start, .responseBytesReceived, .requestSent, .responseBytesReceived, .end])
        #expect(events.compactMap(\.bytes) == [100_000, 100_001])
        #expect(zip(events, events.dropFirst()).allSatisfy { $0.instant <= $1.instant })
    }

    @Test func repeatableEventsAreDroppedBeyondTheLimit() {
        let events = told { log in
            for bytes in 1...20_000 {
                log.record(.requestBytesSent, bytes: Int64(bytes))
                log.record(.responseBytesReceived, bytes: Int64(bytes))
                log.record(.informationalResponse, response: HTTPResponse(status: .continue))
            }
            log.record(.responseHead)
            log.record(.end)
        }
        #expect(events.count == 1 + ExchangeEvent.waitingLimit + 2)
        #expect(events.suffix(2).map(\.kind) == [.responseHead, .end])
    }

    /// The 104 has the URL by which the upload is resumed.
    @Test func theFirst104OfAnExchangeIsKeptBeyondTheLimit() {
        @Sendable func resumption(_ location: String) -> HTTPResponse {
            HTTPResponse(status: .init(code: 104), headerFields: [.location: location])
        }
        let events = told { log in
            for bytes in 1...20_000 {
                log.record(.requestBytesSent, bytes: Int64(bytes))
                log.record(.responseBytesReceived, bytes: Int64(bytes))
                log.record(.informationalResponse, response: HTTPResponse(status: .init(code: 103)))
            }
            log.record(.informationalResponse, response: resumption("/first"))
            for _ in 1...10_000 { log.record(.informationalResponse, response: resumption("/later")) }
            log.beginAgain(after: TestError("x"))
            log.record(.informationalResponse, response: resumption("/again"))
            log.record(.responseHead)
            log.record(.end)
        }
        #expect(events.compactMap { $0.response?.headerFields[.location] } == ["/first", "/again"])
        #expect(events.count == 1 + ExchangeEvent.waitingLimit + 6)
        // A 104 that is delivered immediately, without waiting, also counts as the first 104.
        let prompt = told { _ in }
        #expect(prompt.count == 1)
    }

    @Test func theFirst104OfEachOfTwoExchangesOfACallIsKept() throws {
        let request = try Request(.get, "/")
        let call = request.id
        let log = Mutex<CallEventLog?>(nil)
        let list = RecordingEventSink()
        let sink = Self.stalling(list) {
            guard let log = log.withLock({ $0 }) else { return }
            func record(_ exchange: Int, _ code: Int) {
                let head = HTTPResponse(status: .init(code: code), headerFields: [.location: "/\(exchange)"])
                log.record(ExchangeEvent(.informationalResponse, request: call, exchange: exchange, response: head))
            }
            for _ in 1...10_000 { record(1, 103) }
            for _ in 1...10_000 {
                record(1, 104)
                record(2, 104)
            }
        }
        // The first event of a call log comes from its initializer.
        let outer = CallEventLog(of: request, to: ClosureEventSink { if $0.kind != .callStart { sink.record($0) } })
        log.withLock { $0 = outer }
        outer.record(ExchangeEvent(.start, request: call, exchange: 1))
        let resumptions = list.events.filter { $0.response?.status.code == 104 }
        #expect(resumptions.map(\.exchange) == [1, 2])
    }

    @Test func timingsAreReportedOnceAndBeforeTheEnd() {
        var timings = ExchangeEvent.Timings()
        timings.connected = .now
        let (log, sink) = { (ExchangeEventLog($0, request: RequestID()), $0) }(RecordingEventSink())
        log.record(.start)
        log.record(.timings, timings: timings)
        log.record(.timings, timings: ExchangeEvent.Timings())
        log.record(.end)
        log.record(.timings, timings: timings)
        #expect(sink.events.map(\.kind) == [.start, .timings, .end] && sink.events[1].timings == timings)
    }

    @Test func nothingIsRecordedAfterTheEnd() {
        let (log, sink) = { (ExchangeEventLog($0, request: RequestID()), $0) }(RecordingEventSink())
        log.record(.start)
        log.record(.end)
        log.record(.responseBytesReceived, bytes: 1)
        log.record(.end)
        log.enter(.tls)
        log.beginAgain(after: CancellationError())
        #expect(sink.kinds == [.start, .end])
    }

    @Test func queuedEventsAreDeliveredInOrderInLinearTime() {
        let events = told { log in for _ in 0..<5_000 { log.record(.connectionAcquired) } }
        #expect(events.count == 5_001)
        #expect(zip(events, events.dropFirst()).allSatisfy { $0.instant <= $1.instant })
        let growth = growth(of: 5_000, making: { $0 }) { count in
            _ = told { log in for _ in 0..<count { log.record(.connectionAcquired) } }
        }
        #expect(growth < 30, "quadratic work grows 64 times")
    }

    // MARK: - Connecting

    /// A call of the log of an exchange.
    private enum Act: Sendable {
        case enter(ConnectStep?)
        case record(ExchangeEvent.Kind)
        case again
    }

    @Test(
        arguments: [
            (
                [.enter(.dns), .enter(.connect), .enter(.tls), .enter(nil), .record(.connectionAcquired)],
                "dnsStart dnsEnd connectStart connectEnd tlsStart tlsEnd connectionAcquired"
            ),
            ([.enter(.dns), .record(.end)], "dnsStart dnsEnd end"),
            ([.enter(.dns), .enter(nil), .record(.end)], "dnsStart dnsEnd end"),
            ([.enter(.connect), .record(.connectionAcquired), .enter(.tls), .enter(nil)], "connectStart connectEnd connectionAcquired"),
            ([.enter(nil), .record(.end), .enter(.dns)], "end"),
            (
                [.record(.connectionAcquired), .again, .enter(.connect), .enter(nil), .record(.connectionAcquired)],
                "connectionAcquired end start connectStart connectEnd connectionAcquired"
            ),
        ] as [([Act], String)])
    private func aConnectingStepEndsBeforeOtherEvents(_ acts: [Act], _ expected: String) {
        let sink = RecordingEventSink()
        let log = ExchangeEventLog(sink, request: RequestID())
        log.record(.start)
        for act in acts {
            switch act {
            case .enter(let step): log.enter(step)
            case .record(let kind): log.record(kind)
            case .again: log.beginAgain(after: CancellationError())
            }
        }
        #expect(sink.kinds.dropFirst().map(\.description).joined(separator: " ") == expected)
    }
}
