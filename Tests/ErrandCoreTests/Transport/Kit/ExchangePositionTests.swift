import ErrandCore
import Testing

@Suite struct ExchangePositionTests {
    typealias Position = ExchangePosition

    @Test(arguments: [
        (Position.RequestProgress.unsent, Position.ResponseProgress.nothing, Position(phase: .send, delivery: .notSent, mayBeStale: true)),
        // A server may respond before the request has left.
        (.unsent, .begun, Position(phase: .send, delivery: .notSent, mayBeStale: true)),
        (.unsent, .body, Position(phase: .send, delivery: .notSent, mayBeStale: true)),
        (.inProgress, .nothing, Position(phase: .send, delivery: .unknown, mayBeStale: true)),
        (.inProgress, .begun, Position(phase: .response, delivery: .unknown, mayBeStale: true)),
        (.over, .nothing, Position(phase: .response, delivery: .unknown, mayBeStale: true)),
        (.over, .begun, Position(phase: .response, delivery: .unknown, mayBeStale: true)),
        // A server that has sent a head has seen the request.
        (.inProgress, .body, Position(phase: .body, delivery: .sent)),
        (.over, .body, Position(phase: .body, delivery: .sent)),
    ])
    func thePositionFollowsTheProgress(request: Position.RequestProgress, response: Position.ResponseProgress, expected: Position) {
        #expect(Position(request, response, mayBeStale: true) == expected)
        #expect(!Position(request, response).mayBeStale)
    }
}
