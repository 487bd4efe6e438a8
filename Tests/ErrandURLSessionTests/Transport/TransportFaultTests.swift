#if SWIFT_NIO && MockServer
internal import ErrandCore
internal import ErrandMiddleware
internal import ErrandNIO
internal import ErrandURLSession
internal import Foundation
internal import TestSupport
internal import Testing

extension URLSessionTransportTests {
    /// The same fault over both transports, on a real socket.
    @Suite struct TransportFaultTests {
        /// What an app sees of a failure.
        struct Seen: Equatable, CustomStringConvertible {
            var code: String
            var phase: String
            var delivery: Delivery
            /// Whether `retry` sends a GET again.
            var isTransient: Bool
            var isOffline: Bool
            var text: String

            var description: String { "\(code), \(phase), \(delivery), \(isTransient), \(isOffline), \(text)" }
        }

        enum Fault: String, CaseIterable, CustomTestStringConvertible {
            case refusedPort = "a refused port"
            case unknownHost = "an unknown host"
            case endBeforeHead = "a connection that ends before the head"
            case resetBeforeHead = "a connection that is reset before the head"
            case noHTTP = "a response that is not HTTP"
            case cutBody = "a body that ends early"
            case cutChunks = "a body in chunks that ends early"
            case silence = "a server that does not respond within the deadline"

            var testDescription: String { rawValue }
        }

        @Test(arguments: Fault.allCases) func bothTransportsReportTheSameFailure(for fault: Fault) async throws {
            let server = try RawServer { connection in
                try connection.readHead()
                switch fault {
                case .resetBeforeHead: connection.resetAtEnd()
                case .noHTTP: try connection.write("220 mail.example ESMTP\r\n\r\n")
                case .cutBody: try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly a part")
                case .cutChunks: try connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nthree\r\n")
                case .silence: while try !connection.read().isEmpty {}
                default: break
                }
            }
            defer { server.stop() }
            let url =
                switch fault {
                case .refusedPort: try "http://127.0.0.1:\(LoopbackPorts.refused())/"
                case .unknownHost: "http://nowhere.invalid/"
                default: server.url()
                }
            let (ours, theirs) = (try await seen(over: NIOTransport(), url), try await seen(over: URLSessionTransport(), url))
            #if canImport(FoundationNetworking)
            // On Linux, URLSession has the same error for an empty response as for an invalid response.
            if fault == .endBeforeHead { return #expect(ours.code == "connection lost" && theirs.code == "invalid response") }
            #endif
            #expect(ours == theirs)
        }

        private func seen(over transport: some HTTPTransport, _ url: String) async throws -> Seen {
            try await withTransport(transport) { transport in
                let stack = HTTPStack(transport).timeout(.seconds(1))
                let error = await #expect(throws: (any Error).self) {
                    _ = try await stack.send(Request(.get, url: url)).body.collect()
                }
                let failure = try #require(error as? any RequestFailure)
                let code = (failure as? TransportError).map { "\($0.code)" } ?? "\(type(of: failure))"
                return Seen(
                    code: code, phase: "\(failure.phase)", delivery: failure.delivery, isTransient: failure.isTransient,
                    isOffline: failure.isOffline, text: failure.localizedDescription)
            }
        }
    }
}
#endif
