import ErrandConformance
import ErrandCore
import Testing

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
    func isKept(_ text: String) { #expect(EventGrammar.violations(events(text), isCall: false) == []) }

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
    func isBroken(_ text: String) { #expect(EventGrammar.violations(events(text), isCall: false) != []) }
}
