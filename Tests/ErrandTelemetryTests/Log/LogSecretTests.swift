import Errand
import ErrandTesting
import Logging
import TestSupport
import Testing

/// No secret is logged, wherever it stands and wherever a body is cut.
@Suite(.timeLimit(.minutes(5))) struct LogSecretTests {
    /// Secrets begin with what is looked for, so that a part of one shows as well.
    static let bodies: [(type: String?, text: String)] = [
        ("application/json", #"{"user": "u", "password": "s3cr3t-a", "deep": [{"access_token": {"x": ["s3cr3t-b"]}}], "ok": true}"#),
        (
            "application/json",
            #"{"p\u0061ssword": "s3cr3t", "url": "https://u:s3cr3t@a.example/?sig=s3cr3t", "in": "{\"token\":\"s3cr3t\"}"}"#
        ),
        ("application/problem+json", #"{"tenant": "s3cr3t", "x": "/y?api_key=s3cr3t&b=1"}"#),
        ("application/octet-stream", #" [{"tenant": "s3cr3t"}]"#),
        (nil, #"{"refresh_token": "s3cr3t", "truncated": "#),
        ("application/json", #""password": "s3cr3t", not json"#),
        (
            "application/x-www-form-urlencoded",
            "user=u&password=s3cr3t&client%5Fsecret=s3cr3t&a=https://x/?token=s3cr3t&tenant=s3cr3t+s3cr3t"
        ),
        ("multipart/form-data; boundary=b", multipart.replacing("s3cr3t-part", with: "s3cr3t\r\n--x\r\ns3cr3t")),
        ("multipart/mixed; boundary=\"b\"", "--b\r\nContent-Type: application/json\r\n\r\n{\"token\":\"s3cr3t\"}\r\n--b--"),
        ("application/x-ndjson", "{\"token\":\"s3cr3t\"}\n{\"a\":1}\n{\"password\":\"s3cr3t\"}\n"),
        ("text/event-stream", "event: x\ndata: {\"token\":\"s3cr3t\"}\n\ndata: token=s3cr3t\ndata: \"password\": \"s3cr3t\"\n\n"),
        ("text/plain", "Authorization: Bearer s3cr3t\r\nX: y\ntoken=s3cr3t s3cr3t&a=b 'secret' : 's3cr3t' https://u:s3cr3t@h/"),
        ("text/yaml", "a: 1\nclient_secret:   s3cr3t\n"),
        (
            "application/xml",
            "<a><ns:Password x='y'>s3cr3t<b/>s3cr3t</ns:Password><session-token>s3cr3t</session-token><c token=\"s3cr3t\"/></a>"
        ),
        (nil, "ＡＰＩ token = \\\"s3cr3t\\\""),
    ]

    @Test(arguments: bodies.indices, [LogStyle.oneLine, .pretty])
    func whereverABodyIsCut(_ index: Int, _ style: LogStyle) async throws {
        let (type, text) = Self.bodies[index]
        let bytes = Data(text.utf8)
        for limitBytes in 0...bytes.count {
            let (logger, lines) = recordingLogger()
            var request = try request(.post, body: .data(bytes))
            let fields: HTTPFields = type.map { [.contentType: $0] } ?? [:]
            request.head.headerFields = fields
            request.options.sensitivity = Sensitivity(fields: [], queryNames: ["tenant"])
            let stub = StubTransport(Stub().answers(.stream([bytes.prefix(7), bytes.dropFirst(7)], headers: fields)))
            let stack = stub.log(to: logger, detail: .body(limitBytes: limitBytes), style: style)
            #expect(try await stack.send(request).body.collect() == bytes)
            #expect(lines.all.count == 3)
            let leaks = lines.everything.contains("s3c")
            #expect(!leaks, "\(limitBytes) bytes: \(lines.everything)")
        }
    }

    @Test func inURLsAndFields() async throws {
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
        let stub = StubTransport(Stub().answers(.status(.found, headers: fields), .failure(Refusal(request: request))))
        let stack = stub.log(to: logger, detail: .body(), style: .pretty, curl: true)
        _ = try await stack.send(request)
        await #expect(throws: Refusal.self) { try await stack.send(request) }
        #expect(lines.all.count == 4)
        #expect(lines.everything.contains("curl -X GET"))
        let leaks = lines.everything.contains("s3c")
        #expect(!leaks, "\(lines.everything)")
    }

    /// A name that the layer below declares, as a scheme of API keys does, counts for the answer.
    @Test func namesThatAreDeclaredOnTheWayCountForTheAnswer() async throws {
        let (logger, lines) = recordingLogger()
        let stack = Declaring().log(to: logger, detail: .body())
        _ = try await stack.send(try request())
        #expect(lines.all.map(\.text).last?.hasSuffix(#"{"tenant":"REDACTED"}"#) == true)
    }
}

private struct Declaring: HTTPSender {
    func send(_ request: Request) async throws -> Response {
        var request = request
        request.options.sensitivity = Sensitivity(fields: [], queryNames: ["tenant"])
        return Response(head: HTTPResponse(status: .ok), data: Data(#"{"tenant":"s3cr3t"}"#.utf8), request: request)
    }
}

private struct Refusal: RequestFailure {
    var request: Request?
    var attempts: [AttemptRecord] = []
    var phase: ExchangePhase { .send }
    var wasSent: WasSent { .maybe }
    var description: String { "refused" }
}
