#if MockServer
internal import ErrandCore
internal import ErrandMiddleware
internal import ErrandTesting
internal import Synchronization
internal import TestSupport
internal import Testing

@testable internal import ErrandURLSession

extension URLSessionTransportTests {
    /// Requests that a server has received although the session reports no sent bytes.
    @Suite struct URLSessionDeliveryTests {
        /// Starts a server that responds to GET, and calls `end` after each other request. Then the connection ends without a response.
        private func server(after end: @escaping @Sendable (RawRequest) -> Void) throws -> RawServer {
            try RawServer { connection in
                while true {
                    let request = try connection.readHead()
                    guard request.method == "GET" else { return end(request) }
                    try connection.respond()
                }
            }
        }

        /// Sends a GET, which leaves a kept connection.
        private func keepConnection(_ transport: some HTTPTransport, to server: RawServer) async throws {
            _ = try await transport.send(Request(.get, url: server.url())).body.collect()
        }

        @Test(arguments: [HTTPRequest.Method.post, .patch])
        func aRequestWithoutABodyIsProcessedOnce(_ method: HTTPRequest.Method) async throws {
            let processed = Counter()
            let server = try server { _ in processed.add() }
            defer { server.stop() }
            try await withTransport(URLSessionTransport()) { transport in
                try await keepConnection(transport, to: server)
                let failure = try await transportError {
                    try await HTTPStack(transport).retry(budget: nil).timeout(.seconds(10)).send(Request(method, url: server.url("/pay")))
                }
                #expect(failure.delivery == .unknown && processed.value == 1)
            }
        }

        /// The server ends after it has received the request, so that the second connection of the session is refused.
        @Test func aRequestOnAKeptConnectionMayHaveBeenSent() async throws {
            let running = Mutex<RawServer?>(nil)
            let server = try server { _ in running.withLock(\.self)?.stop() }
            running.withLock { $0 = server }
            defer { running.withLock { $0 = nil } }
            try await withTransport(URLSessionTransport()) { transport in
                try await keepConnection(transport, to: server)
                let failure = try await transportError {
                    try await HTTPStack(transport).timeout(.seconds(10)).send(Request(.delete, url: server.url("/notes/1")))
                }
                #expect(failure.delivery == .unknown)
            }
        }

        @Test(arguments: ["X-A: b", "Location:", "Location: http://["])
        func aRedirectWithoutAUsableTargetIsAResponse(field: String) async throws {
            let server = try RawServer.responding { connection, _, _ in try connection.respond("302 Found", fields: [field]) }
            defer { server.stop() }
            try await withTransport(URLSessionTransport()) { transport in
                let response = try await HTTPStack(transport).timeout(.seconds(10)).send(Request(.get, url: server.url()))
                #expect(response.status == .found)
                #expect(try await response.body.collect().isEmpty)
            }
        }

        @Test func aFailedRequestLeavesNoConnection() async throws {
            let url = try "http://127.0.0.1:\(LoopbackPorts.refused())/"
            try await withTransport(URLSessionTransport()) { transport in
                for _ in 0..<3 {
                    let failure = try await transportError { try await transport.send(Request(.delete, url: url)) }
                    #expect(failure.code == .cannotConnect && failure.delivery == .notSent)
                }
            }
        }
    }
}
#endif
