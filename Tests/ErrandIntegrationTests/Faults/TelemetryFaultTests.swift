#if MockServer && SWIFT_NIO
import Errand
import ErrandMockServer
import ErrandTesting
import TestSupport
import Testing
import Tracing

/// Metrics and spans over a real socket, against a server that fails what they tell of.
@Suite(.timeLimit(.minutes(5))) struct TelemetryFaultTests {
    private let metrics = RecordingMetrics()
    private let tracer = RecordingTracer()

    private func observed(_ transport: NIOTransport) -> HTTPStack {
        transport.metrics(factory: metrics).trace(tracer: tracer, options: TraceOptions(recordsBodySizes: true))
    }

    private func traceparents(_ request: MockRequest) throws -> [String] {
        request.headers[values: try #require(HTTPField.Name("traceparent"))]
    }

    /// Returns when all is told, by the event loop where it comes from there.
    private func allIsTold(_ count: Int) async throws {
        try await poll("all spans to end", value: { tracer.ended.count }) { $0 == count }
        try await poll("all to be measured", value: { metrics.values("http.client.request.duration").count }) { $0 == count }
        #expect(metrics.level("http.client.active_requests") == 0 && tracer.spans.allSatisfy { $0.endCount == 1 })
    }

    @Test(arguments: [false, true]) func aWholeExchangeIsReported(isHTTP2: Bool) async throws {
        let files = try FileAuthority()
        try await withMockServer(.tls(try files.authority.certificate(), protocols: [isHTTP2 ? .http2 : .http1_1])) { server in
            server.enqueue(.chunks([Data(count: 100_000), Data(count: 1)]), .text("no", status: .notFound))
            try await withNIO {
                $0.tls.extraRootsPEMFiles = [files.path]
            } _: { transport in
                let chunks = AsyncStream<Data> { continuation in
                    for _ in 0..<3 { continuation.yield(Data(count: 1_000)) }
                    continuation.finish()
                }
                let stack = observed(transport)
                let sent = try await stack.send(Request(.post, url: server.url("/x"), body: .stream(chunks)))
                #expect(try await sent.body.collect().count == 100_001)
                _ = try await stack.send(Request(.get, url: server.url("/y"))).body.collect()
            }
            try await allIsTold(2)
            #expect(metrics.level("http.client.open_connections", ["http.connection.state": "idle"]) == 1)
            #expect(metrics.level("http.client.open_connections", ["http.connection.state": "active"]) == 0)
            let version = isHTTP2 ? "2" : "1.1"
            #expect(tracer.spans.map { $0.texts["network.protocol.version"] } == [version, version])
            #expect(tracer.spans.map { $0.texts["http.response.body.size"] } == ["100001", "2"])
            #expect(tracer.spans.first?.texts["http.request.body.size"] == "3000")
            #expect(metrics.values("http.client.request.body.size", ["network.protocol.version": version]) == [3_000])
            #expect(Set(metrics.values("http.client.response.body.size")) == [100_001, 2])
            #expect(tracer.spans.last?.texts["error.type"] == "404" && tracer.spans.last?.texts["server.port"] == "\(server.port)")
            #expect(try server.requests.map { try traceparents($0).map { TraceContext($0)?.span } } == tracer.spans.map { [$0.id] })
        }
    }

    @Test(arguments: Fault.all, FaultPoint.all) func everyFaultIsReportedOnce(_ fault: Fault, at point: FaultPoint) async throws {
        try await withMockServer { server in
            server.enqueue(.data(Data(count: 200_000)).fault(fault, at: point))
            var request = try Request(.post, url: server.url("/broken"), body: .data(Data(count: 100_000)))
            request.deadline = Deadline(after: .milliseconds(200))
            var failure: TransportError?
            var status: Int?
            try await withNIO { transport in
                do {
                    let response = try await observed(transport).send(request)
                    status = response.status.code
                    _ = try await response.body.collect()
                } catch let error as TransportError {
                    failure = error
                }
            }
            try await allIsTold(1)
            let span = try #require(tracer.spans.first)
            #expect(span.texts["http.response.status_code"] == status.map(String.init))
            if let failure {
                let type = failure.code == .timedOut ? "timeout" : failure.code.description.replacing(" ", with: "_").lowercased()
                #expect(span.texts["error.type"] == type && span.status?.code == .error)
                #expect(metrics.values("http.client.request.duration", ["error.type": type]).count == 1)
                #expect(metrics.values("http.client.response.body.size").isEmpty)
            } else {
                #expect(span.texts["error.type"] == nil && span.status == nil)
            }
        }
    }

    @Test func aRefusedConnectionIsReported() async throws {
        let port = try LoopbackPorts.refused()
        try await withNIO { transport async throws -> Void in
            await #expect(throws: TransportError.self) { () async throws -> Void in
                _ = try await observed(transport).send(Request(.get, url: "http://127.0.0.1:\(port)/"))
            }
        }
        try await allIsTold(1)
        #expect(tracer.spans.first?.texts["error.type"] == "cannot_connect" && tracer.spans.first?.texts["server.address"] == "127.0.0.1")
    }

    @Test(arguments: [false, true]) func aTimeoutOfABodyIsNotReportedAsACancellation(isIdle: Bool) async throws {
        try await withMockServer { server in
            server.enqueue(.chunks([Data("one".utf8), Data("two".utf8)]).fault(.stall, at: .responseBody))
            try await withNIO { transport async throws in
                let stack =
                    isIdle
                    ? observed(transport).phaseTimeouts(idleRead: .milliseconds(300))
                    : observed(transport).timeout(.milliseconds(500))
                await #expect(throws: TransportError.self) { () async throws -> Void in
                    _ = try await stack.send(Request(.get, url: server.url("/x"))).body.collect()
                }
            }
            try await allIsTold(1)
            #expect(tracer.spans.first?.texts["error.type"] == "timeout" && tracer.spans.first?.texts["http.response.status_code"] == "200")
        }
    }

    @Test func aCancelledCallIsNotReportedAsAnError() async throws {
        try await withMockServer { server in
            server.enqueue(.text("x").fault(.stall, at: .responseStart))
            try await withNIO { transport async throws in
                let stack = observed(transport)
                let task = Task { try await stack.send(Request(.get, url: server.url("/x"))) }
                _ = try await server.nextRequest()
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
            }
            try await allIsTold(1)
            #expect(tracer.spans.first?.texts["error.type"] == nil && tracer.spans.first?.status == nil)
        }
    }

    /// The client that the transport is made of can trace as well.
    @Test func theTransportMakesNoSpans() async throws {
        try await withMockServer { server in
            server.enqueue(.text("x"))
            try await withTracer(tracer) {
                try await withNIO { transport in
                    _ = try await transport.trace().send(Request(.get, url: server.url("/x"))).body.collect()
                }
            }
            #expect(tracer.spans.count == 1)
            #expect(try traceparents(#require(server.requests.first)).count == 1)
        }
    }
}
#endif
