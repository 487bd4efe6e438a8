import Errand
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct FailureTextsTests {
    private static func failure(_ code: TransportError.Code) -> TransportError {
        TransportError(code, phase: .connect, request: .sample(), delivery: .notSent)
    }

    private static let german = FailureTexts([.cannotConnect: "Keine Verbindung zum Server.", .other: "Es ist ein Fehler aufgetreten."])

    @Test func aTableReplacesTheTextsOfItsNumbers() {
        #expect(Self.german.text(for: Self.failure(.cannotConnect)) == "Keine Verbindung zum Server.")
        #expect(Self.german.text(for: Self.failure(.connectionLost)) == "The connection to the server was lost.")
        #expect(Self.failure(.cannotConnect).localizedDescription == "Could not connect to the server.")
    }

    @Test func textsFallBackNumberByNumber() {
        let short = FailureTexts([.connectionLost: "Weg."], fallback: Self.german)
        #expect(short.text(for: Self.failure(.connectionLost)) == "Weg.")
        #expect(short.text(for: Self.failure(.cannotConnect)) == "Keine Verbindung zum Server.")
        #expect(short.text(for: Self.failure(.cannotFindHost)) == "The server could not be found.")
    }

    @Test func aFunctionSeesTheNumberAndTheError() async throws {
        let texts = FailureTexts(fallback: Self.german) { number, error in
            guard number == .clientError, let refused = error as? StatusError else { return nil }
            return refused.status == .conflict ? "Schon vergeben." : nil
        }
        func refused(_ status: HTTPResponse.Status) async throws -> StatusError {
            try await StatusError(reading: Response(head: HTTPResponse(status: status), request: .sample()))
        }
        #expect(texts.text(for: try await refused(.conflict)) == "Schon vergeben.")
        #expect(texts.text(for: try await refused(.badRequest)) == "The server did not accept the request.")
        #expect(texts.text(for: Self.failure(.cannotConnect)) == "Keine Verbindung zum Server.")
    }

    @Test func theMessageOfABackEndIsTheText() {
        let error = ServiceError(7, message: "The balance is too low.")
        let translated = FailureTexts(FailureTexts.englishTexts.mapValues { _ in "Fehler." })
        #expect(translated.text(for: error) == "The balance is too low." && error.localizedDescription == "The balance is too low.")
        #expect(translated.text(for: ServiceError(7)) == "Fehler.")
        #expect(FailureTexts([.serviceMessage: "Eigener Text."]).text(for: error) == "Eigener Text.")
    }

    @Test func anErrorOfTheAppHasItsOwnSentence() {
        struct Own: LocalizedError { var errorDescription: String? { "Own." } }
        #expect(Self.german.text(for: Own()) == "Own.")
        #expect(Self.german.text(for: TestError()) == "Es ist ein Fehler aufgetreten.")
        #expect(FailureTexts.english.text(for: CancellationError()) == "The operation failed.")
    }

    @Test func aFailureOfTheAppMayHaveANumber() {
        struct Quota: NumberedFailure {
            var failureNumber: FailureNumber { FailureNumber(rawValue: 100_001) }
        }
        struct Named: NumberedFailure {
            var failureNumber: FailureNumber { FailureNumber(rawValue: 100_002) }
            var errorDescription: String? { "Named." }
        }
        struct Request: RequestFailure, NumberedFailure {
            var request: ErrandCore.Request?
            var phase: ExchangePhase { .request }
            var attempts: [AttemptRecord] = []
            var delivery: Delivery { .notSent }
            var description: String { "described" }
            var failureNumber: FailureNumber { FailureNumber(rawValue: 100_003) }
        }
        let texts = FailureTexts([FailureNumber(rawValue: 100_001): "Quota."])
        #expect(texts.text(for: Quota()) == "Quota." && texts.text(for: Named()) == "Named." && texts.text(for: Request()) == "described")
        #expect(FailureTexts.english.text(for: Quota()) == "The operation failed.")
        #expect((Named() as NSError).code == 100_002 && Request().localizedDescription == "described")
    }

    @Test func theCauseOfTheAppHasItsSentenceInBothTexts() {
        struct Quota: RequestFailure, NumberedFailure {
            var request: Request?
            var phase: ExchangePhase { .request }
            var attempts: [AttemptRecord] = []
            var delivery: Delivery { .notSent }
            var description: String { "described" }
            var failureNumber: FailureNumber { FailureNumber(rawValue: 100_001) }
            var errorDescription: String? { "Your quota is used up." }
        }
        let error = AuthenticationError(.refreshFailed, underlying: Quota())
        #expect(FailureTexts.english.text(for: error) == "Your quota is used up.")
        #expect(error.localizedDescription == "Your quota is used up.")
    }

    @Test func aRequestFailureWithoutANumberShowsItsSentence() {
        struct Plain: RequestFailure {
            var request: Request?
            var phase: ExchangePhase { .request }
            var attempts: [AttemptRecord] = []
            var delivery: Delivery { .notSent }
            var description: String { "plain" }
        }
        #expect(FailureTexts.english.text(for: Plain()) == "plain")
        let bridged = Plain() as NSError
        #expect(bridged.code == 1 && bridged.domain != "Errand")
    }

    @Test func aNumberShowsItsDigitsAndHasAnOrder() {
        #expect("\(FailureNumber.notFound)" == "2404" && FailureNumber.cannotConnect < .notFound)
    }
}
