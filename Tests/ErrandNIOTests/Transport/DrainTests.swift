#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandNIO
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// A shutdown that lets the exchanges in progress end.
    @Suite(.timeLimit(.minutes(5))) struct DrainTests {
        /// A server that responds when it may, and the number of the requests that it has.
        private func patientServer(_ mayRespond: Watched<Bool>, _ received: Watched<Int>) throws -> RawServer {
            try RawServer { connection in
                _ = try connection.readHead()
                received.change { $0 += 1 }
                try mayRespond.waitBlocking { $0 }
                try connection.respond(body: Data("ok".utf8))
            }
        }

        @Test func exchangesInProgressEndAndNewOnesAreRefused() async throws {
            let (mayRespond, received) = (Watched(false), Watched(0))
            let server = try patientServer(mayRespond, received)
            defer { server.stop() }
            let transport = NIOTransport()
            let url = server.url()
            let first = Task { try await transport.send(Request(.get, url: url).within(.seconds(30))).body.collect() }
            try await received.wait { $0 == 1 }
            let end = Task { try await transport.shutdown(drainingFor: .seconds(30)) }
            var refused: TransportError?
            while refused == nil {
                do {
                    _ = try await transport.send(Request(.get, url: url).within(.milliseconds(50)))
                } catch let error as TransportError where error.code == .shutDown {
                    refused = error
                } catch {}
            }
            #expect(refused?.delivery == .notSent)
            mayRespond.change { $0 = true }
            #expect(try await first.value == Data("ok".utf8))
            try await end.value
            #expect(transport.openConnections.isEmpty)
        }

        @Test func exchangesFailAfterTheDrainLimit() async throws {
            let (mayRespond, received) = (Watched(false), Watched(0))
            let server = try patientServer(mayRespond, received)
            defer {
                mayRespond.change { $0 = true }
                server.stop()
            }
            let transport = NIOTransport()
            let url = server.url()
            let first = Task { try await transport.send(Request(.get, url: url).within(.seconds(30))).body.collect() }
            try await received.wait { $0 == 1 }
            try await transport.shutdown(drainingFor: .milliseconds(50))
            let error = await #expect(throws: TransportError.self) { try await first.value }
            #expect(error?.code == .shutDown)
        }

        @Test func cancellingShutsDownImmediately() async throws {
            let (mayRespond, received) = (Watched(false), Watched(0))
            let server = try patientServer(mayRespond, received)
            defer {
                mayRespond.change { $0 = true }
                server.stop()
            }
            let transport = NIOTransport()
            let url = server.url()
            let first = Task { try await transport.send(Request(.get, url: url).within(.seconds(30))).body.collect() }
            try await received.wait { $0 == 1 }
            let end = Task { try await transport.shutdown(drainingFor: .seconds(3_600)) }
            end.cancel()
            try await end.value
            await #expect(throws: TransportError.self) { try await first.value }
        }

        @Test func anIdleTransportDoesNotWait() async throws {
            let clock = ContinuousClock()
            let time = try await clock.measure { try await NIOTransport().shutdown(drainingFor: .seconds(3_600)) }
            #expect(time < .seconds(60))
        }
    }
}
#endif
