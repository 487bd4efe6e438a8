import Errand
import ErrandTesting
import TestSupport
import Testing

@testable import ErrandAPI
@testable import ErrandCore

/// No public type of the core and of typed calls shows a secret: neither interpolated, nor in a debugger, nor by `dump`.
@Suite(.timeLimit(.minutes(5))) struct SecretsTests {
    struct Holder: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// Whether the description is the value itself, by intent.
        let isPlain: Bool
        let value: any Sendable

        init(_ name: String, isPlain: Bool = false, _ value: any Sendable) {
            (testDescription, self.isPlain, self.value) = (name, isPlain, value)
        }
    }

    private static let secret = "hunter2hunter2"

    private struct SecretError: Error { let text = secret }

    private struct SecretHoldingMiddleware: HTTPMiddleware {
        let fields: HTTPFields = [.authorization: secret]
        func send(_ request: Request, to next: some HTTPSender) async throws -> Response { try await next.send(request) }
    }

    private struct SecretHoldingSink: EventSink {
        let token = secret
        func record(_ event: ExchangeEvent) {}
    }

    private enum TokenKey: MetadataKey, OptionKey { static var defaultValue: String { "" } }

    static func holders() throws -> [Holder] {
        let url = try HTTPURL("https://a.example/x?token=\(secret)")
        let fields: HTTPFields = [
            .authorization: "Bearer \(secret)", .setCookie: "a=\(secret)", .location: "https://u:\(secret)@h/?token=\(secret)",
        ]
        let path: PathTemplate = "/reset/\(secret, "token")?key=\(secret)"
        var request = Request(.post, url: url, headers: fields, body: .text(secret))
        var options = RequestOptions()
        options.fallbackHeaders = fields
        options.tags = ["token": secret]
        options[TokenKey.self] = secret
        options.eventSink = SecretHoldingSink()
        request.options = options
        var metadata = ResponseMetadata()
        metadata[TokenKey.self] = secret
        let record = AttemptRecord(number: 1, outcome: .failure(SecretError()), delay: .zero)
        metadata.attempts = [record]
        let head = HTTPResponse(status: .ok, headerFields: fields)
        var response = Response(head: head, data: Data(secret.utf8), request: request)
        response.metadata = metadata
        let stack = StubTransport(Stub().responds(.status(.ok))).wrapped(by: SecretHoldingMiddleware())
        let failure = TransportError(
            .connectionLost, phase: .body, underlying: SecretError(), request: request, response: head, delivery: .sent)
        let ended = ExchangeLifetime(outcome: .failed(SecretError()))
        return [
            Holder("Request", request), Holder("Response", response), Holder("RequestBody", RequestBody.text(secret)),
            Holder("ResponseBody", response.body), Holder("ResponseBody.Lines", response.body.lines),
            Holder("ResponseBody.Bytes", response.body.bytes),
            Holder("HTTPStack", stack), Holder("HTTPStack.Layer", stack.layers), Holder("APIClient", APIClient(stack)),
            Holder("RequestOptions", options), Holder("ResponseMetadata", metadata),
            Holder("OptionOverride", OptionOverride<HTTPURL>.use(url)),
            Holder(
                "Endpoint",
                Endpoint<String>.post(path, query: ["token": secret], headers: fields, body: .text(secret)).with(\.tags, ["token": secret])),
            Holder("EndpointBody", EndpointBody.form(["password": secret])), Holder("ResponseDecoding", ResponseDecoding<String>.json),
            Holder("JSONCoding", JSONCoding.standard),
            Holder("TypedResponse", typed(response)),
            Holder("Query", ["token": secret] as URLQuery), Holder("Query.Item", URLQuery.Item(name: "token", value: secret)),
            Holder("PathTemplate", path), Holder("PathTemplate.Resolved", try path.resolved()),
            Holder("HTTPURL", isPlain: true, url),
            Holder("URLReference", isPlain: true, try URLReference("//joe:\(secret)@h/?token=\(secret)#access_token=\(secret)")),
            Holder("Origin", url.origin), Holder("InvalidURLError", InvalidURLError("https://joe:\(secret)@h", .credentials)),
            Holder("TransportError", failure),
            Holder(
                "ResponseDecodingError", ResponseDecodingError(Int.self, underlying: SecretError(), body: Data(secret.utf8), of: response)),
            Holder("ProxySettings", ProxySettings.http(host: "proxy.example", port: 3128, credentials: (user: secret, password: secret))),
            Holder("ProxySettingsError", proxyError() ?? failure),
            Holder("ProxyPolicy", ProxyPolicy.environment(["all_proxy": "joe:hunter2@h", "no_proxy": "a"])),
            Holder(
                "ProxyChallenge",
                ProxyChallenge(
                    from: .http(host: "h", port: 1, credentials: (secret, secret)), challenges: [], method: .get,
                    target: "http://joe:\(secret)@h/?token=\(secret)")),
            Holder("ProxySettings.Credentials", ProxySettings.Credentials(user: secret, password: secret)),
            Holder("AttemptRecord", record), Holder("AttemptRecord.Outcome", record.outcome),
            Holder("ExchangeLifetime", ended), Holder("ExchangeLifetime.Outcome", ExchangeLifetime.Outcome.failed(SecretError())),
            Holder("ExchangeEvent", ExchangeEvent(.end, request: request.id, response: head, failure: SecretError())),
            Holder("Sensitivity", Sensitivity.standard), Holder("Deadline", Deadline(after: .seconds(1))),
            Holder("PhaseTimeouts", PhaseTimeouts()), Holder("UpgradeRequest", UpgradeRequest(protocolName: "x")),
            Holder("RequestCondition", RequestCondition.method(.get)), Holder("Profile", CallProfile()),
        ]
    }

    private static func proxyError() -> (any Error)? {
        do {
            _ = try ProxySettings("http://joe:\(secret)@h:x")
            return nil
        } catch {
            return error
        }
    }

    private static func typed(_ response: Response) -> any Sendable {
        TypedResponse(value: "password=\(secret)", response: response)
    }

    @Test func noDescriptionShowsAStoredSecret() throws {
        for holder in try Self.holders() {
            if !holder.isPlain { #expect(!"\(holder.value)".contains("hunter2"), "\(holder.testDescription), interpolated") }
            #expect(!String(reflecting: holder.value).contains("hunter2"), "\(holder.testDescription), in a debugger")
            #expect(!dumped(holder.value).contains("hunter2"), "\(holder.testDescription), by dump")
            #expect(!dumped([holder.value as Any]).contains("hunter2"), "\(holder.testDescription), within another value")
            #expect(!"\([holder.value as Any])".contains("hunter2"), "\(holder.testDescription), in an array")
        }
    }

    @Test func aTemplateThatIsBeingMadeShowsNoValue() {
        var interpolation = PathTemplate.StringInterpolation(literalCapacity: 0, interpolationCount: 1)
        interpolation.appendInterpolation(Self.secret, "token")
        #expect("\(interpolation)" == "1 part" && !dumped(interpolation).contains("hunter2"))
    }

    @Test func aReaderShowsNoBytesOfItsBody() async throws {
        var lines = ResponseBody(Data("a\n\(Self.secret)\n".utf8)).lines(upTo: 999).makeAsyncIterator()
        _ = try await lines.next()
        var read = ResponseBody(Data(Self.secret.utf8)).bytes.makeAsyncIterator()
        _ = try await read.next()
        for reader in [lines, read, ResponseBody(Data(Self.secret.utf8)).makeAsyncIterator()] as [Any] {
            #expect(!"\(reader)".contains("hunter2") && !dumped(reader).contains("hunter2"))
            let bytes = Array(Self.secret.utf8).map(String.init).joined(separator: ", ")
            #expect(!"\(reader)".contains(bytes) && !dumped(reader).contains("104"), "104 is an h")
        }
    }

    @Test func descriptionsNameTheirValues() throws {
        let url = try HTTPURL("https://a.example/x?token=S&p=1")
        #expect(String(reflecting: url) == "https://a.example/x?token=REDACTED&p=1" && "\(url)" == "https://a.example/x?token=S&p=1")
        #expect("\(URLQuery.Item(name: "token", value: "S"))" == "token=REDACTED" && "\(URLQuery.Item(name: "a b", value: nil))" == "a%20b")
        #expect("\(try PathTemplate("/reset/\("S", "token")").resolved())" == "/reset/{token}")
        var options = RequestOptions()
        options.urlTemplate = "/x/{id}"
        options.tags = ["token": "S", "tenant": "t"]
        options.fallbackHeaders = [.accept: "a/b", .authorization: "S"]
        #expect(
            "\(options)"
                == "options (urlTemplate: /x/{id}, tags: tenant=t token=<redacted>, fallbackHeaders: Accept: a/b, Authorization: <redacted>, set: 3)"
        )
        let endpoint = Endpoint<Int>.get("/users/\("S", "id")", query: ["page": 2, "token": "S"])
        #expect("\(endpoint)" == "GET /users/{id}?page=2&token=REDACTED")
        #expect(
            "\(ExchangeLifetime())" == "in progress" && "\(ExchangeLifetime.Outcome.failed(TestError("S")))" == "failed: TestError")
        #expect(
            "\(AttemptRecord.Outcome.failure(TestError("S")))" == "TestError" && "\(AttemptRecord.Outcome.status(.ok))" == "200")
        #expect("\(APIClient(StubTransport(Stub().responds(.status(.ok)))))" == "APIClient(StubTransport)")
    }
}
