import ErrandCore
import ErrandTesting
import TestSupport
import Testing

@testable import ErrandRecording

@Suite(.timeLimit(.minutes(5))) struct HARTimingsTests {
    /// Takes events as words with their milliseconds. `reused` is `connectionAcquired` with a connection that had been used before.
    private func steps(_ events: String) throws -> ExchangeTimings {
        let request = try Request(.get, url: "https://a.example/x")
        var steps = ExchangeTimings(request, at: .zero)
        let words = events.split(separator: " ").map(String.init)
        for index in stride(from: 0, to: words.count, by: 2) {
            let isReused = words[index] == "reused"
            let kind: ExchangeEvent.Kind = isReused ? .connectionAcquired : ExchangeEvent.Kind(words[index])
            let connection = kind == .connectionAcquired ? ConnectionInfo(number: 1, isReused: isReused) : nil
            let event = ExchangeEvent(kind, request: request.id, exchange: 1, connection: connection)
            steps.record(event, at: .milliseconds(Int(words[index + 1]) ?? -1))
        }
        return steps
    }

    /// In the order blocked, dns, connect, ssl, send, wait, receive.
    @Test(
        arguments: [
            // A new connection with TLS, for which the exchange queued 5 ms.
            (
                "dnsStart 5 dnsEnd 7 connectStart 7 connectEnd 10 tlsStart 10 tlsEnd 20 connectionAcquired 20 requestHeadSent 20"
                    + " requestSent 21", 51, 60, "5 2 13 10 1 30 9"
            ),
            // An address, without TLS.
            ("connectStart 1 connectEnd 3 connectionAcquired 4 requestHeadSent 4 requestSent 4", 9, 9, "2 -1 2 -1 0 5 0"),
            ("reused 6 requestHeadSent 6 requestSent 8", 10, 12, "6 -1 -1 -1 2 2 2"),
            // Another connection was free before the one that was opened.
            ("dnsStart 0 dnsEnd 1 connectStart 1 connectEnd 4 reused 4 requestHeadSent 4 requestSent 5", 10, 10, "4 -1 -1 -1 1 5 0"),
            // A second attempt to connect.
            (
                "dnsStart 0 dnsEnd 1 connectStart 1 connectEnd 4 dnsStart 4 dnsEnd 5 connectStart 5 connectEnd 7 connectionAcquired 7"
                    + " requestHeadSent 7 requestSent 7", 8, 8, "4 1 2 -1 0 1 0"
            ),
            // A transport that reports no steps of connecting, and one that reports nothing.
            ("connectionAcquired 7 requestHeadSent 7 requestSent 8", 10, 11, "7 -1 -1 -1 1 2 1"),
            ("", 10, 12, "-1 -1 -1 -1 0 10 2"),
            // A response before the request was sent.
            ("connectionAcquired 2 requestHeadSent 2", 5, 9, "2 -1 -1 -1 3 0 4"),
            ("connectionAcquired 2 requestHeadSent 2 requestSent 8", 5, 9, "2 -1 -1 -1 3 0 4"),
            // What fails ends in its phase.
            ("dnsStart 1 dnsEnd 5", nil, 6, "2 4 -1 -1 0 0 0"), ("connectStart 2", nil, 10, "2 -1 8 -1 0 0 0"),
            ("connectStart 1 connectEnd 3 tlsStart 3 tlsEnd 8", nil, 8, "1 -1 7 5 0 0 0"),
            ("connectStart 0 connectEnd 1 tlsStart 1", nil, 6, "0 -1 6 5 0 0 0"),
            ("connectionAcquired 2 requestHeadSent 2", nil, 6, "2 -1 -1 -1 4 0 0"),
            ("connectionAcquired 2 requestHeadSent 2 requestSent 3", nil, 6, "2 -1 -1 -1 1 3 0"),
        ] as [(String, Int?, Int, String)])
    func eachMomentIsInOnePhase(_ events: String, head: Int?, end: Int, _ expected: String) throws {
        let timings = HARTimings(try steps(events), head: head.map { .milliseconds($0) }, end: .milliseconds(end))
        let all = [timings.blocked, timings.dns, timings.connect, timings.ssl, timings.send, timings.wait, timings.receive]
        let shown = all.map { "\(Int($0 ?? -2))" }.joined(separator: " ")
        #expect(shown == expected)
        #expect(timings.total == Double(end), "the phases have no gap")
        #expect(timings.beforeHead == Double(head ?? end))
    }

    /// A transport that learns of the steps at the end has the same phases as one that reports each.
    @Test func lateInstantsAreInTheirPhases() throws {
        let (request, start) = (try Request(.get, url: "https://a.example/x"), ContinuousClock.now)
        var instants = ExchangeEvent.Timings()
        (instants.dnsStart, instants.dnsEnd) = (start + .milliseconds(5), start + .milliseconds(7))
        (instants.connectStart, instants.connectEnd) = (start + .milliseconds(7), start + .milliseconds(10))
        (instants.tlsStart, instants.tlsEnd) = (start + .milliseconds(10), start + .milliseconds(20))
        (instants.connected, instants.requestHeadSent) = (start + .milliseconds(20), start + .milliseconds(20))
        instants.requestSent = start + .milliseconds(21)
        var late = ExchangeTimings(request, at: .zero)
        var event = ExchangeEvent(.timings, request: request.id, exchange: 1, timings: instants)
        event.instant = start + .milliseconds(60)
        late.record(event, at: .milliseconds(60))
        let expected = try steps(
            "dnsStart 5 dnsEnd 7 connectStart 7 connectEnd 10 tlsStart 10 tlsEnd 20 connectionAcquired 20 requestHeadSent 20 requestSent 21"
        )
        func timings(_ steps: ExchangeTimings) -> HARTimings { HARTimings(steps, head: .milliseconds(51), end: .milliseconds(60)) }
        #expect(timings(late) == timings(expected) && timings(late).dns == 2)
    }

    @Test func aFailureInTheQueueCountsAsBlocked() throws {
        let request = try Request(.get, url: "https://a.example/x")
        var steps = ExchangeTimings(request, at: .zero)
        let failure = TransportError(.timedOut, phase: .queue, request: request, delivery: .notSent)
        steps.record(ExchangeEvent(.end, request: request.id, exchange: 1, failure: failure), at: .milliseconds(500))
        let timings = HARTimings(steps, head: nil, end: .milliseconds(500))
        var expected = HARTimings(wait: 0, receive: 0)
        expected.blocked = 500
        #expect(timings == expected)
        #expect(timings.total == 500)
    }

    @Test func theLastExchangeCounts() async throws {
        let folder = try TestFolder("recording")
        let clock = ManualClock()
        // The first exchange loses its connection, and the transport opens another one.
        let transport = ClosureTransport { request in
            let sink = try #require(request.options.eventSink)
            func record(_ kind: ExchangeEvent.Kind, of exchange: Int, after milliseconds: Int, reused: Bool? = nil) {
                clock.advance(by: .milliseconds(milliseconds))
                let connection = reused.map { ConnectionInfo(number: exchange, isReused: $0, peerAddress: "192.0.2.\(exchange)") }
                sink.record(ExchangeEvent(kind, request: request.id, exchange: exchange, connection: connection))
            }
            record(.start, of: 1, after: 0)
            record(.connectionAcquired, of: 1, after: 1, reused: true)
            record(.end, of: 1, after: 2)
            record(.start, of: 2, after: 0)
            record(.connectStart, of: 2, after: 4)
            record(.connectEnd, of: 2, after: 8)
            record(.connectionAcquired, of: 2, after: 0, reused: false)
            record(.requestHeadSent, of: 1, after: 0)
            record(.requestSent, of: 2, after: 16)
            clock.advance(by: .milliseconds(32))
            return Response(head: HTTPResponse(status: .ok), request: request)
        }
        let recording = try Recording(atPath: folder.file("a.har"), mode: .all, keepsUnknownText: true, clock: clock)
        let sink = RecordingEventSink()
        var request = try get("/a")
        request.options.eventSink = sink
        let response = try await transport.record(on: recording).send(request)
        // The sink of the request is asked too, and is the only one afterwards.
        #expect(sink.events.count == 9)
        let restored = response.request.options.eventSink is RecordingEventSink
        #expect(restored)
        try recording.save()
        let entry = try HARLog(fileContent: folder.read("a.har")).entries[0]
        var expected = HARTimings(send: 16, wait: 32, receive: 0)
        (expected.blocked, expected.connect) = (7, 8)
        #expect(entry.timings == expected)
        #expect(entry.time == 63)
        #expect(entry.serverIPAddress == "192.0.2.2" && entry.connection == "2")

        // A replay takes the whole time.
        let (path, time) = (folder.file("a.har"), ManualClock())
        let start = time.now
        let reader = Task {
            _ = try await ReplayTransport(atPath: path, timing: .recorded, clock: time).send(get("/a"))
            return start.duration(to: time.now)
        }
        try await time.sleepers(atLeast: 1)
        time.advanceToNextSleeper()
        let taken = try await reader.value
        #expect(taken == .milliseconds(63))
    }
}
