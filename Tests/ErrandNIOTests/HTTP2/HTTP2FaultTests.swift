#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandMockServer
import ErrandNIO
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// Each fault of the mock server at each point of an exchange.
    @Suite(.timeLimit(.minutes(5))) struct HTTP2FaultTests {
        static let faults: [Fault] =
            Fault.all + [
                .goAway(includesStream: true), .goAway(includesStream: false), .goAway(includesStream: false, code: 11), .refusedStream,
                .resetStream(code: 2), .resetStream(code: 8),
            ]

        /// The exchange and the other exchange on the same connection end soon, and the next exchange succeeds.
        @Test(arguments: faults, FaultPoint.all)
        func aFaultEndsItsExchangeAndTheNextOneSucceeds(fault: Fault, point: FaultPoint) async throws {
            try await withMockServer(.http2) { server in
                server.dispatch { request in
                    guard request.path == "/fault" else { return .text("fine") }
                    return .data(Data(repeating: 1, count: 20_000)).fault(fault, at: point)
                }
                try await withNIO {
                    $0.usesHTTP2WithoutTLS = true
                } _: { transport in
                    // Opens the connection.
                    _ = try await transport.send(Request(.get, url: server.url("/fine")).within(.seconds(3))).body.collect()
                    let start = ContinuousClock.now
                    do {
                        let request = try Request(.post, url: server.url("/fault"), body: .text("body")).within(.milliseconds(250))
                        let body = try await transport.send(request).body.collect()
                        #expect(body.count == 20_000)
                    } catch let failure as TransportError {
                        let codes: [TransportError.Code] = [.connectionLost, .invalidResponse, .timedOut]
                        #expect(codes.contains(failure.code), "\(failure)")
                    }
                    #expect(ContinuousClock.now - start < .seconds(3))
                    let next = try await transport.send(Request(.get, url: server.url("/fine")).within(.seconds(3)))
                    #expect(try await next.body.collect() == Data("fine".utf8))
                    await eventually { transport.openConnections.allSatisfy { $0.exchanges == 0 } }
                }
            }
        }
    }
}
#endif
