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

    /// A client for each request derives a stack each time.
    @Test func aProblemIsReportedOnceForAllDerivedStacks() {
        let lines = RecordingList<String>()
        let stack = stub.timeout(.seconds(3)).retry()
        for number in 0..<3 {
            stack.server(path: "/\(number)").list.reportOrderProblems { lines.record($0) }
            HTTPStack.sorted(around: stack).list.reportOrderProblems { lines.record($0) }
            stack.unsorted.list.reportOrderProblems { lines.record($0) }
        }
        #expect(lines.all.count == 1, "\(lines.all)")
        stub.timeout(.seconds(3)).retry().list.reportOrderProblems { lines.record($0) }
        #expect(lines.all.count == 2, "another stack has its own reports")
    }

    @Test func aNewProblemOfADerivedStackIsReported() {
        let lines = RecordingList<String>()
        let stack = stub.retry()
        stack.list.reportOrderProblems { lines.record($0) }
        #expect(lines.all.isEmpty)
        let wrong = stub.timeout(.seconds(3)).retry()
        wrong.list.reportOrderProblems { lines.record($0) }
        wrong.wrapped(by: ServerMiddleware(), inside: .retry).list.reportOrderProblems { lines.record($0) }
        #expect(lines.all.count == 2 && Set(lines.all).count == 2, "\(lines.all)")
    }

    @Test func aStackAroundASilencedStackIsSilent() {
        let lines = RecordingList<String>()
        let silenced = stub.timeout(.seconds(3)).retry().ignoringOrderProblems()
        for stack in [HTTPStack.sorted(around: silenced), silenced.unsorted, silenced.server("https://a.example")] {
            #expect(!stack.orderProblems.isEmpty)
            stack.list.reportOrderProblems { lines.record($0) }
        }
        #expect(lines.all.isEmpty, "\(lines.all)")
    }
}
