import Errand
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ErrandCore

#if canImport(Glibc)
import Glibc
#endif

/// What the documents promise, tried with bad intentions.
@Suite(.timeLimit(.minutes(10))) struct HostileTests {
    static let always = RequestCondition.custom("always") { _ in true }
    static let never = RequestCondition.custom("never") { _ in false }

    func ok(_ status: HTTPResponse.Status = .ok) -> StubTransport {
        StubTransport(Stub().responds(.status(status, text: "text"), repeatingLast: true))
    }

    func lost(_ request: Request?) -> TransportError {
        TransportError(.connectionLost, phase: .response, request: request, delivery: .notSent)
    }

    func labels(_ stack: HTTPStack) -> [String] { stack.layers.dropLast().map(\.label) }

    static func response(_ source: ScriptedBodySource) -> Response {
        Response(
            head: HTTPResponse(status: .ok), body: ResponseBody(source, expectedLength: 2), request: .sample(), exchange: ExchangeLifetime()
        )
    }
}
