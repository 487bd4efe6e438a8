import Errand
import ErrandTesting
import TestSupport
import Testing

/// An attempt that ends in one way, and what telemetry says of it.
struct TelemetryCase: Sendable, CustomTestStringConvertible {
    /// How it comes to its end.
    enum Course: Sendable {
        /// The body is read.
        case read
        /// The time is up before the head.
        case timedOut
        /// The time is up within the body.
        case timedOutReading
        /// The response is dropped unread.
        case dropped
        /// The caller is cancelled while it waits for the head.
        case cancelled
        /// The caller is cancelled while it waits for the body.
        case cancelledReading
    }

    let name: String
    var response: StubResponse
    var url = "https://a.example/x"
    var method = HTTPRequest.Method.get
    var course = Course.read
    /// Attributes of the duration and the span, beside the server's.
    let attributes: [String: String]

    var testDescription: String { name }

    static func transport(_ code: TransportError.Code, _ phase: ExchangePhase = .connect) -> StubResponse {
        .failure(TransportError(code, phase: phase, request: nil, delivery: .notSent))
    }

    struct Foreign: Error, CustomStringConvertible { let description = "t0ps3cret" }

    static let all = [
        TelemetryCase(name: "success", response: .status(.ok), attributes: ["http.response.status_code": "200"]),
        TelemetryCase(name: "success, streamed", response: .stream(streamed), attributes: ["http.response.status_code": "200"]),
        TelemetryCase(
            name: "redirect that nobody follows", response: .redirect(to: "/y"), attributes: ["http.response.status_code": "302"]),
        TelemetryCase(
            name: "404", response: .status(.notFound, text: "no"),
            attributes: ["http.response.status_code": "404", "error.type": "404"]),
        TelemetryCase(
            name: "500", response: .status(.internalServerError),
            attributes: ["http.response.status_code": "500", "error.type": "500"]),
        TelemetryCase(name: "refused", response: transport(.cannotConnect), attributes: ["error.type": "cannot_connect"]),
        TelemetryCase(name: "no such host", response: transport(.cannotFindHost), attributes: ["error.type": "cannot_find_host"]),
        TelemetryCase(name: "TLS", response: transport(.tls), attributes: ["error.type": "tls_failure"]),
        TelemetryCase(name: "timeout for the head", response: .never, course: .timedOut, attributes: ["error.type": "timeout"]),
        TelemetryCase(
            name: "timeout within the body", response: .streaming { _, _ in (HTTPResponse(status: .ok), ScriptedBodySource(then: .stall)) },
            course: .timedOutReading, attributes: ["http.response.status_code": "200", "error.type": "timeout"]),
        TelemetryCase(
            name: "body that breaks off", response: .data(Data(count: 10)).breaking(afterBytes: 5),
            attributes: ["http.response.status_code": "200", "error.type": "connection_lost"]),
        TelemetryCase(
            name: "body of an error that breaks off", response: .data(Data(count: 10), status: .badGateway).breaking(afterBytes: 5),
            attributes: ["http.response.status_code": "502", "error.type": "connection_lost"]),
        TelemetryCase(name: "another's failure", response: .failure(Foreign()), attributes: ["error.type": "Foreign"]),
        TelemetryCase(
            name: "given up", response: .stream(streamed), course: .dropped, attributes: ["http.response.status_code": "200"]),
        TelemetryCase(
            name: "given up, of an error", response: .stream(streamed, status: .notFound), course: .dropped,
            attributes: ["http.response.status_code": "404", "error.type": "404"]),
        TelemetryCase(name: "cancelled", response: .never, course: .cancelled, attributes: [:]),
        TelemetryCase(
            name: "cancelled within the body",
            response: .streaming { _, _ in (HTTPResponse(status: .ok), ScriptedBodySource(then: .stall)) },
            course: .cancelledReading, attributes: ["http.response.status_code": "200"]),
        TelemetryCase(
            name: "unknown method", response: .status(.ok), method: HTTPRequest.Method("PURGE") ?? .get,
            attributes: ["http.response.status_code": "200"]),
        TelemetryCase(
            name: "IPv6", response: .status(.ok), url: "http://[2001:db8::1]:8080/x", attributes: ["http.response.status_code": "200"]),
        TelemetryCase(
            name: "IPv6 at the scheme's port", response: .status(.ok), url: "https://[::1]/",
            attributes: ["http.response.status_code": "200"]
        ),
    ]

    /// Method, server and port, as telemetry has them.
    var common: [String: String] {
        let method = self.method == .get ? "GET" : "_OTHER"
        let server = url.contains("2001") ? ("2001:db8::1", "8080") : url.contains("::1") ? ("::1", "443") : ("a.example", "443")
        return ["http.request.method": method, "server.address": server.0, "server.port": server.1]
    }

    /// Plays it through `wrap`, to its end. What is thrown on the way is as it should be.
    func play(clock: ManualClock, wrap: (HTTPStack) -> HTTPStack) async throws {
        let stub = StubTransport(Stub().responds(response))
        let stack = wrap(HTTPStack(stub)).timeout(.seconds(5), clock: clock)
        let request = try Request(method, url: url)
        switch course {
        case .read:
            _ = try? await stack.send(request).body.collect()
        case .timedOut:
            _ = try? await clock.advancingToSleepers { try await stack.send(request) }
        case .timedOutReading:
            let response = try await stack.send(request)
            _ = try? await clock.advancingToSleepers { try await response.body.collect() }
        case .dropped:
            try await stack.send(request).body.abandon()
        case .cancelled, .cancelledReading:
            let isReading = Watched(false)
            let task = Task {
                let response = try await stack.send(request)
                isReading.change { $0 = true }
                _ = try await response.body.collect()
            }
            await eventually { !stub.requests.isEmpty }
            if case .cancelledReading = course { try await isReading.wait { $0 } }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(stub.openBodyCount == 0)
    }
}
