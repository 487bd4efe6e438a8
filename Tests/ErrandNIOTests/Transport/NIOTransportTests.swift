#if SWIFT_NIO
import ErrandConformance
import ErrandCore
import ErrandNIO
import TestSupport
import Testing

/// What opens sockets. One test after the other, and none leaves a connection, an exchange or a file behind.
@Suite(
    .serialized, .timeLimit(.minutes(5)), SharedServers(badTLS: true, proxies: true),
    .leavesNothingBehind(temporaryPrefixes: [TestFolder.prefix], inParallelRuns: false))
enum NIOTransportTests {}

/// `#expect` for calls that change a value, which the macro can't take apart.
func expect(_ value: Bool, sourceLocation: SourceLocation = #_sourceLocation) { #expect(value, sourceLocation: sourceLocation) }

/// `#require` for calls that change a value.
func require<Value>(_ value: Value?, sourceLocation: SourceLocation = #_sourceLocation) throws -> Value {
    try #require(value, sourceLocation: sourceLocation)
}

extension NIOTransport {
    /// Waits until `count` exchanges wait for a connection.
    func waitForQueue(of count: Int = 1) async throws {
        try await poll("\(count) in the queue", value: { waitingExchanges.values.reduce(0, +) }) { $0 == count }
    }
}

/// A transport whose only connection is in use: the server has received a request, and has not responded.
struct BusyTransport: Sendable {
    let transport: NIOTransport
    let server: RawServer
    /// The request that is in progress, and that can be sent again.
    let request: Request
    private let first: Task<Data, any Error>
    private let mayAnswer: Watched<Bool>

    /// Runs `body` with such a transport, which is shut down afterwards.
    static func with(
        _ configure: (inout NIOTransport.Configuration) -> Void = { _ in }, _ body: (BusyTransport) async throws -> Void
    ) async throws {
        let mayAnswer = Watched(false)
        let server = try RawServer.ok(when: mayAnswer)
        defer {
            mayAnswer.change { $0 = true }
            server.stop()
        }
        try await withNIO {
            $0.maxConnectionsPerOrigin = 1
            configure(&$0)
        } _: { transport in
            let request = try Request(.get, url: server.url())
            let first = Task { try await transport.send(request).body.collect() }
            try await server.counts.wait("the first request") { $0.requests == 1 }
            try await body(BusyTransport(transport: transport, server: server, request: request, first: first, mayAnswer: mayAnswer))
        }
    }

    /// Lets the server respond to all requests, and waits for the response to the first.
    func respond() async throws {
        mayAnswer.change { $0 = true }
        #expect(try await first.value == Data("ok".utf8))
    }
}

extension RawServer {
    /// Responds `ok` to each request, immediately or as soon as `mayRespond` is true.
    static func ok(when mayRespond: Watched<Bool>? = nil) throws -> RawServer {
        try responding { connection, _, _ in
            try mayRespond?.waitBlocking { $0 }
            try connection.respond(body: Data("ok".utf8))
        }
    }
}
#endif
