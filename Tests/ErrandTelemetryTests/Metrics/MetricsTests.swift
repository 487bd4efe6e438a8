import Errand
import ErrandTesting
import Metrics
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct MetricsTests {
    private let metrics = RecordingMetrics(buckets: MetricsMiddleware.durationBuckets)
    private let clock = ManualClock()

    private static let duration = "http.client.request.duration"
    private static let active = "http.client.active_requests"
    private static let sent = "http.client.request.body.size"
    private static let received = "http.client.response.body.size"

    @Test(arguments: TelemetryCase.all) func eachEndHasItsAttributes(_ outcome: TelemetryCase) async throws {
        try await outcome.play(clock: clock) { $0.metrics(factory: metrics, clock: clock) }
        let expected = outcome.common.merging(outcome.attributes) { $1 }.map { "\($0)=\($1)" }.sorted()
        #expect(metrics.names.filter { $0.hasPrefix(Self.duration) } == [([Self.duration] + expected).joined(separator: " ")])
        #expect(metrics.values(Self.duration).count == 1)
        #expect(metrics.level(Self.active) == 0)
    }

    @Test func theTextFormatFollowsTheConventions() async throws {
        let stub = StubTransport(Stub().responds(.data(Data(count: 300), status: .ok).delayed(by: .milliseconds(300))), clock: clock)
        let stack = stub.transformResponse { $0.metadata.httpVersion = .http2 }.metrics(factory: metrics, clock: clock)
        _ = try await clock.advancingToSleepers { try await stack.send(try request(.post, body: .data(Data(count: 20)))) }
        let server = #"server_address="a.example",server_port="443""#
        let common = #"http_request_method="POST",http_response_status_code="200",network_protocol_version="2","# + server
        let bounds = ["0.005", "0.01", "0.025", "0.05", "0.075", "0.1", "0.25", "0.5", "0.75", "1.0", "2.5", "5.0", "7.5", "10.0", "+Inf"]
        let buckets = bounds.map {
            "http_client_request_duration_bucket{\(common),le=\"\($0)\"} \(["+Inf"].contains($0) || Double($0) ?? 0 >= 0.5 ? 1 : 0)"
        }
        let lines = metrics.exposition
        #expect(lines.filter { $0.hasPrefix("http_client_request_duration_bucket") } == buckets.sorted())
        #expect(lines.contains("http_client_request_duration_sum{\(common)} 0.3"))
        #expect(lines.contains("http_client_request_duration_count{\(common)} 1"))
        #expect(lines.contains("http_client_request_body_size_sum{\(common)} 20.0"))
        #expect(lines.contains("http_client_response_body_size_sum{\(common)} 300.0"))
        #expect(lines.contains(#"http_client_active_requests{http_request_method="POST",\#(server),url_scheme="https"} 0.0"#))
    }

    @Test func aDurationLastsToTheEndOfTheBody() async throws {
        let stub = StubTransport(Stub().responds(.stream(streamed)))
        let response = try await stub.metrics(factory: metrics, clock: clock).send(try request())
        clock.advance(by: .seconds(2))
        #expect(metrics.values(Self.duration).isEmpty && metrics.level(Self.active) == 1)
        _ = try await response.body.collect()
        #expect(metrics.values(Self.duration) == [2] && metrics.level(Self.active) == 0)
    }

    @Test func aChangeOfProtocolIsMeasuredToItsHead() async throws {
        let stack = HTTPStack(UpgradingSender()).metrics(factory: metrics, clock: clock)
        let response = try await stack.send(try request())
        #expect(metrics.values(Self.duration, ["http.response.status_code": "101"]).count == 1 && metrics.level(Self.active) == 0)
        response.exchange.end(.complete)
        #expect(metrics.values(Self.duration).count == 1 && metrics.values(Self.received).isEmpty)
    }

    // MARK: - Sizes

    @Test func sizesAreCountedWithoutADeclaredLength() async throws {
        let stub = StubTransport(Stub().responds(.stream(streamed)))
        let chunks = AsyncStream<Data> { continuation in
            for chunk in streamed { continuation.yield(chunk) }
            continuation.finish()
        }
        _ = try await stub.metrics(factory: metrics).send(try request(.post, body: .stream(chunks))).body.collect()
        #expect(metrics.values(Self.sent) == [11] && metrics.values(Self.received) == [11])
    }

    @Test func anExchangeThatDidNotComeToItsEndHasNoSizes() async throws {
        let stub = StubTransport(Stub().responds(.data(Data(count: 10)).breaking(afterBytes: 5), .stream(streamed), .never))
        let stack = stub.metrics(factory: metrics)
        let body = RequestBody.data(Data(count: 7))
        await #expect(throws: TransportError.self) { try await stack.send(try request(.post, body: body)).body.collect() }
        try await stack.send(try request(.post, body: body)).body.abandon()
        #expect(metrics.values(Self.sent).isEmpty && metrics.values(Self.received).isEmpty)
    }

    @Test func aRequestWithoutABodyHasNoSize() async throws {
        _ = try await StubTransport(Stub().responds(.status(.noContent))).metrics(factory: metrics).send(try request())
        #expect(metrics.values(Self.sent).isEmpty && metrics.values(Self.received) == [0])
    }

    // MARK: - Repeated requests

    @Test func eachAttemptIsMeasured() async throws {
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable), TelemetryCase.transport(.cannotConnect), .status(.ok)))
        let stack = stub.metrics(factory: metrics, clock: clock).retry(clock: clock)
        _ = try await clock.advancingToSleepers { try await stack.send(try request()) }
        #expect(metrics.values(Self.duration) == [0, 0, 0], "the waits are nobody's")
        #expect(metrics.values(Self.duration, ["error.type": "503", "http.response.status_code": "503"]).count == 1)
        #expect(metrics.values(Self.duration, ["error.type": "cannot_connect"]).count == 1)
        #expect(metrics.values(Self.duration, ["http.response.status_code": "200"]).count == 1)
    }

    @Test func eachHopIsCountedForItsServer() async throws {
        let stub = StubTransport(
            Stub(.get, "/x").responds(.redirect(to: "https://b.example:8080/y")), Stub(.get, "/y").responds(.status(.ok)))
        _ = try await stub.metrics(factory: metrics).redirect().send(try request())
        #expect(metrics.values(Self.duration, ["server.address": "a.example", "server.port": "443"]).count == 1)
        #expect(metrics.values(Self.duration, ["server.address": "b.example", "server.port": "8080"]).count == 1)
    }

    // MARK: - Attributes on demand

    @Test func schemeAndTemplateAreAddedOnDemandAndThePathNever() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let call = try Request(.get, "/users/\(4711, "id")")
        _ = try await stub.metrics(factory: metrics).server("https://a.example").send(call)
        #expect(!metrics.names.joined().contains("4711") && !metrics.names.joined().contains("url.template"))
        #expect(metrics.names.filter { $0.contains("url.scheme") }.allSatisfy { $0.hasPrefix(Self.active) })
        _ = try await stub.metrics(factory: metrics, attributes: [.urlScheme, .urlTemplate]).server("https://a.example").send(call)
        let both = ["url.scheme": "https", "url.template": "/users/{id}"]
        #expect(metrics.values(Self.duration, both).count == 1 && metrics.values(Self.received, both).count == 1)
        #expect(metrics.names.contains { $0.hasPrefix(Self.active) && $0.contains("url.template=/users/{id}") })
    }

    @Test func aPathOfAServerIsNotRecordedAsATemplate() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let call = try Request(.get, PathTemplate(verbatim: "/next/4711"))
        _ = try await stub.metrics(factory: metrics, attributes: .urlTemplate).server("https://a.example").send(call)
        #expect(!metrics.names.joined().contains("4711"))
    }

    @Test func customMethodsCanBeDeclared() async throws {
        let purge = try #require(HTTPRequest.Method("PURGE"))
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let stack = stub.wrapped(by: MetricsMiddleware(factory: metrics, knownMethods: [purge]))
        _ = try await stack.send(try request(purge))
        _ = try await stack.send(try request(.get))
        #expect(metrics.values(Self.duration, ["http.request.method": "PURGE"]).count == 1)
        #expect(metrics.values(Self.duration, ["http.request.method": "_OTHER"]).count == 1)
    }

    // MARK: - Open connections

    @Test func openConnectionsAreReportedWithACount() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let open = Mutex(MetricsMiddleware.ConnectionCount(active: 1, idle: 2))
        let stack = stub.metrics(factory: metrics, openConnections: { $0 == "https://a.example" ? open.withLock { $0 } : nil })
        _ = try await stack.send(try request())
        _ = try await stack.send(try Request(.get, url: "https://b.example/"))
        let name = "http.client.open_connections"
        func level(_ state: String) -> Double { metrics.level(name, ["http.connection.state": state, "server.address": "a.example"]) }
        #expect(level("active") == 1 && level("idle") == 2)
        open.withLock { $0.idle = 0 }
        _ = try await stack.send(try request(.post))
        #expect(level("idle") == 0)
        #expect(metrics.level(name, ["server.address": "b.example"]) == 0)
        #expect(metrics.names.filter { $0.hasPrefix(name) }.allSatisfy { !$0.contains("method") })
    }

    @Test func openConnectionsAreNotReportedWithoutACount() async throws {
        _ = try await StubTransport(Stub().responds(.status(.ok))).metrics(factory: metrics).send(try request())
        #expect(!metrics.names.contains { $0.hasPrefix("http.client.open_connections") })
    }

    // MARK: - Bounds

    @Test func aBackEndIsAskedOnceForEachInstrument() async throws {
        let stack = StubTransport(Stub().responds(.status(.ok))).metrics(factory: metrics)
        for _ in 0..<100 { _ = try await stack.send(try request()) }
        #expect(metrics.madeCount == 3 && metrics.values(Self.duration).count == 100)
    }

    /// A back end keeps what was made for ever.
    @Test func serversBeyondTheBoundAreCountedTogether() async throws {
        let stack = StubTransport(Stub().responds(.status(.ok))).metrics(factory: metrics)
        for number in 0..<1_000 { _ = try await stack.send(try Request(.get, url: "https://\(number).example/")) }
        _ = try await stack.send(try Request(.get, url: "https://1000.example:8443/"))
        let made = metrics.madeCount
        for number in 1_000..<2_500 { _ = try await stack.send(try Request(.get, url: "https://\(number).example/")) }
        #expect(metrics.madeCount == made, "nothing new is made")
        #expect(metrics.values(Self.duration).count == 2_501 && metrics.level(Self.active) == 0)
        #expect(metrics.values(Self.duration, ["server.address": "_OTHER"]).count == 1_501)
        #expect(metrics.names.allSatisfy { !$0.contains("8443") })
        _ = try await stack.send(try Request(.get, url: "https://7.example/"))
        #expect(metrics.values(Self.duration, ["server.address": "7.example"]).count == 2, "one that is known keeps its own")
    }

    @Test func statusesBeyondTheBoundAreCountedTogether() async throws {
        let codes = Mutex(199)
        let stub = StubTransport(
            Stub().responds(
                .custom { _ in
                    let code = codes.withLock { code in
                        code += 1
                        return code
                    }
                    return (HTTPResponse(status: .init(code: code)), Data())
                }))
        let stack = stub.metrics(factory: metrics)
        for _ in 0..<500 { _ = try await stack.send(try request()) }
        #expect(metrics.values(Self.duration).count == 500)
        #expect(metrics.madeCount <= 105, "\(metrics.madeCount)")
        // 200 to 399 are no errors, whatever their number.
        #expect(metrics.values(Self.duration, ["error.type": "_OTHER"]).count == 300)
    }

    @Test func aRequestWithMetricsOffIsNotMeasured() async throws {
        var call = try request()
        call.options.metrics = .off
        _ = try await StubTransport(Stub().responds(.status(.ok))).metrics(factory: metrics).send(call)
        #expect(metrics.names.isEmpty)
    }

    @Test func aWrongPlaceOfMetricsIsNamed() {
        let stub = StubTransport()
        #expect(stub.metrics(factory: metrics).concurrencyLimit(1).redirect().retry().server("https://a.example").orderProblems.isEmpty)
        #expect(
            stub.retry().metrics(factory: metrics).orderProblems
                == ["metrics is outside retry: all attempts would be counted as one attempt"])
    }
}
