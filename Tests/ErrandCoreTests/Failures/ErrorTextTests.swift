import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import ErrandAPI
@testable import ErrandCore
@testable import ErrandMiddleware

/// The texts of all failures: what a log shows, and what people read. A person has read each text once. If a text changes, this test shows
/// the change.
@Suite(.timeLimit(.minutes(5))) struct ErrorTextTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let error: any LocalizedError & CustomStringConvertible & Sendable
        let description: String
        let localized: String
        let reason: String
        let suggestion: String?
        var testDescription: String { description }

        init(
            _ error: any LocalizedError & CustomStringConvertible & Sendable, _ description: String, _ localized: String, _ reason: String,
            _ suggestion: String?
        ) {
            (self.error, self.description, self.localized, self.reason, self.suggestion) = (
                error, description, localized, reason, suggestion
            )
        }
    }

    private static let get = Request.sample("/x?token=hunter2")
    private static let post = Request(head: HTTPRequest(method: .post, scheme: "https", authority: "a.example", path: "/x"))

    private static func transport(
        _ code: TransportError.Code, _ phase: ExchangePhase, _ message: String = "", after elapsed: Duration? = .milliseconds(211),
        _ request: Request? = get, _ delivery: Delivery = .unknown
    ) -> TransportError {
        TransportError(code, phase: phase, message: message, elapsed: elapsed, request: request, delivery: delivery)
    }

    private static func ofProxy(
        _ code: TransportError.Code, _ message: String, _ credentials: ProxyCredentialsProblem? = nil
    ) -> TransportError {
        var error = transport(code, .connect, message, get, .notSent)
        error.proxy = ProxyAddress(.http(host: "p.example", port: 3128, credentials: ("joe", "hunter2")))
        error.proxyCredentials = credentials
        return error
    }

    // MARK: The transport

    static let transportRows: [Row] = [
        Row(
            transport(.cannotFindHost, .connect, "'a.example'", get, .notSent),
            "GET https://a.example/x?token=REDACTED: cannot find host: 'a.example' (not sent)",
            "The server could not be found.", "Cannot find host: 'a.example'.",
            "Check the network connection, then try again."),
        Row(
            transport(.cannotConnect, .connect, "connection refused", get, .notSent),
            "GET https://a.example/x?token=REDACTED: cannot connect: connection refused (not sent)",
            "Could not connect to the server.", "Cannot connect: connection refused.",
            "Check the network connection, or try again later."),
        Row(
            transport(.notConnected, .connect, "192.0.2.1:443: network unreachable", get, .notSent),
            "GET https://a.example/x?token=REDACTED: not connected: 192.0.2.1:443: network unreachable (not sent)",
            "This device is offline.", "Not connected: 192.0.2.1:443: network unreachable.",
            "Connect this device to a network, then try again."),
        Row(
            transport(.blockedByPolicy, .connect, "no cellular network is allowed", get, .notSent),
            "GET https://a.example/x?token=REDACTED: blocked by policy: no cellular network is allowed (not sent)",
            "The settings of this device do not allow the connection.", "Blocked by policy: no cellular network is allowed.",
            "Check the network settings of this device."),
        Row(
            transport(.connectionLost, .body, "connection reset by the server", get, .sent),
            "GET https://a.example/x?token=REDACTED: connection lost while reading the body after 211 ms: connection reset by the server (sent)",
            "The connection to the server was lost.",
            "Connection lost while reading the body after 211 ms: connection reset by the server.",
            "Check the network connection, then try again."),
        Row(
            transport(.connectionLost, .response, "connection closed by the server", post),
            "POST https://a.example/x: connection lost while waiting for the response after 211 ms: connection closed by the server "
                + "(may have been sent)",
            "The connection to the server was lost.",
            "Connection lost while waiting for the response after 211 ms: connection closed by the server.",
            "Check the network connection, then try again. The server may have processed the request already."),
        Row(
            transport(.timedOut, .connect, "the limit connect is 200 ms", get, .notSent),
            "GET https://a.example/x?token=REDACTED: timed out while connecting after 211 ms: the limit connect is 200 ms (not sent)",
            "Connecting to the server took too long.", "Timed out while connecting after 211 ms: the limit connect is 200 ms.",
            "Try again later."),
        Row(
            transport(.timedOut, .queue, "the deadline of the request passed", post, .notSent),
            "POST https://a.example/x: timed out in the queue after 211 ms: the deadline of the request passed (not sent)",
            "The request waited for too long.",
            "Timed out in the queue after 211 ms: the deadline of the request passed.",
            "Try again later."),
        Row(
            transport(.timedOut, .response, "the limit firstByte is 200 ms", post),
            "POST https://a.example/x: timed out while waiting for the response after 211 ms: the limit firstByte is 200 ms (may have been sent)",
            "The server did not respond in time.",
            "Timed out while waiting for the response after 211 ms: the limit firstByte is 200 ms.",
            "Try again later. The server may have processed the request already."),
        Row(
            transport(.tls, .connect, "the certificate is for another host", get, .notSent),
            "GET https://a.example/x?token=REDACTED: TLS failure: the certificate is for another host (not sent)",
            "A secure connection to the server could not be established.", "TLS failure: the certificate is for another host.",
            nil),
        Row(
            transport(.tls, .connect, "the certificate is not trusted, or not valid now", get, .notSent),
            "GET https://a.example/x?token=REDACTED: TLS failure: the certificate is not trusted, or not valid now (not sent)",
            "A secure connection to the server could not be established.",
            "TLS failure: the certificate is not trusted, or not valid now.", "Check the date and time of this device."),
        Row(
            transport(.invalidResponse, .response, "invalid HTTP version"),
            "GET https://a.example/x?token=REDACTED: invalid response: invalid HTTP version (may have been sent)",
            "The response of the server is not valid.", "Invalid response: invalid HTTP version.",
            "Try again later."),
        Row(
            transport(.bodyTooLarge, .body, "more than 1000 bytes", after: nil, get, .sent),
            "GET https://a.example/x?token=REDACTED: body too large: more than 1000 bytes (sent)",
            "The response of the server is too large.", "Body too large: more than 1000 bytes.",
            nil),
        Row(
            transport(.requestBody, .send, "AppBroke", post),
            "POST https://a.example/x: request body failed: AppBroke (may have been sent)",
            "The content of the request could not be read.", "Request body failed: AppBroke.", nil),
        Row(
            transport(.invalidRequest, .request, "invalid header field values", get, .notSent),
            "GET https://a.example/x?token=REDACTED: invalid request: invalid header field values (not sent)",
            "The request cannot be sent.", "Invalid request: invalid header field values.",
            nil),
        Row(
            transport(.proxy, .connect, "the proxy asks for credentials", get, .notSent),
            "GET https://a.example/x?token=REDACTED: proxy failure: the proxy asks for credentials (not sent)",
            "The proxy did not forward the request to the server.", "Proxy failure: the proxy asks for credentials.",
            "Check the settings of the proxy, or try again later."),
        Row(
            ofProxy(.cannotFindHost, "the HTTP proxy p.example:3128: 'p.example'"),
            "GET https://a.example/x?token=REDACTED: cannot find host: the HTTP proxy p.example:3128: 'p.example' (not sent)",
            "The proxy could not be found.", "Cannot find host: the HTTP proxy p.example:3128: 'p.example'.",
            "Check the network connection and the settings of the proxy, then try again."),
        Row(
            ofProxy(.cannotConnect, "the HTTP proxy p.example:3128: connection refused"),
            "GET https://a.example/x?token=REDACTED: cannot connect: the HTTP proxy p.example:3128: connection refused (not sent)",
            "Could not connect to the proxy.", "Cannot connect: the HTTP proxy p.example:3128: connection refused.",
            "Check the network connection and the settings of the proxy, or try again later."),
        Row(
            ofProxy(.proxy, "the HTTP proxy p.example:3128 refused the tunnel to a.example:443: 403 Forbidden"),
            "GET https://a.example/x?token=REDACTED: proxy failure: the HTTP proxy p.example:3128 refused the tunnel to a.example:443: "
                + "403 Forbidden (not sent)",
            "The proxy did not forward the request to the server.",
            "Proxy failure: the HTTP proxy p.example:3128 refused the tunnel to a.example:443: 403 Forbidden.",
            "Check the settings of the proxy, or try again later."),
        Row(
            ofProxy(.proxy, "407", .missing), "GET https://a.example/x?token=REDACTED: proxy failure: 407 (not sent)",
            "The proxy requires a user name and a password.", "Proxy failure: 407.",
            "Add the user name and the password to the settings of the proxy."),
        Row(
            ofProxy(.proxy, "407", .refused), "GET https://a.example/x?token=REDACTED: proxy failure: 407 (not sent)",
            "The proxy did not accept the user name and the password.", "Proxy failure: 407.",
            "Check the user name and the password for the proxy."),
        Row(
            TransportError(
                .proxy, phase: .request, message: "invalid proxy: it has no host", underlying: ProxySettingsError("it has no host"),
                request: get, delivery: .notSent),
            "GET https://a.example/x?token=REDACTED: proxy failure before it was sent: invalid proxy: it has no host (not sent)",
            "The settings of the proxy are not valid.", "Proxy failure before it was sent: invalid proxy: it has no host.",
            "Check the settings of the proxy."),
        Row(
            transport(.unsupported, .request, "an upgrade", get, .notSent),
            "GET https://a.example/x?token=REDACTED: unsupported: an upgrade (not sent)",
            "The request needs something that is not supported.", "Unsupported: an upgrade.",
            nil),
        Row(
            transport(.shutDown, .queue, after: nil, get, .notSent),
            "GET https://a.example/x?token=REDACTED: transport shut down in the queue (not sent)", "The client was shut down.",
            "Transport shut down in the queue.", nil),
        Row(
            transport(.connectionLost, ExchangePhase("upgrade"), after: nil, nil),
            "connection lost in upgrade (may have been sent)", "The connection to the server was lost.", "Connection lost in upgrade.",
            "Check the network connection, then try again."),
        Row(
            transport(TransportError.Code("my own"), .request, after: nil, get, .notSent),
            "GET https://a.example/x?token=REDACTED: my own before it was sent (not sent)", "The request failed.",
            "My own before it was sent.", nil),
    ]

    @Test(arguments: transportRows) func aFailureOfTheTransportIsDescribed(_ row: Row) { check(row) }

    // MARK: Statuses

    private static func status(
        _ status: HTTPResponse.Status, _ headers: HTTPFields = [:], body: String = "", attempts: [AttemptRecord] = []
    ) async throws -> StatusError {
        var response = Response(head: HTTPResponse(status: status, headerFields: headers), data: Data(body.utf8), request: get)
        response.metadata.attempts = attempts
        return try await StatusError(reading: response)
    }

    @Test(arguments: [
        (401, "Unauthorized", "needs valid credentials", "Sign in with valid credentials, then try again."),
        (403, "Forbidden", "does not allow the request", "Check the permissions of the account."),
        (404, "Not Found", "does not have the requested content", nil),
        (410, "Gone", "no longer has the requested content", nil),
        (422, "Unprocessable Content", "did not accept the request", nil),
        (429, "Too Many Requests", "got too many requests", "Try again later."),
        (500, "Internal Server Error", "could not process the request", "Try again later."),
        (302, "Found", "responded in an unexpected way", nil),
    ])
    func aStatusIsDescribed(_ code: Int, _ phrase: String, _ what: String, _ suggestion: String?) async throws {
        check(
            Row(
                try await Self.status(.init(code: code, reasonPhrase: phrase)),
                "GET https://a.example/x?token=REDACTED: status \(code) \(phrase)",
                "The server \(what).", "The server responded with status \(code) \(phrase).", suggestion))
    }

    @Test(arguments: [.authorization, .cookie, .custom("X-Session-Token"), .accept] as [HTTPField.Name])
    func onlyARequestWithCredentialsAsksForAnotherSignIn(_ name: HTTPField.Name) async throws {
        let request = try Request(.get, url: "https://a.example/", headers: [name: "a-value"])
        let response = Response(head: HTTPResponse(status: .unauthorized), request: request)
        let suggestion = name == .accept ? "Sign in with valid credentials, then try again." : "Sign in again, then try again."
        #expect(try await StatusError(reading: response).recoverySuggestion == suggestion)
        var service = ServiceError(1)
        (service.request, service.response) = (request, response.head)
        #expect(service.recoverySuggestion == suggestion)
    }

    @Test func aReasonPhraseIsShownSafely() async throws {
        let error = try await Self.status(.init(code: 500, reasonPhrase: "a\u{202e}b\u{9b}c"))
        #expect(error.description.hasSuffix(#"status 500 a\u{202e}b\u{9b}c"#))
        #expect(error.failureReason == #"The server responded with status 500 a\u{202e}b\u{9b}c."#)
    }

    @Test func aStatusIsDescribedWithWaitProblemAndAttempts() async throws {
        let waits = try await Self.status(.serviceUnavailable, [.retryAfter: "30"])
        check(
            Row(
                waits, "GET https://a.example/x?token=REDACTED: status 503 Service Unavailable; the server asks to wait for 30 s",
                "The server could not process the request.",
                "The server responded with status 503 Service Unavailable.",
                "Try again in 30 seconds."))
        let problem = try await Self.status(
            .badRequest, [.contentType: "application/problem+json"], body: #"{"title":"The amount is missing"}"#,
            attempts: [AttemptRecord(number: 1, outcome: .status(.serviceUnavailable), delay: .milliseconds(100))])
        check(
            Row(
                problem,
                "GET https://a.example/x?token=REDACTED: status 400 Bad Request (The amount is missing); attempt 1: 503, then waited 100 ms",
                "The server did not accept the request.",
                "The server responded with status 400 Bad Request: The amount is missing.",
                nil))
    }

    @Test(arguments: [
        (RetryStop.attemptsUsedUp, "all attempts are used up"), (.budgetUsedUp, "the retry budget of this origin is used up"),
        (.bodyCannotBeReplayed, "the body of the request can be read only once"),
        (.retryAfterTooLong, "the server asks for a longer wait than the policy allows"),
        (.deadlineTooNear, "the wait before a further attempt would pass the deadline"), (.final, "it would not help"),
        (
            .notIdempotent,
            "the method is not idempotent, and the request may have been processed; an idempotency key (options.idempotencyKey = .attached) would permit another attempt"
        ),
    ])
    func theReasonOfTheLastAttemptIsDescribed(_ stop: RetryStop, _ words: String) async throws {
        var status = try await Self.status(.serviceUnavailable)
        status.retryStop = stop
        #expect(status.description.hasSuffix("status 503 Service Unavailable; no further attempt: \(words)"))
        var failure = Self.transport(.cannotConnect, .connect, "connection refused", Self.get, .notSent)
        failure.retryStop = stop
        #expect(failure.description.hasSuffix("cannot connect: connection refused (not sent); no further attempt: \(words)"))
    }

    @Test func theErrorOfAnUnfollowedRedirectNamesTheRedirect() async throws {
        let error = try await Self.status(.found, [.location: "/y"])
        #expect(
            error.description
                == "GET https://a.example/x?token=REDACTED: status 302 Found; the redirect was not followed: add .redirect() to the stack, or change its policy"
        )
        let nowhere = try await Self.status(.found, [.location: ""])
        #expect(nowhere.description == "GET https://a.example/x?token=REDACTED: status 302 Found")
    }

    @Test func aFileThatCannotBeSentHasItsOwnSuggestion() {
        let file = FileReadError(path: "/tmp/x", operation: "open", code: ENOENT)
        let error = TransportError(.requestBody, phase: .send, underlying: file, request: Self.post, delivery: .unknown)
        #expect(error.recoverySuggestion == file.recoverySuggestion)
    }

    @Test func hintsForDevelopersAreInTheDescriptionOnly() throws {
        let text = #expect(throws: InvalidURLError.self) { try HTTPURL("https://a.example/straße") }
        #expect(
            text?.description
                == "invalid URL 'https://a.example/straße': its path holds text that is not ASCII, which must be percent-encoded; "
                + #"put the text in as a value, "/\(name)", or use HTTPURL(pasted:)"#)
        #expect(text?.failureReason == "Its path holds text that is not ASCII, which must be percent-encoded.")
        let space = #expect(throws: InvalidURLError.self) { try HTTPURL("https://a.example/a b") }
        #expect(
            space?.description
                == "invalid URL 'https://a.example/a b': its path holds a space, which must be percent-encoded; "
                + #"put the text in as a value, "/\(name)", or use HTTPURL(pasted:)"#)
        #expect(space?.failureReason == "Its path holds a space, which must be percent-encoded.")
        #expect(
            "\(InvalidURLError.Code.invalidOctet(0x7C, component: "query"))"
                == "its query holds the octet 0x7C, which must be percent-encoded; "
                + #"put the text in as a query item, query: ["name": text], or use HTTPURL(pasted:)"#)
        #expect(
            "\(InvalidURLError.Code.invalidOctet(0xC3, component: "query"))"
                == "its query holds text that is not ASCII, which must be percent-encoded; "
                + #"put the text in as a query item, query: ["name": text], or use HTTPURL(pasted:)"#)
        #expect(
            "\(InvalidURLError.Code.invalidOctet(0xC3, component: "authority"))"
                == "its authority holds text that is not ASCII, which must be percent-encoded")
        #expect(
            "\(InvalidURLError.Code.invalidOctet(0x0A, component: "path"))" == "its path holds the octet 0xA, which must be percent-encoded"
        )
        let empty = #expect(throws: InvalidURLError.self) { try HTTPURL("") }
        #expect(empty?.description == "invalid URL '': it is empty; write http:// or https:// and a host")
        #expect(text?.recoverySuggestion == "Correct the address, then try again.")
        #expect(InvalidURLError("a", .notAnOrigin).recoverySuggestion == nil)
    }

    @Test func anInvalidAddressOfTheAppHasNoSuggestionForPeople() throws {
        let path = "/users/7"
        let query = URLQuery(percentEncoded: "a=b c")
        let refused = [
            #expect(throws: InvalidURLError.self) { try Request(.get, "\(path)") },
            #expect(throws: InvalidURLError.self) { try Request(.get, "/a b") },
            #expect(throws: InvalidURLError.self) { try Request(.get, "/x", query: query) },
            #expect(throws: InvalidURLError.self) { try Request(.get, "/x#top") },
        ]
        for error in refused {
            let error = try #require(error)
            #expect(error.recoverySuggestion == nil, "\(error)")
        }
        let typed = #expect(throws: InvalidURLError.self) { try HTTPURL("https://a.example/a b") }
        #expect(typed?.recoverySuggestion == "Correct the address, then try again.")
        #expect(typed?.code == refused[1]?.code, "the code is the same")
    }

    @Test func aReasonWithASemicolonInAValueIsWhole() {
        let error = InvalidURLError("https://a.example:8;0", .invalidPort("8;0"))
        #expect(error.failureReason == "'8;0' is not a port (1 to 65535).")
    }

    @Test func everyErrorOfThisLibraryDescribesItselfInAMessage() {
        let own: [any Error & CustomStringConvertible] = [
            InvalidURLError("/x", .missingHost), FileReadError(path: "/x", operation: "open", code: 2),
            FileWriteError(path: "/x", operation: "write", code: 2), BodyAlreadyUsedError(), UnconsumedInputError(byteCount: 1),
            Self.transport(.tls, .connect),
        ]
        for error in own { #expect(safeDescription(of: error) == error.description) }
        #expect(safeDescription(of: TestError("hunter2")) == "TestError")
    }

    @Test(arguments: [
        (Duration.zero, "1 second"), (.milliseconds(1_001), "2 seconds"), (.seconds(119), "119 seconds"), (.seconds(121), "3 minutes"),
        (.seconds(7_199), "120 minutes"), (.seconds(7_201), "3 hours"), (.seconds(Int64.max), "277778 hours"),
    ])
    func aWaitIsNamedInWholeUnits(_ wait: Duration, _ words: String) {
        #expect(tryAgain(in: wait) == "Try again in \(words).")
    }

    // MARK: Requests, bodies and files

    @Test func failuresBeforeSendingAreDescribed() {
        check(
            Row(
                InvalidURLError("/users", .missingHost),
                #"invalid URL '/users': it has no host; give a whole URL, or add .server("https://…") to the stack"#,
                "The address is not valid.", "It has no host.", nil))
        check(
            Row(
                InvalidURLError("https://joe:hunter2@a.example", .credentials),
                "invalid URL 'https://REDACTED:REDACTED@a.example': it holds credentials; send credentials with an authentication scheme "
                    + "(RFC 9110, section 4.2.4)",
                "The address is not valid.",
                "It holds credentials.",
                "Correct the address, then try again."))
        check(
            Row(
                UnsupportedOptionError(HedgeKey.self, missing: .middleware(.hedge), request: Self.get),
                "GET https://a.example/x?token=REDACTED: the option 'hedge' needs the middleware 'hedge', which the stack does not have: add .hedge "
                    + "to the stack, or do not set the option (not sent)",
                "The request cannot be sent.", "The option 'hedge' needs the middleware 'hedge', which the stack does not have.",
                nil))
        check(
            Row(
                FileReadError(path: "/tmp/x", operation: "open", code: ENOENT), "cannot open '/tmp/x': no such file or folder (errno 2)",
                "The file cannot be read.", "No such file or folder.", "Check that the file exists and may be read."))
        check(
            Row(
                BodyAlreadyUsedError(),
                "the body can be read only once, and was read or abandoned before; "
                    + "to read a response and pass it on, write: let data = try await response.data(); response.body = .data(data)",
                "The content cannot be read a second time.", "The content can be read only once, and was read or abandoned before.", nil))
    }

    private enum HedgeKey: OptionKey { static var defaultValue: Int { 0 } }

    @Test func aDecodingFailureIsDescribed() {
        let error = DecodingError.typeMismatch(
            Int.self, .init(codingPath: [], debugDescription: "Expected to decode Int but found a string instead."))
        let response = Response(head: HTTPResponse(status: .ok), request: Self.get)
        check(
            Row(
                ResponseDecodingError([Int].self, underlying: error, body: Data(#""hunter2""#.utf8), of: response),
                "GET https://a.example/x?token=REDACTED: cannot decode [Int]: expected an Int, found a string (status 200)",
                "The response of the server could not be read.", "Cannot decode [Int]: expected an Int, found a string.",
                "The app and the server do not agree on the format: update the app, or try again later."))
    }

    // MARK: Middleware

    @Test func refusalsOfMiddlewareAreDescribed() throws {
        check(
            Row(
                CircuitBreakerError(request: Self.get, retryAfter: .seconds(5)),
                "GET https://a.example/x?token=REDACTED: refused: the circuit stays open for another 5 s (not sent)",
                "The request was not sent, because the server did not work properly a moment ago.",
                "The circuit stays open for another 5 s.", "Try again in 5 seconds."))
        check(
            Row(
                CircuitBreakerError(request: Self.get, retryAfter: nil),
                "GET https://a.example/x?token=REDACTED: refused: the circuit is open (not sent)",
                "The request was not sent, because the server did not work properly a moment ago.", "The circuit is open.",
                "Try again later."))
        check(
            Row(
                RateLimitError(request: Self.get, retryAfter: .seconds(5), cause: .server),
                "GET https://a.example/x?token=REDACTED: refused by the rate limit of the server: the next request may be sent in 5 s (not sent)",
                "The request was not sent, because too many requests were sent to the server.",
                "The rate limit of the server is reached.", "Try again in 5 seconds."))
        check(
            Row(
                RateLimitStoreError(request: Self.get, underlying: TestError("hunter2")),
                "GET https://a.example/x?token=REDACTED: refused, because the store of the rate limit failed: TestError (not sent)",
                "The request was not sent, because the limit for requests could not be read.",
                "The store of the rate limit failed: TestError.",
                "Try again later."))
        check(
            Row(
                SlowReaderError(limitBytes: 1000, request: Self.get, response: nil),
                "GET https://a.example/x?token=REDACTED: another caller reads the shared body faster than this caller, and more than 1000 bytes are waiting; "
                    + "read the body without pauses, or set request.options.coalesce to off (sent)",
                "The response of the server was not read in time.",
                "Another caller reads the shared body faster: more than 1000 bytes would have to be kept.",
                "Try again."))
        check(
            Row(
                RedirectError(.tooManyHops(20), request: Self.get, head: HTTPResponse(status: .found)),
                "GET https://a.example/x?token=REDACTED: the redirect (status 302) can't be followed: more than 20 redirects",
                "A redirect of the server cannot be followed.", "More than 20 redirects.",
                "Try again later."))
        check(
            Row(
                ResponseValidationError(
                    name: "token", retries: 1, retryStop: .attemptsUsedUp,
                    of: Response(head: HTTPResponse(status: .unauthorized), request: Self.get)),
                "GET https://a.example/x?token=REDACTED: status 401, refused by 'token' after 1 retry; no further attempt: all attempts are used up",
                "The response of the server was not accepted.",
                "Status 401, refused by 'token' after 1 retry: all attempts are used up.",
                "Sign in with valid credentials, then try again."))
        let resilience = #expect(throws: ResilienceError.self) {
            try ResiliencePolicy(totalTimeout: .seconds(1), attemptTimeout: .seconds(10))
        }
        let error = try #require(resilience)
        #expect(error.localizedDescription == "The settings for retries and timeouts do not fit each other.")
        #expect(error.failureReason == error.description.asSentence && error.recoverySuggestion == nil)
    }

    private func check(_ row: Row) {
        let error: any Error = row.error
        #expect(row.error.description == row.description)
        #expect(error.localizedDescription == row.localized)
        #expect(row.error.failureReason == row.reason)
        #expect(row.error.recoverySuggestion == row.suggestion)
        let bridged = error as NSError
        #expect(bridged.localizedDescription == row.localized && bridged.localizedFailureReason == row.reason)
        let number = (error as? any NumberedFailure)?.failureNumber
        #expect(bridged.code == number?.rawValue && bridged.domain == "Errand", "\(bridged)")
        for text in ["\(error)", error.localizedDescription, "\(bridged)"] { #expect(!text.contains("hunter2")) }
    }
}
