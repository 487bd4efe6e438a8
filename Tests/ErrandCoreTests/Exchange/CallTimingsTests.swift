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
                == "0.25 s, 1 redirect: GET https://a.example/x?token=REDACTED 302 in 0.05 s (send 0.02 s, wait 0.03 s); "
                + "GET https://a.example/y 200 in 0.15 s (send 0.02 s, wait 0.03 s, receive 0.1 s)")
        let open = try exchange("https://a.example/y", from: .zero, status: nil, end: nil, isComplete: nil)
        #expect("\(open)" == "GET https://a.example/y, in progress (send 0.02 s)")
        let failed = try exchange("https://a.example/y", from: .zero, status: nil, end: .milliseconds(30), isComplete: false)
        #expect("\(failed)" == "GET https://a.example/y in 0.03 s, failed (send 0.02 s, wait 0.01 s)")
        #expect("\(CallTimings(exchanges: [open], redirectCount: 0))" == "in progress: \(open)")
        #expect("\(CallTimings(exchanges: [], redirectCount: 0))" == "nothing was sent")
    }
}
