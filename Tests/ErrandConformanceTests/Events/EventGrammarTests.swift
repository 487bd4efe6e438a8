import ErrandConformance
import Testing

@testable import ErrandCore

/// What the grammar says of opening a connection.
@Suite(.timeLimit(.minutes(5))) struct EventGrammarTests {
    /// Words such as `connectionAcquired(2r)`: the number of the connection, and `r` for a reused one.
    private func events(_ text: String) -> [ExchangeEvent] {
        let request = RequestID()
        return text.split(separator: " ").map { word in
            let parts = word.split(separator: "(")
            let connection = parts.count < 2 ? nil : ConnectionInfo(number: Int(parts[1].prefix(1)) ?? 0, isReused: parts[1].contains("r"))
            return ExchangeEvent(.init(String(parts[0])), request: request, exchange: 1, connection: connection)
        }
    }

    private static let rest = " connectionAcquired(1) requestHeadSent requestSent responseHead end"

    @Test(
        arguments: [
            "start" + rest, "start dnsStart dnsEnd connectStart connectEnd tlsStart tlsEnd" + rest, "start connectStart connectEnd" + rest,
            "start dnsStart dnsEnd" + rest, "start dnsStart dnsEnd end", "start connectStart connectEnd tlsStart tlsEnd end",
            "start dnsStart dnsEnd connectStart connectEnd dnsStart dnsEnd connectStart connectEnd" + rest,
        ])
    func aValidSequenceIsAccepted(_ text: String) { #expect(EventGrammar.violations(events(text), isCall: false) == []) }

    @Test(
        arguments: [
            "start dnsStart" + rest, "start dnsEnd" + rest, "start dnsStart end", "start dnsStart dnsStart dnsEnd dnsEnd end",
            "start dnsStart connectStart dnsEnd connectEnd" + rest, "start tlsStart tlsEnd" + rest,
            "start dnsStart dnsEnd tlsStart tlsEnd" + rest,
            "dnsStart dnsEnd start" + rest, "start connectionAcquired(1) dnsStart dnsEnd requestHeadSent end",
            "start connectStart connectEnd tlsStart connectionAcquired(1) tlsEnd end", "start" + rest + " connectStart connectEnd",
            // Over another connection it is another exchange.
            "start connectionAcquired(1) requestHeadSent connectionAcquired(1) requestHeadSent end",
            "start connectionAcquired(2r) requestHeadSent" + rest, "start connectionAcquired(2r) requestHeadSent responseHead" + rest,
        ])
    func anInvalidSequenceIsReported(_ text: String) { #expect(EventGrammar.violations(events(text), isCall: false) != []) }

    // MARK: Instants that come at the end

    /// An exchange whose `timings` have the steps, at these milliseconds after the start; the timings come 100 ms after the start.
    private func events(
        _ steps: KeyValuePairs<String, Int>, words: String = "start connectionAcquired requestHeadSent requestSent responseHead timings end"
    ) -> [ExchangeEvent] {
        let (request, start) = (RequestID(), ContinuousClock.now)
        var timings = ExchangeEvent.Timings()
        for (name, milliseconds) in steps {
            let instant = start + .milliseconds(milliseconds)
            switch name {
            case "dnsStart": timings.dnsStart = instant
            case "dnsEnd": timings.dnsEnd = instant
            case "connectStart": timings.connectStart = instant
            case "connected": timings.connected = instant
            case "responseHead": timings.responseHead = instant
            default: Issue.record("\(name)")
            }
        }
        return words.split(separator: " ").enumerated().map { index, word in
            let kind = ExchangeEvent.Kind(String(word))
            var event = ExchangeEvent(kind, request: request, exchange: 1, timings: kind == .timings ? timings : nil)
            event.instant = start + (index == 0 ? .zero : .milliseconds(100))
            return event
        }
    }

    @Test func timingsDirectlyBeforeTheEndAreAccepted() {
        #expect(EventGrammar.violations(events([:]), isCall: false) == [])
        #expect(EventGrammar.violations(events(["dnsStart": 0, "dnsEnd": 0, "connected": 5, "responseHead": 100]), isCall: false) == [])
        #expect(EventGrammar.violations(events(["dnsStart": 1], words: "start timings end"), isCall: false) == [])
    }

    @Test func timingsInTheWrongPlaceOrOrderAreReported() {
        let wrong: [(KeyValuePairs<String, Int>, String, String)] = [
            (["dnsStart": 3, "dnsEnd": 2], "start timings end", "dnsEnd before dnsStart in the timings"),
            (["dnsEnd": 3, "connectStart": 2], "start timings end", "connectStart before dnsEnd in the timings"),
            (["dnsStart": -1], "start timings end", "an instant of the timings is before the start, or after the end"),
            (["responseHead": 101], "start timings end", "an instant of the timings is before the start, or after the end"),
            ([:], "start timings timings end", "timings more than once"),
            ([:], "start timings connectionAcquired end", "connectionAcquired after timings"),
        ]
        for (steps, words, violation) in wrong {
            #expect(EventGrammar.violations(events(steps, words: words), isCall: false).contains { $0.contains(violation) }, "\(violation)")
        }
        var bare = events([:], words: "start timings end")
        bare[1] = ExchangeEvent(.timings, request: bare[0].request, exchange: 1)
        #expect(EventGrammar.violations(bare, isCall: false).contains { $0.contains("timings without instants") })
    }
}
