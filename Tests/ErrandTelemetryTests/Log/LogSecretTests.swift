import Errand
import ErrandTesting
import Logging
import TestSupport
import Testing

/// No secret is logged, wherever it stands and wherever a body is cut.
@Suite(.timeLimit(.minutes(5))) struct LogSecretTests {
    @Test(arguments: SecretBodies.all.indices, [LogStyle.oneLine, .pretty])
    func secretsOfABodyAreHiddenAtEveryCut(_ index: Int, _ style: LogStyle) async throws {
        let (type, text) = SecretBodies.all[index]
        let bytes = Data(text.utf8)
        for limitBytes in 0...bytes.count {
            let (logger, lines) = recordingLogger()
            var request = try request(.post, body: .data(bytes))
            let fields: HTTPFields = type.map { [.contentType: $0] } ?? [:]
            request.head.headerFields = fields
            request.options.sensitivity = Sensitivity(fields: [], queryNames: ["tenant"])
            let stub = StubTransport(Stub().responds(.stream([bytes.prefix(7), bytes.dropFirst(7)], headers: fields)))
            let stack = stub.log(to: logger, detail: .body(limitBytes: limitBytes), style: style)
            #expect(try await stack.send(request).body.collect() == bytes)
            #expect(lines.all.count == (style == .oneLine ? 3 : 1))
            let leaks = lines.everything.contains("s3c")
            #expect(!leaks, "\(limitBytes) bytes: \(lines.everything)")
        }
    }

    @Test func secretsInURLsAndFieldsAreHidden() async throws {
        let (logger, lines) = recordingLogger()
        let declared = try #require(HTTPField.Name("X-Tenant"))
        var request = try Request(
            .get, url: "https://a.example/x?access_token=s3cr3t",
            headers: [.cookie: "a=s3cr3t", declared: "s3cr3t", .referer: "https://u:s3cr3t@a.example/?code=s3cr3t"])
        request.options.fallbackHeaders = [.authorization: "Basic s3cr3t"]
        request.options.sensitivity = Sensitivity(fields: [declared])
        var marked = HTTPField(name: .server, value: "s3cr3t")
        marked.indexingStrategy = .disallow
        var fields = HTTPFields([marked])
        fields[.location] = "https://b.example/?token=s3cr3t"
        fields[declared] = "s3cr3t"
        let stub = StubTransport(Stub().responds(.status(.found, headers: fields), .failure(Refusal(request: request))))
        let stack = stub.log(to: logger, detail: .body(), style: .pretty, curl: true)
        _ = try await stack.send(request)
        await #expect(throws: Refusal.self) { try await stack.send(request) }
        #expect(lines.all.count == 2)
        #expect(lines.everything.contains("curl -X GET"))
        let leaks = lines.everything.contains("s3c")
        #expect(!leaks, "\(lines.everything)")
    }

    /// A name that the layer below declares, as a scheme of API keys does, counts for the response.
    @Test func namesDeclaredByAnInnerLayerApplyToTheResponse() async throws {
        let (logger, lines) = recordingLogger()
        let declaring = StubSender { request in
            var request = request
            request.options.sensitivity = Sensitivity(fields: [], queryNames: ["tenant"])
            return Response(head: HTTPResponse(status: .ok), data: Data(#"{"tenant":"s3cr3t"}"#.utf8), request: request)
        }
        let stack = declaring.log(to: logger, detail: .body(), style: .oneLine)
        _ = try await stack.send(try request())
        #expect(lines.all.map(\.text).last?.hasSuffix(#"{"tenant":"REDACTED"}"#) == true)
    }

    /// The last two responses are failures whose errors have no request.
    @Test(arguments: [
        StubResponse.status(.ok), .status(.notFound), .stream([Data("{}".utf8)]), .offline, .failure(TestError()),
        .failure(CancellationError()),
    ])
    func namesDeclaredByAnInnerLayerApplyToTheRequest(_ response: StubResponse) async throws {
        let (logger, lines) = recordingLogger()
        let stack = HTTPStack.sorted(around: StubTransport(Stub().responds(response)))
            .transformRequest { $0.options.sensitivity.formUnion(Sensitivity(fields: [.acceptLanguage], queryNames: ["pin"])) }
            .log(to: logger, detail: .body(), metadata: .all, curl: true)
        let sent = try Request(
            .post, url: "https://a.example/x?pin=s3cr3t", headers: [.contentType: "application/json", .acceptLanguage: "s3cr3t"],
            body: .data(Data(#"{"pin":"s3cr3t"}"#.utf8)))
        _ = try? await stack.send(sent).body.collect()
        #expect(lines.all.count == 1 && lines.everything.contains(#""pin": "REDACTED""#), "\(lines.everything)")
        let leaks = lines.everything.contains("s3c")
        #expect(!leaks, "\(lines.everything)")
    }

    @Test func namesDeclaredByALayerThatFailsApplyToTheRequest() async throws {
        let (logger, lines) = recordingLogger()
        let stack = HTTPStack.sorted(around: StubTransport()).transformRequest { request in
            request.options.sensitivity.formUnion(Sensitivity(fields: [], queryNames: ["pin"]))
            throw TestError()
        }.log(to: logger)
        await #expect(throws: TestError.self) { try await stack.send(try Request(.get, url: "https://a.example/x?pin=s3cr3t")) }
        #expect(lines.all.count == 1 && lines.everything.contains("pin=REDACTED"), "\(lines.everything)")
    }

    @Test func namesDeclaredOutsideTheLogApplyToEachRecord() async throws {
        let (logger, lines) = recordingLogger()
        let stack = HTTPStack.sorted(around: StubTransport(Stub().responds(.status(.ok))))
            .log(to: logger, style: .oneLine)
            .wrapped(
                by: TransformMiddleware.request("sensitive names") {
                    $0.options.sensitivity.formUnion(Sensitivity(fields: [], queryNames: ["pin"]))
                }, outside: .log)
        _ = try await stack.send(try Request(.get, url: "https://a.example/x?pin=s3cr3t"))
        #expect(lines.all.count == 2)
        let leaks = lines.everything.contains("s3c")
        #expect(!leaks, "\(lines.everything)")
    }
}

private struct Refusal: RequestFailure {
    var request: Request?
    var attempts: [AttemptRecord] = []
    var phase: ExchangePhase { .send }
    var delivery: Delivery { .unknown }
    var description: String { "refused" }
}
