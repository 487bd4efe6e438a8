import ErrandMiddleware
import ErrandTesting
import TestSupport
import Testing

@testable import ErrandCore

/// Without a log, the problems of the order are lines of standard error.
@Suite(.timeLimit(.minutes(5))) struct OrderReportTests {
    private let stub = StubTransport(Stub().responds(.status(.ok), repeatingLast: true))

    @Test func eachProblemIsOneLineOnce() {
        let lines = RecordingList<String>()
        let stack = stub.timeout(.seconds(3)).retry()
        for _ in 0..<3 { stack.list.reportOrderProblems { lines.record($0) } }
        #expect(
            lines.all == stack.orderProblems.map { "errand: order: \($0). To hide this line, add .ignoringOrderProblems() to the stack." })
        #expect(lines.all.count == 1)
    }

    @Test func aSilencedStackWritesNothing() {
        let lines = RecordingList<String>()
        stub.timeout(.seconds(3)).retry().ignoringOrderProblems().list.reportOrderProblems { lines.record($0) }
        stub.retry().timeout(.seconds(3)).list.reportOrderProblems { lines.record($0) }
        #expect(lines.all.isEmpty)
    }
}
