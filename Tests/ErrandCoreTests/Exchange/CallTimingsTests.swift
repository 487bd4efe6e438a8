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

    @Test func timingsPrintInWords() throws {
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
}
