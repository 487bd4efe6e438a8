#if SWIFT_NIO && MockServer
internal import Errand
internal import ErrandMockServer
internal import ErrandTesting
internal import Foundation
internal import TestSupport
internal import Testing

extension TransportTests {
    @Suite(.enabled(if: NginxServer.isHere, Comment(rawValue: NginxServer.missing)))
    struct TransportHTTPVersionTests {
        @Test(
            arguments: [(NginxServer.Listener.tls, true, HTTPVersion.http2), (.tls, false, .http1_1), (.plain, true, .http1_1)],
            TestedTransport.allCases)
        func theVersionIsChosenByALPN(_ example: (NginxServer.Listener, Bool, HTTPVersion), by tested: TestedTransport) async throws {
            let (listener, allowsHTTP2, version) = example
            let nginx = try await NginxServer.shared()
            try await tested.run {
                $0.tls.extraRootsPEMFiles = [nginx.certificates.authority]
                $0.allowsHTTP2 = allowsHTTP2
            } _: { transport in
                let response = try await transport.send(Request(.get, url: nginx.url("/5m", listener)))
                #expect(response.metadata.httpVersion == version)
                #expect(try await (response.body.collect() == NginxServer.large) as Bool)
                #expect(try await response.end().isComplete)
            }
        }

        /// The server has not processed the request ([RFC 9113, section 8.7](https://www.rfc-editor.org/rfc/rfc9113#section-8.7)).
        @Test(arguments: TestedTransport.allCases) func aRequestWhoseStreamIsRefusedWasNotSent(by tested: TestedTransport) async throws {
            let files = try FileAuthority()
            try await withMockServer(.tls(try files.authority.certificate(), protocols: [.http2])) { server in
                server.dispatch { _ in .status(.ok).fault(.refusedStream, at: .requestStart) }
                try await tested.run {
                    $0.tls.extraRootsPEMFiles = [files.path]
                } _: { transport in
                    let failure = try await transportError {
                        try await transport.send(Request(.post, url: server.url("/"), body: .text("tea")))
                    }
                    #expect(failure.code == .connectionLost && failure.delivery == .notSent, "\(failure)")
                }
            }
        }

        @Test(arguments: TestedTransport.allCases) func requestsAtATimeShareAConnectionOfHTTP2(by tested: TestedTransport) async throws {
            let nginx = try await NginxServer.shared()
            try await tested.run {
                $0.tls.extraRootsPEMFiles = [nginx.certificates.authority]
            } _: { transport in
                _ = try await transport.send(Request(.get, url: nginx.url("/echo", .tls))).body.collect()
                let connections = try await withThrowingTaskGroup(of: String?.self) { group in
                    for _ in 0..<20 {
                        group.addTask {
                            let response = try await transport.send(Request(.get, url: nginx.url("/300k", .tls)))
                            #expect(try await response.body.collect() == NginxServer.middle)
                            return response.headers[.connectionNumber]
                        }
                    }
                    return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
                }
                #expect(connections.count == 1)
                #expect(connections != [nil])
            }
        }

        @Test(arguments: TestedTransport.allCases) func anAbandonedStreamOfHTTP2LeavesTheConnection(by tested: TestedTransport)
            async throws
        {
            let nginx = try await NginxServer.shared()
            try await tested.run {
                $0.tls.extraRootsPEMFiles = [nginx.certificates.authority]
            } _: { transport in
                let first = try await transport.send(Request(.get, url: nginx.url("/5m", .tls)))
                #expect(first.metadata.httpVersion == .http2)
                for try await _ in first.body { break }
                #expect(try await first.end().isAbandoned)
                let second = try await transport.send(Request(.get, url: nginx.url("/small", .tls)))
                #expect(try await second.body.collect() == NginxServer.small)
                #expect(second.headers[.connectionNumber] == first.headers[.connectionNumber])
            }
        }

        @Test(arguments: TestedTransport.allCases) func aBodyOfHTTP2ObeysTheDeadline(by tested: TestedTransport) async throws {
            let nginx = try await NginxServer.shared()
            try await tested.run {
                $0.tls.extraRootsPEMFiles = [nginx.certificates.authority]
            } _: { transport in
                let request = try Request(.get, url: nginx.url("/slow/5m", .tls)).within(.milliseconds(500))
                let response = try await transport.send(request)
                let failure = try await transportError { try await response.body.collect() }
                #expect(failure.code == .timedOut)
                #expect(failure.phase == .body)
                #expect(failure.delivery == .sent)
            }
        }

        @Test(arguments: TestedTransport.allCases) func aCancelledReaderOfHTTP2EndsImmediately(by tested: TestedTransport) async throws {
            let nginx = try await NginxServer.shared()
            try await tested.run {
                $0.tls.extraRootsPEMFiles = [nginx.certificates.authority]
            } _: { transport in
                let hasBegun = Watched(false)
                let task = Task {
                    let response = try await transport.send(Request(.get, url: nginx.url("/slow/5m", .tls)))
                    for try await _ in response.body { hasBegun.change { $0 = true } }
                }
                try await hasBegun.wait { $0 }
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
            }
        }
    }
}

extension HTTPField.Name {
    /// nginx's number of the connection.
    static let connectionNumber = HTTPField.Name("X-Connection") ?? .connection
    /// How many requests it has served.
    static let connectionRequests = HTTPField.Name("X-Connection-Requests") ?? .connection
}
#endif
