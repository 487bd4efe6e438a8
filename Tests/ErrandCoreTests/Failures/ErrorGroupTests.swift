import Errand
import Foundation
import TestSupport
import Testing

@testable import ErrandMiddleware

@Suite(.timeLimit(.minutes(5))) struct ErrorGroupTests {
    private static func transport(_ code: TransportError.Code, in phase: ExchangePhase = .send) -> TransportError {
        TransportError(code, phase: phase, request: .sample(), delivery: .unknown)
    }

    private static func status(_ code: Int) async throws -> StatusError {
        try await StatusError(reading: Response(head: HTTPResponse(status: .init(code: code)), request: .sample()))
    }

    private static let codes: [TransportError.Code] = [
        .cannotFindHost, .cannotConnect, .connectionLost, .timedOut, .tls, .invalidResponse, .bodyTooLarge, .requestBody, .invalidRequest,
        .proxy,
        .unsupported, .shutDown, .notConnected, .blockedByPolicy, TransportError.Code("my own"),
    ]

    @Test func connectivityErrorsAreErrorsOfTheConnection() {
        let group = Self.codes.filter { Self.transport($0).isConnectivityError }
        #expect(group == [.cannotFindHost, .cannotConnect, .connectionLost, .notConnected])
        for phase in [ExchangePhase.connect, .connectivity] { #expect(Self.transport(.timedOut, in: phase).isConnectivityError) }
        for phase in [ExchangePhase.queue, .send, .response, .body, .backoff] {
            #expect(!Self.transport(.timedOut, in: phase).isConnectivityError)
        }
        #expect(!CancellationError().isConnectivityError && !TestError().isConnectivityError)
    }

    @Test func onlyADeviceWithoutANetworkIsOffline() {
        #expect(Self.codes.filter { Self.transport($0).isOffline } == [.notConnected])
        #expect(Self.transport(.timedOut, in: .connectivity).isOffline)
        #expect(!Self.transport(.timedOut, in: .connect).isOffline && !CancellationError().isOffline && !TestError().isOffline)
    }

    @Test func onlyATimeoutOfThisSideIsATimeout() async throws {
        #expect(Self.codes.filter { Self.transport($0).isTimeout } == [.timedOut])
        for code in [408, 504] { #expect(try await !Self.status(code).isTimeout) }
    }

    @Test func aCancellationIsInNoOtherGroup() {
        #expect(CancellationError().isCancellation && !CancellationError().isTimeout)
        #expect(!Self.transport(.connectionLost).isCancellation && !TestError().isCancellation)
    }

    @Test(arguments: [
        (302, false, false), (399, false, false), (400, true, false), (499, true, false), (500, false, true), (599, false, true),
    ])
    func aStatusIsOfTheClientOrOfTheServer(_ code: Int, _ isClient: Bool, _ isServer: Bool) async throws {
        let error: any Error = try await Self.status(code)
        #expect(error.isClientError == isClient && error.isServerError == isServer)
    }

    @Test func onlyARefusedStatusIsAStatusError() {
        let head = HTTPResponse(status: .unauthorized)
        let refused: any Error = ResponseValidationError(
            name: "token", retries: 1, retryStop: .attemptsUsedUp, of: Response(head: head, request: .sample()))
        #expect(refused.isClientError && !refused.isServerError)
        let broken: any Error = TransportError(.connectionLost, phase: .response, request: .sample(), response: head, delivery: .sent)
        #expect(!broken.isClientError && broken.isConnectivityError)
        let redirect: any Error = RedirectError(.downgrade, request: .sample(), head: HTTPResponse(status: .found))
        #expect(!redirect.isClientError && !redirect.isServerError && !TestError().isClientError)
    }

    @Test func groupsAreUsableInACatchClause() {
        func group(_ error: any Error) -> String {
            do {
                throw error
            } catch  where error.isCancellation {
                return "cancelled"
            } catch  where error.isConnectivityError {
                return "offline"
            } catch {
                return "other"
            }
        }
        #expect(
            group(CancellationError()) == "cancelled" && group(Self.transport(.cannotConnect)) == "offline" && group(TestError()) == "other"
        )
    }
}
