import ArgumentParser
import Errand
import ErrandTesting
import Foundation
import Testing

@testable import ErrandCommand

struct ArgumentTests {
    @Test(arguments: [
        ("a.example/?next=https://b.example", "http://a.example/?next=https://b.example"),
        ("a.example:8080/x://y", "http://a.example:8080/x://y"), ("a.example", "http://a.example"), ("://a.example", "http://://a.example"),
        ("[::1]:80/", "http://[::1]:80/"), ("https://a.example/?next=http://b.example", "https://a.example/?next=http://b.example"),
        ("HTTP://a.example", "HTTP://a.example"), ("ftp://a.example", "ftp://a.example"),
        (":8080/x", "http://localhost:8080/x"), (":8080", "http://localhost:8080"), (":/x", "http://localhost/x"),
        (":", "http://localhost"),
    ]) func aURLWithoutASchemeGetsHTTP(url: String, expected: String) {
        #expect(RequestArguments.absolute(url) == expected)
    }

    @Test(arguments: [
        ("http://a.example/ä?q=ü b", "http://a.example/%C3%A4?q=%C3%BC%20b"), (" http://a.example/x#part\n", "http://a.example/x"),
        ("http://a.example/100%?a=%41%zz", "http://a.example/100%25?a=%41%25zz"), ("http://a.example?q=ü#?", "http://a.example/?q=%C3%BC"),
        ("http://a.example/[a]|b", "http://a.example/%5Ba%5D%7Cb"), ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://a.example/%C3%A4?x=a+b&y=:@/?", "http://a.example/%C3%A4?x=a+b&y=:@/?"), ("http://a.example", "http://a.example/"),
    ]) func onlyAnInvalidPastedURLIsEncoded(text: String, expected: String) throws {
        #expect(try RequestArguments.parse([text]).httpURL().description == expected)
        #expect(try RequestArguments.parse([expected]).httpURL().description == expected)
    }

    @Test(arguments: [
        ("q=ü b", "q=%C3%BC%20b"), ("a+b&c=%41%", "a+b&c=%41%25"), ("q=a#b", "q=a%23b"), ("q=a ", "q=a%20"), ("a\\b", "a%5Cb"),
        ("a?b", "a?b"),
    ]) func dataInTheQueryIsEncodedAsInAPastedURL(data: String, expected: String) throws {
        let request = try RequestArguments.parse(["-G", "--data-raw", data, "a.example/x?y=1"]).request(method: nil)
        #expect(request.head.path == "/x?y=1&" + expected)
    }

    @Test(arguments: [["a.example/x\ny"], ["a.example/x\\y"], ["-G", "--data-raw", "a\nb", "a.example"]])
    func invalidCharactersOfAURLAreRefused(words: [String]) throws {
        #expect(throws: InvalidURLError.self) { try RequestArguments.parse(words).request(method: nil) }
    }

    @Test(arguments: [
        ("http://a.example/x/report%20q.pdf?v=1", "report q.pdf"), ("http://a.example/%C3%A4.txt#top", "ä.txt"),
        ("http://a.example/x%2Fy", "x%2Fy"), ("http://a.example/%2E%2E", "%2E%2E"), ("http://a.example/a%00b", "a%00b"),
        ("http://a.example/a%0Ab", "a%0Ab"), ("a.example/b", "b"), ("http://h/a/..%2f%cc%81evil", "..%2f%cc%81evil"),
        ("http://h/..%2F%E2%80%8Devil", "..%2F%E2%80%8Devil"), ("http://h/a%C2%9Bb", "a%C2%9Bb"),
        ("http://h/%E2%80%AEgpj.exe", "%E2%80%AEgpj.exe"),
    ]) func aRemoteNameNeverLeavesTheFolder(url: String, expected: String) throws {
        #expect(try RequestArguments.parse([url]).remoteFileName() == expected)
    }

    /// Each of them would be sent to a host that is named as the scheme, with the password in its path.
    @Test(arguments: [
        "https:/joe:zwiebel79@h.example/x", "http:/joe:zwiebel79@h.example", "https:joe:zwiebel79@h.example/x", "https:", "http", "HTTPS",
        "http//joe:zwiebel79@h.example", "https//h.example", #"HTTP:\\joe:zwiebel79@h.example"#, #"https:\/joe:zwiebel79@h.example/"#,
        #"http\\joe:zwiebel79@h.example"#, "htps:/joe:zwiebel79@h.example", "htps//joe:zwiebel79@h.example", "hhtp:/h.example",
        "ttps:/joe:zwiebel79@h.example", "httpss:/joe:zwiebel79@h.example", "https;//joe:zwiebel79@h.example",
        "http.//joe:zwiebel79@h.example",
        "ftp:/joe:zwiebel79@h.example", "joe:/zwiebel79@h.example", "  https:/joe:zwiebel79@h.example",
        "\u{FEFF}https:/joe:zwiebel79@h.example",
        "http:8080/x", "https/x", "http?x", "a.example:/x",
    ]) func aMisspeltSchemeIsRefusedWithoutThePassword(url: String) throws {
        let error = #expect(throws: ValidationError.self) { try RequestArguments.parse([url]).httpURL() }
        #expect(error?.message.hasPrefix("invalid URL: ") == true && error?.message.contains("zwiebel79") == false)
        let proxy = #expect(throws: ValidationError.self) { try RequestArguments.proxy(url) }
        #expect(proxy?.message.contains("zwiebel79") == false)
    }

    @Test(arguments: [
        ["https:/joe:zwiebel79@h.example/x", "--curl"], ["get", "-v", "https:/joe:zwiebel79@h.example/x"],
        ["-x", "http:/joe:zwiebel79@h.example", "http://a.example/", "--curl"], ["--curl", #"HTTP:\\joe:zwiebel79@h.example"#],
    ]) func aMisspeltSchemeEndsTheCommandBeforeAnythingIsSent(words: [String]) async throws {
        let outcome = try await CommandProcess(words).outcome()
        #expect(outcome.status == 64 && outcome.output.isEmpty && !outcome.errors.contains("zwiebel79"), "\(outcome.errors)")
        #expect(outcome.errors.contains("http://") || outcome.errors.contains("https://"))
    }

    @Test(arguments: [
        "http.example/x", "https-proxy:8080/x", "http1/x", "http2:8080", "a.example//x", "localhost//x", "httpbin/x", "://a.example",
        ":8080/https:/x", "a.example/http:/x", "[::1]:80/",
    ]) func aHostIsNotTakenForAMisspeltScheme(url: String) {
        #expect(NearScheme.problem(of: url) == nil)
    }

    @Test(arguments: [
        "http:///joe:zwiebel79@h.example", "//joe:zwiebel79@h.example", "htps://joe:zwiebel79@h.example", "http://joe:zwiebel79@h.example",
        "joe:zwiebel79@h.example", "https://joe:zwie/bel79@h.example", "http://joe:zwiebel79@h.example:99999/",
    ]) func noErrorOfAURLShowsAPassword(url: String) throws {
        do {
            _ = try RequestArguments.parse([url]).httpURL()
            Issue.record("it is accepted")
        } catch {
            #expect(!"\(error)".contains("bel79"), "\(error)")
        }
    }

    @Test(arguments: ["http://a.example", "http://a.example/", "http://a.example/x/", "http://a.example/x/.."])
    func aRemoteNameNeedsAPathThatEndsInAName(url: String) throws {
        let arguments = try RequestArguments.parse([url])
        #expect(throws: ValidationError.self) { try arguments.remoteFileName() }
    }

    @Test(
        arguments: [
            (ColorChoice.auto, true, [:], true), (.auto, false, [:], false), (.auto, true, ["NO_COLOR": "1"], false),
            (.auto, true, ["NO_COLOR": ""], true), (.auto, true, ["TERM": "dumb"], false), (.always, false, ["NO_COLOR": "1"], true),
            (.never, true, [:], false),
        ] as [(ColorChoice, Bool, [String: String], Bool)])
    func colorFollowsTheOptionTheTerminalAndTheEnvironment(
        choice: ColorChoice, isTerminal: Bool, environment: [String: String], isColored: Bool
    ) {
        #expect(choice.isColored(isTerminal: isTerminal, environment: environment) == isColored)
    }

    @Test(arguments: [
        ("gett", ["get"]), ("GET", ["get"]), ("pots", ["post"]), ("delte", ["delete"]), ("ptach", ["patch"]), ("hed", ["head"]),
        ("pst", ["post", "put"]), ("options", []), ("localhost", []), ("a.example", []), ("", []),
    ]) func aMisspeltSubcommandHasItsNearest(word: String, nearest: [String]) {
        #expect(Misspelling.nearest(to: word) == nearest)
    }

    @Test func manyArgumentsAfterAURLAreNotTreatedAsAMisspelling() {
        #expect(Misspelling.hint(for: ["a.example", "b.example"]) == nil)
        #expect(Misspelling.hint(for: ["-v", "get"]) == nil)
        #expect(Misspelling.hint(for: ["get", "a", "b"]) == nil)
        #expect(Misspelling.hint(for: ["options", "a"])?.contains("errand -X OPTIONS <url>") == true)
    }

    @Test(arguments: [
        ("localhost", true), ("127.0.0.1", true), ("127.8.9.10", true), ("[::1]", true), ("a.example", false),
        ("127.0.0.1.a.example", false),
        ("127.0.0", false), ("[::2]", false), ("localhost.a.example", false), ("10.0.0.1", false), ("", false),
    ]) func thisMachineIsKnownByItsNameAndAddresses(host: String, isLoopback: Bool) {
        #expect(Loopback.contains(host) == isLoopback)
    }

    @Test(
        arguments: [
            ("{\"a\":1}", "application/json"), ("\n [1]", "application/json"), ("text", nil), ("", nil), ("1", nil),
        ] as [(String, String?)]) func aPipedBodyIsJSONIfItBeginsLikeIt(text: String, contentType: String?)
    {
        #expect(PipedBody.contentType(of: Data(text.utf8)) == contentType)
    }

    @Test func variablesThatDoNotExistAreFound() {
        #expect(WriteOut.unknownNames(in: "%{http_code} %{response_code} %%{x} %{tiem} 100% %{") == ["tiem"])
        #expect(WriteOut.unknownNames(in: WriteOut.names.map { "%{\($0)}" }.joined()).isEmpty)
    }

    @Test(
        arguments: [
            (TransportError.Code.cannotConnect, ExchangePhase.connect, ["GET"], "listening on this port"),
            (.connectionLost, .body, ["GET"], "run the command again"), (.connectionLost, .response, ["GET"], "--retry"),
            (.timedOut, .connect, ["GET"], "--connect-timeout"), (.timedOut, .body, ["GET"], "--max-time"),
            (.cannotFindHost, .connect, ["GET"], "'get'"), (.notConnected, .connect, ["GET"], "connected to a network"),
        ] as [(TransportError.Code, ExchangePhase, [String], String)])
    func theAdviceFitsTheFailure(code: TransportError.Code, phase: ExchangePhase, method: [String], advice: String) throws {
        let request = try Request(.get, url: "http://gett/")
        let error = TransportError(code, phase: phase, message: "connection refused", request: request, delivery: .unknown)
        let line = FailureAdvice(try RequestArguments.parse(["gett"])).line(for: error)
        #expect(line.contains(advice), "\(line)")
    }

    @Test(arguments: [([], "--wait-for-network 60 waits for a network"), (["--wait-for-network", "5"], "connected to a network?")])
    func theWaitForANetworkIsAdvisedOnce(options: [String], ending: String) throws {
        let error = TransportError(
            .notConnected, phase: .connect, request: try Request(.get, url: "http://a.example/"), delivery: .notSent)
        let line = FailureAdvice(try RequestArguments.parse(options + ["a.example"])).line(for: error)
        #expect(line.hasSuffix(ending), "\(line)")
    }

    /// Credentials are named only where the proxy asks for some.
    @Test(
        arguments: [
            (.proxy, "refused the tunnel: 407", .missing, "--proxy-user USER:PASSWORD"),
            (.proxy, "refused the tunnel: 407", .refused, "Are the user and the password of the proxy right"),
            (.proxy, "the HTTP proxy p:1 does not speak HTTP, but SOCKS 5", nil, "socks5://"),
            (.proxy, "refused the tunnel: 403 Forbidden", nil, ""),
            (.cannotConnect, "connection refused", nil, "Is the address of the proxy right"),
            (.cannotFindHost, "'p'", nil, "Is the address of the proxy right"),
            (.connectionLost, "connection closed by the proxy; check that it is an HTTP proxy", nil, "socks5://"),
            (.timedOut, "the limit connectTimeout is 10 s", nil, "Is the address of the proxy right"),
        ] as [(TransportError.Code, String, ProxyCredentialsProblem?, String)])
    func theAdviceOnAProxyFitsItsFailure(
        code: TransportError.Code, message: String, credentials: ProxyCredentialsProblem?, advice: String
    ) throws {
        var error = TransportError(
            code, phase: .connect, message: message, request: try Request(.get, url: "http://a.example/"), delivery: .notSent)
        error.proxy = ProxyAddress(.http(host: "p", port: 1))
        error.proxyCredentials = credentials
        let line = FailureAdvice(try RequestArguments.parse(["http://a.example/"])).line(for: error)
        #expect(advice.isEmpty ? line == "\(error)" : line.contains(advice), "\(line)")
        if credentials == nil { #expect(!line.contains("password")) }
    }

    @Test func aShortMaxTimeIsNotTheProxysFault() throws {
        var error = TransportError(.timedOut, phase: .queue, request: try Request(.get, url: "http://a.example/"), delivery: .notSent)
        error.proxy = ProxyAddress(.http(host: "p", port: 1))
        let line = FailureAdvice(try RequestArguments.parse(["http://a.example/", "--max-time", "0.1"])).line(for: error)
        #expect(line.hasSuffix(". Allow more time with --max-time"), "\(line)")
    }

    @Test func aServerOfHTTP2HasItsOption() throws {
        let error = TransportError(
            .invalidResponse, phase: .response, message: "the server speaks HTTP/2, not HTTP/1.1; set usesHTTP2WithoutTLS",
            request: try Request(.get, url: "http://a.example/"), delivery: .sent)
        let line = FailureAdvice(try RequestArguments.parse(["a.example"])).line(for: error)
        #expect(line.hasSuffix(". --http2-prior-knowledge sends HTTP/2"), "\(line)")
    }

    @Test(arguments: [
        ("the certificate has expired: it was valid until Sat", "Is the clock of this machine right? -k skips the check"),
        ("the certificate is not valid yet: it is valid from Sat", "Is the clock of this machine right? -k skips the check"),
        ("the certificate is signed by an unknown authority", "a self-signed certificate itself, with --cacert FILE. -k skips the check"),
    ]) func theAdviceOnACertificateFitsItsProblem(message: String, advice: String) throws {
        struct Refusal: Error { let reason = "CERTIFICATE_VERIFY_FAILED" }
        let error = TransportError(
            .tls, phase: .connect, message: message, underlying: Refusal(), request: try Request(.get, url: "https://a.example/"),
            delivery: .notSent)
        let line = FailureAdvice(try RequestArguments.parse(["https://a.example/"])).line(for: error)
        #expect(line.contains(message) && line.contains(advice), "\(line)")
    }

    @Test(
        arguments: [
            (.http2, "TLS handshake done in 12 ms; the server chose h2 (ALPN)"),
            (.http1_1, "TLS handshake done in 12 ms; the connection uses HTTP/1.1"),
        ] as [(HTTPVersion, String)]) func theHandshakeIsDescribed(version: HTTPVersion, text: String)
    {
        #expect(ExchangeSteps.tlsText(.microseconds(11_600), version) == text)
        #expect(ExchangeSteps().tlsText(for: version) == nil)
    }

    /// A retry is no way out where it was asked for already, where it can do harm, and where the body has begun.
    @Test func onlyASafeRetryIsAdvised() throws {
        func line(_ arguments: [String], _ method: HTTPRequest.Method, _ phase: ExchangePhase, _ delivery: Delivery) throws -> String {
            let request = try Request(method, url: "http://a.example/")
            let error = TransportError(.connectionLost, phase: phase, request: request, delivery: delivery)
            return FailureAdvice(try RequestArguments.parse(arguments + ["a.example"])).line(for: error)
        }
        #expect(try line([], .get, .response, .unknown).contains("--retry"))
        #expect(try line([], .post, .response, .notSent).contains("--retry"))
        #expect(try !line([], .post, .response, .unknown).contains("--retry"))
        #expect(try !line(["--retry", "3"], .get, .response, .unknown).contains("--retry"))
        #expect(try !line(["--retry", "3"], .get, .body, .sent).contains("--retry"))
        #expect(try !line([], .get, .body, .sent).contains("--retry"))
    }
}
