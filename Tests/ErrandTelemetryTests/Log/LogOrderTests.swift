import Errand
import ErrandTesting
import Logging
import TestSupport
import Testing

/// A stack reports the problems of its order once, at its first request.
@Suite(.timeLimit(.minutes(5))) struct LogOrderTests {
    private let stub = StubTransport(Stub().responds(.status(.ok), repeatingLast: true))

    private func send(_ stack: HTTPStack, _ count: Int = 3) async throws {
        for _ in 0..<count { _ = try await stack.send(Request(.get, url: "https://a.example/x")) }
    }

    @Test func theLogOfTheStackWarnsOnce() async throws {
        let (logger, lines) = recordingLogger()
        let stack = stub.timeout(.seconds(3)).retry().log(to: logger)
        #expect(stack.orderProblems.count == 1)
        try await send(stack)
        let warnings = lines.all.filter { $0.level == .warning }
        let remedy = "To hide this line, add .ignoringOrderProblems() to the stack."
        #expect(warnings.map(\.text) == stack.orderProblems.map { "order: \($0). \(remedy)" })
    }

    @Test func aStackWithoutProblemsSaysNothing() async throws {
        let (logger, lines) = recordingLogger()
        try await send(stub.retry().timeout(.seconds(3)).log(to: logger))
        #expect(lines.all.allSatisfy { $0.level == .info })
    }

    @Test func oneSettingSilencesTheReport() async throws {
        let (logger, lines) = recordingLogger()
        let stack = stub.timeout(.seconds(3)).retry().log(to: logger).ignoringOrderProblems()
        try await send(stack)
        try await send(stack.number())
        try await send(stack.unsorted)
        #expect(lines.all.allSatisfy { $0.level == .info } && stack.orderProblems.count == 1)
    }

    @Test func theLogOfAStackInsideIsFound() async throws {
        let (logger, lines) = recordingLogger()
        let inner = HTTPStack(stub.log(to: logger))
        let stack = HTTPStack.sorted(around: inner).unsorted.timeout(.seconds(3)).retry()
        try await send(stack)
        #expect(lines.all.contains { $0.level == .warning } == !stack.orderProblems.isEmpty)
    }
}
