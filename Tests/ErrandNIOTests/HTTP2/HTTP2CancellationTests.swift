#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandNIO
import ErrandTesting
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    @Suite(.timeLimit(.minutes(5))) struct HTTP2CancellationTests {
        /// Many streams are cancelled, some of them while the connection is opened. The other streams get their whole responses, and no
        /// stream hangs.
        @Test(
            .enabled(if: NginxServer.isHere, Comment(rawValue: NginxServer.missing)), arguments: [UInt64(4), 5, 6])
        func cancelledStreamsLeaveTheirNeighborsWhole(seed: UInt64) async throws {
            let nginx = try await NginxServer.shared()
            try await withNIO {
                $0.tls.extraRootsPEMFiles = [nginx.certificates.authority]
            } _: { transport in
                var generator = SeededGenerator(seed: seed)
                let outcomes = Watched((open: 100, whole: 0, cancelled: 0, other: [String]()))
                for _ in 0..<100 {
                    let request = try Request(.get, url: nginx.url("/300k", .tls))
                    let exchange = Task { try await transport.send(request).body.collect() }
                    if Bool.random(using: &generator) {
                        let delay = Duration.microseconds(Int.random(in: 0..<100_000, using: &generator))
                        Task {
                            try await Task.sleep(for: delay)
                            exchange.cancel()
                        }
                    }
                    Task {
                        let result = await exchange.result
                        outcomes.change { outcomes in
                            outcomes.open -= 1
                            switch result {
                            case .success(NginxServer.middle): outcomes.whole += 1
                            case .failure(is CancellationError): outcomes.cancelled += 1
                            default: outcomes.other.append("\(result)")
                            }
                        }
                    }
                }
                let end = try await outcomes.wait("all of them to end") { $0.open == 0 }
                #expect(end.other.isEmpty, "\(end.other.prefix(3))")
                for _ in 0..<5 {
                    let response = try await transport.send(Request(.get, url: nginx.url("/300k", .tls)).within(.seconds(10)))
                    #expect(try await response.body.collect() == NginxServer.middle)
                }
            }
        }
    }
}
#endif
