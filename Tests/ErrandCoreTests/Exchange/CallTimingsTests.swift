import Errand
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct CallTimingsTests {
    private func exchange(_ url: String, from start: Duration, status: Int?, end: Duration?, isComplete: Bool? = true) throws
        -> ExchangeTimings
    {
        var exchange = ExchangeTimings(try Request(.get, url: url), at: start)
        (exchange.status, exchange.end, exchange.isComplete) = (status, end, isComplete)
        exchange.requestHeadSent = start
        exchange.requestSent = start + .milliseconds(20)
        exchange.responseHead = status == nil ? nil : start + .milliseconds(50)
        return exchange
    }

    @Test func timingsAreDescribedInWords() throws {
        let first = try exchange("https://a.example/x?token=s3cret", from: .zero, status: 302, end: .milliseconds(50))
        let second = try exchange("https://a.example/y", from: .milliseconds(100), status: 200, end: .milliseconds(250))
        #expect(
            "\(CallTimings(exchanges: [first, second], redirectCount: 1))"
                == "250 ms, 1 redirect: GET https://a.example/x?token=REDACTED 302 in 50 ms (send 20 ms, wait 30 ms); "
                + "GET https://a.example/y 200 in 150 ms (send 20 ms, wait 30 ms, receive 100 ms)")
        let open = try exchange("https://a.example/y", from: .zero, status: nil, end: nil, isComplete: nil)
        #expect("\(open)" == "GET https://a.example/y, in progress (send 20 ms)")
        let failed = try exchange("https://a.example/y", from: .zero, status: nil, end: .milliseconds(30), isComplete: false)
        #expect("\(failed)" == "GET https://a.example/y in 30 ms, failed (send 20 ms, wait 10 ms)")
        #expect("\(CallTimings(exchanges: [open], redirectCount: 0))" == "in progress: \(open)")
        #expect("\(CallTimings(exchanges: [], redirectCount: 0))" == "nothing was sent")
    }

    // MARK: Instants that come at the end

    /// Each row: the steps in the timings, and those that were reported before.
    @Test(
        arguments: [
            (
                "dnsStart 5 dnsEnd 7 connectStart 7 connectEnd 10 tlsStart 10 tlsEnd 20 connected 20 requestHeadSent 20 requestSent 21"
                    + " responseHead 51", "", "queue 5 dns 2 connect 3 tls 10 send 1 wait 30 receive 9"
            ),
            // Steps that were reported before are kept.
            (
                "connected 2 requestHeadSent 2 requestSent 3 responseHead 9",
                "connectionAcquired 20 requestHeadSent 20 requestSent 21 responseHead 51", "connect 20 send 1 wait 30 receive 9"
            ),
            (
                "connectStart 7 connectEnd 10", "dnsStart 5 dnsEnd 6 connectionAcquired 20 requestHeadSent 20 responseHead 51",
                "queue 19 dns 1 send 31 wait 0 receive 9"
            ),
            // Instants outside the exchange, and ends before their starts, are brought into it.
            (
                "dnsStart -5 dnsEnd 7 connected 7 requestHeadSent 7 requestSent 8 responseHead 90", "",
                "queue 0 dns 7 send 1 wait 52 receive 0"
            ),
            ("dnsStart 9 dnsEnd 7 connected 10 requestSent 10 responseHead 10", "", "queue 10 dns 0 send 0 wait 0 receive 50"),
            ("", "connectionAcquired 1 requestHeadSent 1 requestSent 2 responseHead 3", "connect 1 send 1 wait 1 receive 57"),
        ] as [(String, String, String)])
    func lateInstantsAreRead(_ late: String, _ before: String, _ expected: String) throws {
        let (request, start) = (try Request(.get, url: "https://a.example/x"), ContinuousClock.now)
        func pairs(_ text: String) -> [(String, Int)] {
            let words = text.split(separator: " ").map(String.init)
            return stride(from: 0, to: words.count, by: 2).map { (words[$0], Int(words[$0 + 1]) ?? .min) }
        }
        // The call began 1,000 ms before the exchange.
        var timings = ExchangeTimings(request, at: .seconds(1))
        func record(_ event: ExchangeEvent, at milliseconds: Int) {
            var event = event
            event.instant = start + .milliseconds(milliseconds)
            timings.record(event, at: .milliseconds(1_000 + milliseconds))
        }
        for (kind, time) in pairs(before) { record(ExchangeEvent(.init(kind), request: request.id, exchange: 1), at: time) }
        var instants = ExchangeEvent.Timings()
        let paths: [String: WritableKeyPath<ExchangeEvent.Timings, ContinuousClock.Instant?>] = [
            "dnsStart": \.dnsStart, "dnsEnd": \.dnsEnd, "connectStart": \.connectStart, "connectEnd": \.connectEnd, "tlsStart": \.tlsStart,
            "tlsEnd": \.tlsEnd, "connected": \.connected, "requestHeadSent": \.requestHeadSent, "requestSent": \.requestSent,
            "responseHead": \.responseHead,
        ]
        for (name, time) in pairs(late) { instants[keyPath: try #require(paths[name])] = start + .milliseconds(time) }
        record(ExchangeEvent(.timings, request: request.id, exchange: 1, timings: instants), at: 60)
        record(ExchangeEvent(.end, request: request.id, exchange: 1), at: 60)
        #expect(timings.phases.map { "\($0.name) \(Int($0.duration / .milliseconds(1)))" }.joined(separator: " ") == expected)
    }

    @Test func aConnectionReportedAtTheEndIsRead() throws {
        let request = try Request(.get, url: "https://a.example/x")
        var instants = ExchangeEvent.Timings()
        instants.connection = ConnectionInfo(number: 7, isReused: true)
        let event = ExchangeEvent(.timings, request: request.id, exchange: 1, timings: instants)
        var timings = ExchangeTimings(request, at: .zero)
        timings.record(event, at: .seconds(1))
        #expect(timings.isReused == true && event.timings == instants && "\(event)" == "timings of exchange 1")
        timings.record(
            ExchangeEvent(.connectionAcquired, request: request.id, exchange: 1, connection: ConnectionInfo(number: 8, isReused: false)),
            at: .zero)
        timings.record(event, at: .seconds(1))
        #expect(timings.connection?.number == 8)
    }

    @Test(
        arguments: [
            // A new connection with TLS, for which the exchange queued 5 ms.
            (
                "dnsStart 5 dnsEnd 7 connectStart 7 connectEnd 10 tlsStart 10 tlsEnd 20 connectionAcquired 20 requestHeadSent 20"
                    + " requestSent 21 responseHead 51 end 60",
                "queue 5 dns 2 connect 3 tls 10 send 1 wait 30 receive 9"
            ),
            (
                "connectStart 0 connectEnd 3 tlsStart 3 tlsEnd 9 connectionAcquired 9 requestHeadSent 9 end 10",
                "queue 0 connect 3 tls 6 send 1"
            ),
            ("connectStart 0 connectEnd 3 connectionAcquired 3 requestHeadSent 3 requestSent 4 end 9", "queue 0 connect 3 send 1 wait 5"),
            // A failed exchange ends in the phase of the failure.
            ("dnsStart 1 dnsEnd 9 end 9", "queue 1 dns 8"),
            ("dnsStart 1 dnsEnd 3 connectStart 3 connectEnd 9 end 10", "queue 2 dns 2 connect 6"),
            ("connectStart 0 connectEnd 3 tlsStart 3 tlsEnd 9 end 9", "queue 0 connect 3 tls 6"),
            ("connectStart 0 connectEnd 3 end 3", "queue 0 connect 3"), ("connectStart 2 end 9", "queue 2 connect 7"),
            // A second attempt to connect.
            ("dnsStart 0 dnsEnd 1 connectStart 1 connectEnd 2 dnsStart 5 dnsEnd 8 end 8", "queue 5 dns 3"),
            // An address without TLS: it waited for a place, and then opened its own connection.
            (
                "connectStart 2900 connectEnd 2902 connectionAcquired 2902 requestHeadSent 2902 requestSent 2903 end 2910",
                "queue 2900 connect 2 send 1 wait 7"
            ),
            // The trusted certificates were read after the lookup.
            (
                "dnsStart 0 dnsEnd 2 connectStart 22 connectEnd 23 tlsStart 23 tlsEnd 30 connectionAcquired 30 end 30",
                "queue 20 dns 2 connect 1 tls 7 send 0"
            ),
            // In progress.
            ("dnsStart 0", ""),
        ] as [(String, String)])
    func connectingHasItsOwnPhases(_ events: String, _ expected: String) throws {
        let request = try Request(.get, url: "https://a.example/x")
        var timings = ExchangeTimings(request, at: .zero)
        let words = events.split(separator: " ").map(String.init)
        for index in stride(from: 0, to: words.count, by: 2) {
            let event = ExchangeEvent(ExchangeEvent.Kind(words[index]), request: request.id, exchange: 1)
            timings.record(event, at: .milliseconds(Int(words[index + 1]) ?? -1))
        }
        let phases = timings.phases.map { "\($0.name) \(Int($0.duration / .milliseconds(1)))" }
        #expect(phases.joined(separator: " ") == expected)
        if let end = timings.end {
            let sum = timings.phases.reduce(Duration.zero) { $0 + $1.duration }
            #expect(sum == end, "the phases have no gap")
        }
    }

    @Test(arguments: [(false, "connect 3 send 1"), (true, "queue 3 send 1")])
    func theWaitForAReusedConnectionCountsAsQueue(isReused: Bool, _ expected: String) throws {
        let request = try Request(.get, url: "https://a.example/x")
        var timings = ExchangeTimings(request, at: .zero)
        let connection = ConnectionInfo(number: 1, isReused: isReused)
        timings.record(
            ExchangeEvent(.connectionAcquired, request: request.id, exchange: 1, connection: connection), at: .milliseconds(3))
        timings.record(ExchangeEvent(.requestSent, request: request.id, exchange: 1), at: .milliseconds(4))
        let phases = timings.phases.map { "\($0.name) \(Int($0.duration / .milliseconds(1)))" }
        #expect(phases.joined(separator: " ") == expected)
    }

    /// Another connection was free before the one that was opened for it.
    @Test func theStepsOfAConnectionForAnotherExchangeCountAsQueue() throws {
        let request = try Request(.get, url: "https://a.example/x")
        var timings = ExchangeTimings(request, at: .zero)
        let reused = ConnectionInfo(number: 1, isReused: true)
        for (kind, time) in [(.dnsStart, 1), (.dnsEnd, 2), (.connectionAcquired, 5)] as [(ExchangeEvent.Kind, Int)] {
            let connection = kind == .connectionAcquired ? reused : nil
            let event = ExchangeEvent(kind, request: request.id, exchange: 1, connection: connection)
            timings.record(event, at: .milliseconds(time))
        }
        #expect(timings.phases.map(\.name) == ["queue"])
        #expect(timings.phases.first?.duration == .milliseconds(5))
    }

    @Test(arguments: [(ExchangePhase.queue, "queue"), (.connect, "connect")])
    func aFailureWithoutAStepEndsInItsPhase(phase: ExchangePhase, expected: String) throws {
        let request = try Request(.get, url: "https://a.example/x")
        var timings = ExchangeTimings(request, at: .zero)
        let failure = TransportError(.timedOut, phase: phase, request: request, delivery: .notSent)
        timings.record(ExchangeEvent(.end, request: request.id, exchange: 1, failure: failure), at: .milliseconds(500))
        #expect(timings.phases.map(\.name) == [expected])
        #expect(timings.phases.first?.duration == .milliseconds(500))
    }
}
