#if Auth && SWIFT_NIO && MockServer
import Errand
import ErrandMockServer
import Foundation
import Testing

@testable import ErrandAPI
@testable import ErrandAuth
@testable import ErrandCompression
@testable import ErrandCore
@testable import ErrandFormats
@testable import ErrandMiddleware
@testable import ErrandMockServer
@testable import ErrandNIO
@testable import ErrandRecording
@testable import ErrandTesting
@testable import ErrandTransfers

/// The numbers of failures, which never change, and the errors that have these numbers.
@Suite(.timeLimit(.minutes(5))) struct FailureNumberTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let number: FailureNumber
        let rawValue: Int
        let name: String
        let text: String?
        var testDescription: String { "\(rawValue) \(name)" }

        init(_ number: FailureNumber, _ rawValue: Int, _ name: String, _ text: String?) {
            (self.number, self.rawValue, self.name, self.text) = (number, rawValue, name, text)
        }
    }

    /// All numbers. Add rows. Never change the number or the name of a row, and never remove a row: apps, crash reports and translations
    /// refer to them.
    static let frozen: [Row] = [
        Row(.other, 1, "other", "The operation failed."),
        Row(.transport, 1000, "transport", "The request failed."),
        Row(.cannotFindHost, 1001, "cannotFindHost", "The server could not be found."),
        Row(.cannotConnect, 1002, "cannotConnect", "Could not connect to the server."),
        Row(.connectionLost, 1003, "connectionLost", "The connection to the server was lost."),
        Row(.connectTimedOut, 1004, "connectTimedOut", "Connecting to the server took too long."),
        Row(.queueTimedOut, 1005, "queueTimedOut", "The request waited for too long."),
        Row(.responseTimedOut, 1006, "responseTimedOut", "The server did not respond in time."),
        Row(.tls, 1007, "tls", "A secure connection to the server could not be established."),
        Row(.invalidResponse, 1008, "invalidResponse", "The response of the server is not valid."),
        Row(.bodyTooLarge, 1009, "bodyTooLarge", "The response of the server is too large."),
        Row(.requestBody, 1010, "requestBody", "The content of the request could not be read."),
        Row(.invalidRequest, 1011, "invalidRequest", "The request cannot be sent."),
        Row(.unsupported, 1012, "unsupported", "The request needs something that is not supported."),
        Row(.shutDown, 1013, "shutDown", "The client was shut down."),
        Row(.notConnected, 1014, "notConnected", "This device is offline."),
        Row(.blockedByPolicy, 1015, "blockedByPolicy", "The settings of this device do not allow the connection."),
        Row(.certificatePins, 1016, "certificatePins", "A secure connection to the server could not be established."),
        Row(.networkTimedOut, 1017, "networkTimedOut", "This device was offline for too long."),
        Row(.proxyRefused, 1100, "proxyRefused", "The proxy did not forward the request to the server."),
        Row(.cannotFindProxy, 1101, "cannotFindProxy", "The proxy could not be found."),
        Row(.cannotConnectToProxy, 1102, "cannotConnectToProxy", "Could not connect to the proxy."),
        Row(.proxyConnectionLost, 1103, "proxyConnectionLost", "The connection to the proxy was lost."),
        Row(.proxyConnectTimedOut, 1104, "proxyConnectTimedOut", "Connecting to the proxy took too long."),
        Row(.proxyTLS, 1105, "proxyTLS", "A secure connection to the proxy could not be established."),
        Row(.proxyNeedsCredentials, 1106, "proxyNeedsCredentials", "The proxy requires a user name and a password."),
        Row(.proxyRefusedCredentials, 1107, "proxyRefusedCredentials", "The proxy did not accept the user name and the password."),
        Row(.proxySettings, 1108, "proxySettings", "The settings of the proxy are not valid."),
        Row(.status, 2000, "status", "The server responded in an unexpected way."),
        Row(.clientError, 2400, "clientError", "The server did not accept the request."),
        Row(.unauthorized, 2401, "unauthorized", "The server needs valid credentials."),
        Row(.forbidden, 2403, "forbidden", "The server does not allow the request."),
        Row(.notFound, 2404, "notFound", "The server does not have the requested content."),
        Row(.gone, 2410, "gone", "The server no longer has the requested content."),
        Row(.tooManyRequests, 2429, "tooManyRequests", "The server got too many requests."),
        Row(.serverError, 2500, "serverError", "The server could not process the request."),
        Row(.serviceError, 2900, "serviceError", "The server reported an error."),
        Row(.serviceMessage, 2901, "serviceMessage", nil),
        Row(.requestEncoding, 3000, "requestEncoding", "The content of the request could not be created."),
        Row(.responseDecoding, 3001, "responseDecoding", "The response of the server could not be read."),
        Row(.contentDecoding, 3002, "contentDecoding", "The response of the server could not be read."),
        Row(.decodedBodyTooLarge, 3003, "decodedBodyTooLarge", "The response of the server is too large."),
        Row(.jsonText, 3010, "jsonText", "A part of the server's response could not be read."),
        Row(.jsonTextTooLarge, 3011, "jsonTextTooLarge", "A part of the server's response is too large."),
        Row(.invalidJSON, 3012, "invalidJSON", "The text is not valid JSON."),
        Row(.jsonPointer, 3013, "jsonPointer", "The JSON value could not be changed."),
        Row(.notAnEventStream, 3020, "notAnEventStream", "The response of the server is not valid."),
        Row(.silentEventStream, 3021, "silentEventStream", "The server sent nothing for too long."),
        Row(.incompleteEventStream, 3022, "incompleteEventStream", "The events of the server ended too early."),
        Row(.eventTooLarge, 3023, "eventTooLarge", "An event of the server is too large."),
        Row(.multipart, 3030, "multipart", "The form is not valid."),
        Row(.unconsumedInput, 3031, "unconsumedInput", "The content could not be read to its end."),
        Row(.bodyAlreadyUsed, 3032, "bodyAlreadyUsed", "The content cannot be read a second time."),
        Row(.structuredField, 3040, "structuredField", "A field of the message is not valid."),
        Row(.repeatedField, 3041, "repeatedField", "A field of the message is not valid."),
        Row(.urlReferenceInvalid, 3042, "urlReferenceInvalid", "The server gave an address that is not valid."),
        Row(.urlReferenceForeign, 3043, "urlReferenceForeign", "The server gave an address that is not allowed."),
        Row(.pageLoop, 3050, "pageLoop", "The list could not be read to its end."),
        Row(.tooManyPages, 3051, "tooManyPages", "The list could not be read to its end."),
        Row(.pageAtForeignOrigin, 3052, "pageAtForeignOrigin", "The list could not be read to its end."),
        Row(.invalidPageURL, 3053, "invalidPageURL", "The list could not be read to its end."),
        Row(.pollingTimedOut, 3060, "pollingTimedOut", "The server takes too long."),
        Row(.noPollingURL, 3061, "noPollingURL", "The server did not say where to find the result."),
        Row(.pollingAtForeignOrigin, 3062, "pollingAtForeignOrigin", "The server said to find the result in a place that is not allowed."),
        Row(.invalidPollingURL, 3063, "invalidPollingURL", "The server did not say where to find the result."),
        Row(.authentication, 4000, "authentication", "Could not sign in."),
        Row(.signedOut, 4001, "signedOut", "You are not signed in."),
        Row(.refreshRefused, 4002, "refreshRefused", "You are not signed in any more."),
        Row(.refreshFailed, 4003, "refreshFailed", "Could not sign in."),
        Row(.tooManyRefreshes, 4004, "tooManyRefreshes", "Could not sign in."),
        Row(.tokenStore, 4005, "tokenStore", "The sign-in could not be read or saved."),
        Row(.accountChanged, 4006, "accountChanged", "Another account has signed in."),
        Row(.withinRefresh, 4007, "withinRefresh", "Could not sign in."),
        Row(.invalidCredentials, 4008, "invalidCredentials", "Could not sign in."),
        Row(.oauth, 4100, "oauth", "Could not sign in."),
        Row(.oauthInvalidRequest, 4101, "oauthInvalidRequest", "Could not sign in."),
        Row(.oauthInvalidClient, 4102, "oauthInvalidClient", "Could not sign in."),
        Row(.oauthInvalidGrant, 4103, "oauthInvalidGrant", "The sign-in was not accepted, or is not valid any more."),
        Row(.oauthUnauthorizedClient, 4104, "oauthUnauthorizedClient", "Could not sign in."),
        Row(.oauthUnsupportedGrantType, 4105, "oauthUnsupportedGrantType", "Could not sign in."),
        Row(.oauthInvalidScope, 4106, "oauthInvalidScope", "Could not sign in."),
        Row(.oauthAccessDenied, 4107, "oauthAccessDenied", "Access was refused."),
        Row(.oauthUnsupportedResponseType, 4108, "oauthUnsupportedResponseType", "Could not sign in."),
        Row(.oauthServerError, 4109, "oauthServerError", "Could not sign in."),
        Row(.oauthTemporarilyUnavailable, 4110, "oauthTemporarilyUnavailable", "Could not sign in."),
        Row(.oauthAuthorizationPending, 4111, "oauthAuthorizationPending", "Could not sign in."),
        Row(.oauthSlowDown, 4112, "oauthSlowDown", "Could not sign in."),
        Row(.oauthExpiredToken, 4113, "oauthExpiredToken", "The code has expired. Sign in again."),
        Row(.oauthInvalidResponse, 4120, "oauthInvalidResponse", "Could not sign in."),
        Row(.oauthStateMismatch, 4121, "oauthStateMismatch", "Could not sign in."),
        Row(.oauthIssuerMismatch, 4122, "oauthIssuerMismatch", "Could not sign in."),
        Row(.oauthNoRefreshToken, 4123, "oauthNoRefreshToken", "You are not signed in any more."),
        Row(.oauthUnsupported, 4124, "oauthUnsupported", "Could not sign in."),
        Row(.oauthSignOut, 4130, "oauthSignOut", "Could not sign out at the server."),
        Row(.tokenFileInvalid, 4200, "tokenFileInvalid", "The stored sign-in cannot be used."),
        Row(.tokenFileBusy, 4201, "tokenFileBusy", "The stored sign-in is in use."),
        Row(.cookieStore, 4300, "cookieStore", "The cookies could not be read or saved."),
        Row(.cookieRefused, 4301, "cookieRefused", "The cookie was not accepted."),
        Row(.cookieFileInvalid, 4310, "cookieFileInvalid", "The stored cookies cannot be used."),
        Row(.circuitBreaker, 5000, "circuitBreaker", "The request was not sent, because the server did not work properly a moment ago."),
        Row(.rateLimit, 5001, "rateLimit", "The request was not sent, because too many requests were sent to the server."),
        Row(.rateLimitStore, 5002, "rateLimitStore", "The request was not sent, because the limit for requests could not be read."),
        Row(.tooManyRedirects, 5010, "tooManyRedirects", "A redirect of the server cannot be followed."),
        Row(.invalidRedirect, 5011, "invalidRedirect", "A redirect of the server cannot be followed."),
        Row(.severalRedirectTargets, 5012, "severalRedirectTargets", "A redirect of the server cannot be followed."),
        Row(.redirectDowngrade, 5013, "redirectDowngrade", "A redirect of the server cannot be followed."),
        Row(.redirectLoop, 5014, "redirectLoop", "A redirect of the server cannot be followed."),
        Row(.redirectNeedsHTTPS, 5015, "redirectNeedsHTTPS", "A redirect of the server cannot be followed."),
        Row(.slowReader, 5020, "slowReader", "The response of the server was not read in time."),
        Row(.responseValidation, 5030, "responseValidation", "The response of the server was not accepted."),
        Row(.unsupportedOption, 5040, "unsupportedOption", "The request cannot be sent."),
        Row(.preparation, 5041, "preparation", "The request cannot be shown before it is sent."),
        Row(.resilience, 5050, "resilience", "The settings for retries and timeouts do not fit each other."),
        Row(.notStored, 5060, "notStored", "This content is not stored on this device."),
        Row(.invalidURL, 6000, "invalidURL", "The address is not valid."),
        Row(.invalidIPAddress, 6001, "invalidIPAddress", "The IP address is not valid."),
        Row(.invalidHostOverride, 6002, "invalidHostOverride", "The entry for the address of a host is not valid."),
        Row(.tlsSettings, 6003, "tlsSettings", "The settings for secure connections are not valid."),
        Row(.transportSetting, 6004, "transportSetting", "A setting of the client cannot be used."),
        Row(.invalidField, 6005, "invalidField", "The content of the request could not be created."),
        Row(.fileRead, 6010, "fileRead", "The file cannot be read."),
        Row(.fileWrite, 6011, "fileWrite", "The file cannot be written."),
        Row(.fileNotDurable, 6012, "fileNotDurable", "The file is complete, but a loss of power may remove it."),
        Row(.noSpace, 6020, "noSpace", "There is not enough space on the disk."),
        Row(.transferBusy, 6021, "transferBusy", "The file is already being transferred."),
        Row(.journalUnreadable, 6022, "journalUnreadable", "The earlier transfer cannot be continued."),
        Row(.contentChanged, 6023, "contentChanged", "The content on the server has changed."),
        Row(.digestMismatch, 6024, "digestMismatch", "The transferred file is damaged."),
        Row(.unmatchedRequest, 7000, "unmatchedRequest", "No stub responds to the request."),
        Row(.unrecordedRequest, 7001, "unrecordedRequest", "The recording has no response for the request."),
        Row(.secretInRecording, 7002, "secretInRecording", "The recording was not written, because it would hold a secret."),
        Row(.invalidRecording, 7003, "invalidRecording", "The file is not a recording."),
        Row(.torture, 7010, "torture", "A run failed after a cancellation."),
        Row(.mockServerTimeout, 7020, "mockServerTimeout", "The mock server waited for too long."),
        Row(.brokenRequest, 7021, "brokenRequest", "The mock server received an incomplete request."),
    ]

    private static let host = "api7.shop.example"

    private static func request(_ method: HTTPRequest.Method = .get) throws -> Request {
        try Request(method, url: "https://\(host):8443/x5")
    }

    private static func transport(
        _ code: TransportError.Code, in phase: ExchangePhase = .connect, proxy: Bool = false, credentials: ProxyCredentialsProblem? = nil,
        underlying: (any Error)? = nil
    ) throws -> TransportError {
        var error = TransportError(code, phase: phase, message: "errno 7", underlying: underlying, request: try request())
        if proxy { error.proxy = ProxyAddress(.http(host: "proxy9.example", port: 3128)) }
        error.proxyCredentials = credentials
        return error
    }

    private static func transportErrors() throws -> [any Error] {
        let codes: [TransportError.Code] = [
            .cannotFindHost, .cannotConnect, .connectionLost, .timedOut, .tls, .invalidResponse, .bodyTooLarge, .requestBody,
            .invalidRequest, .proxy, .unsupported, .shutDown, .notConnected, .blockedByPolicy, TransportError.Code("code 7"),
        ]
        let phases: [ExchangePhase] = [.queue, .backoff, .connectivity, .send, .response, .body]
        let settings = ProxySettingsError("port 0", variable: "https_proxy")
        var errors: [any Error] = [
            try transport(.proxy, proxy: true, credentials: .missing), try transport(.proxy, proxy: true, credentials: .refused),
            try transport(.proxy, underlying: settings), settings, HostNotFoundError(host),
            CertificatePinError(host: host, expected: ["sha256/7"], chain: []),
        ]
        for code in codes { errors.append(try transport(code)) }
        for code in codes.prefix(5) { errors.append(try transport(code, proxy: true)) }
        for phase in phases { errors.append(try transport(.timedOut, in: phase)) }
        return errors
    }

    private static func statusErrors() async throws -> [any Error] {
        var errors: [any Error] = []
        for code in [302, 400, 401, 403, 404, 410, 422, 429, 500, 503, 600] {
            errors.append(try await StatusError(reading: Response(head: HTTPResponse(status: .init(code: code)), request: request())))
        }
        var missing = Response(head: HTTPResponse(status: .gatewayTimeout), request: try request())
        missing.metadata.cacheStatus = CacheStatus(.unavailable(.uriMiss))
        errors.append(try await StatusError(reading: missing))
        return errors + [ServiceError(40_012, message: "Too little money."), ServiceError(40_012)]
    }

    private static func valueErrors() throws -> [any Error] {
        let (get, head) = (try request(), HTTPResponse(status: .init(code: 299)))
        let invalid = EncodingError.invalidValue(7, .init(codingPath: [], debugDescription: ""))
        let corrupted = DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "7"))
        let pages: [PaginationError.Code] = [.loop, .tooManyPages, .foreignOrigin, .invalidURL]
        let polls: [PollingError.Code] = [.timedOut, .noLocation, .foreignOrigin, .invalidLocation]
        let response = Response(head: head, data: Data("7".utf8), request: get)
        var errors: [any Error] = [
            RequestEncodingError("Order7", underlying: invalid, request: get),
            ResponseDecodingError(Int.self, underlying: corrupted, body: Data("7".utf8), of: response),
            ContentDecodingError(.truncated(.gzip), request: get, response: head),
            ContentDecodingError(.tooLarge(limitBytes: 7), request: get, response: head),
            JSONTextError(.line(7), Int.self, underlying: corrupted), JSONTextTooLargeError(limitBytes: 7),
            JSONParsingError(message: "7", offset: 7), JSONPointerError("/7", "7"),
            try #require(EventStreamError(checking: response)),
            EventStreamError.silent(for: .seconds(7), fromStart: true, request: get, head),
            EventStreamError.endedBeforeTerminator(request: get, head), EventTooLargeError(.bytes(7)), MultipartError(.missingEnd, "7"),
            UnconsumedInputError(byteCount: 7), BodyAlreadyUsedError(), StructuredFieldError(message: "7", offset: 7),
            RepeatedFieldError(name: .location), URLReferenceError.invalid(.missingHost),
            URLReferenceError.foreign(try #require(get.origin)),
        ]
        for code in pages { errors.append(PaginationError(code, "page 7", request: get, head)) }
        for code in polls { errors.append(PollingError(code, "7 polls", request: get, head)) }
        return errors
    }

    private static func authenticationErrors() throws -> [any Error] {
        let reasons: [AuthenticationError.Code] = [
            .signedOut, .refreshRefused, .refreshFailed, .tooManyRefreshes, .storeFailed, .accountChanged, .withinRefresh,
            .invalidCredentials("7"), .init("example.own7", "own 7"),
        ]
        let codes: [OAuthError.Code] = [
            .invalidRequest, .invalidClient, .invalidGrant, .unauthorizedClient, .unsupportedGrantType, .invalidScope, .accessDenied,
            .unsupportedResponseType, .serverError, .temporarilyUnavailable, .authorizationPending, .slowDown, .expiredToken,
            .invalidResponse, .stateMismatch, .issuerMismatch, .noRefreshToken, .unsupported, .init("other_7"),
        ]
        var signOut = OAuthError(.invalidClient)
        signOut.purpose = .signOut
        var errors: [any Error] = [
            signOut, TokenFileError(path: "/tmp/7", reason: "7", isCorrupt: true), TokenFileError(path: "/tmp/7", reason: "7"),
            CookieFileError(.corrupt, path: "/tmp/7"),
        ]
        for reason in reasons { errors.append(AuthenticationError(reason, request: try request())) }
        errors.append(CookieJarError(.loadFailed, underlying: CancellationError(), request: try request()))
        errors.append(CookieRefusedError(.prefix, "sid7"))
        for code in codes { errors.append(OAuthError(code, "7")) }
        return errors
    }

    private static func layerErrors() throws -> [any Error] {
        let (get, head) = (try request(), HTTPResponse(status: .found))
        let redirects: [RedirectError.Code] = [
            .tooManyHops(7), .invalidLocation(InvalidURLError("7", .missingHost)), .severalLocations, .downgrade, .loop,
            .credentialsNeedHTTPS,
        ]
        let options = UnsupportedOptionError(HedgeOfTestKey.self, missing: .middleware(.hedge), request: get)
        let resilience = #expect(throws: ResilienceError.self) {
            try ResiliencePolicy(totalTimeout: .seconds(1), attemptTimeout: .seconds(7))
        }
        var errors: [any Error] = [
            CircuitBreakerError(request: get, retryAfter: .seconds(7)),
            RateLimitError(request: get, retryAfter: .seconds(7), cause: .limit),
            RateLimitStoreError(request: get, underlying: CancellationError()),
            SlowReaderError(limitBytes: 7, request: get, response: head),
            ResponseValidationError(
                name: "seven7", retries: 7, retryStop: .attemptsUsedUp, of: Response(head: head, request: get)),
            options, PreparationError(request: get), try #require(resilience),
        ]
        for reason in redirects { errors.append(RedirectError(reason, request: get, head: head)) }
        return errors
    }

    private enum HedgeOfTestKey: OptionKey { static var defaultValue: Int { 0 } }

    private static func localErrors() throws -> [any Error] {
        let get = try request()
        let tls = #expect(throws: TLSSettingsError.self) { try CertificatePins(["": []]) }
        return [
            InvalidURLError("https://\(host):8443", .missingHost), InvalidIPAddressError("7"), InvalidHostOverrideError("7", "7"),
            try #require(tls), UnusableSettingError("maxConnections", "it is 7"),
            InvalidFieldError(.invalidValue, of: .accept, in: "7\n", at: 1), FileReadError(path: "/tmp/7", operation: "open", code: 2),
            FileWriteError(path: "/tmp/7", operation: "write", code: 2),
            FileWriteError(path: "/tmp/7", operation: FileWriteError.folderSynchronization, code: 2),
            TransferError(.noSpace, "7"), TransferError(.busy, "7"), TransferError(.journalUnreadable, "7"), TransferError(.changed, "7"),
            TransferError(.digestMismatch, "7"),
            UnmatchedRequestError(request: get, nearest: "7"), NoRecordedExchangeError(get, path: "/tmp/7", nearest: nil),
            SecretFoundError(entry: 7, exchange: "7", place: "7"), InvalidRecordingError(path: "/tmp/7", reason: "7"),
            TortureError(jobNumber: 7, moment: .before, what: "7", underlying: nil),
            MockServer.TimeoutError(limit: .seconds(7), counts: MockServer.Counts()), BrokenRequestError("7"),
        ]
    }

    /// At least one error of each type, code and reason. Its requests, paths and reasons have digits, which no text for people may have.
    static func everyFailure() async throws -> [any Error] {
        try await transportErrors() + statusErrors() + valueErrors() + authenticationErrors() + layerErrors() + localErrors()
    }

    private static func declarations() throws -> [String] {
        let folder = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../docs/api").standardizedFileURL
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil).flatMap { file in
            let module = file.deletingPathExtension().lastPathComponent
            return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map { "\(module).\($0)" }
        }
    }

    @Test(arguments: frozen) func aNumberKeepsItsMeaning(_ row: Row) {
        #expect(row.number.rawValue == row.rawValue && FailureNumber(rawValue: row.rawValue) == row.number)
        #expect(FailureTexts.englishTexts[row.number] == row.text)
    }

    @Test func theTableHasEachNumberOnce() throws {
        let numbers = Self.frozen.map(\.rawValue)
        #expect(numbers == numbers.sorted() && Set(numbers).count == numbers.count && numbers.allSatisfy { $0 < 100_000 })
        let declared = try Self.declarations().compactMap { line in
            line.wholeMatch(of: /ErrandCore\.FailureNumber\.(\w+): static let \w+: FailureNumber/)?.1
        }
        #expect(Set(declared.map(String.init)) == Set(Self.frozen.map(\.name)))
        #expect(Set(FailureTexts.englishTexts.keys) == Set(Self.frozen.filter { $0.text != nil }.map(\.number)))
    }

    @Test func eachNumberIsTheNumberOfAFailure() async throws {
        let numbers = try await Self.everyFailure().compactMap { ($0 as? any NumberedFailure)?.failureNumber }
        #expect(Set(numbers) == Set(Self.frozen.map(\.number)).subtracting([.other]))
    }

    @Test func eachErrorTypeOfTheLibraryHasNumbers() async throws {
        // The reason of a `ContentDecodingError`, and the reason why a response is not stored, conform to `Error`, but no public function
        // throws them.
        let kinds = try Self.declarations().filter { !$0.contains(": protocol ") }
        let protocols = Set(try Self.declarations().compactMap { $0.wholeMatch(of: /([\w.]+): protocol .*/)?.1 }.map(String.init))
        let declared = kinds.compactMap { $0.wholeMatch(of: /([\w.]+) conforms to (?:.*, )?Error(?:,.*)?/)?.1 }.map(String.init)
        let types = Set(declared).subtracting(protocols).subtracting([
            "ErrandCompression.ContentDecodingError.Code", "ErrandCore.CacheStatus.Refusal",
        ])
        let failures = try await Self.everyFailure()
        #expect(Set(failures.map { String(reflecting: type(of: $0)) }) == types)
        for failure in failures { #expect(failure is any NumberedFailure, "\(failure)") }
    }

    @Test func noTextForPeopleHasAHostAnAddressOrANumber() async throws {
        for error in try await Self.everyFailure() {
            let text = error.localizedDescription
            #expect(!text.contains(/[0-9]/) && !text.contains("example") && !text.contains("/"), "\(text)")
            #expect(text.hasSuffix(".") && text.first?.isUppercase == true && text == FailureTexts.english.text(for: error), "\(text)")
            #expect(!"\(error)".isEmpty && "\(error)" != text)
        }
    }

    @Test func anNSErrorHasTheNumberAsItsCode() async throws {
        for error in try await Self.everyFailure() {
            let bridged = error as NSError
            #expect(bridged.domain == "Errand" && bridged.code == (error as? any NumberedFailure)?.failureNumber.rawValue, "\(bridged)")
            #expect(bridged.localizedDescription == error.localizedDescription && bridged.domain == FailureNumber.errorDomain)
        }
        #expect((CancellationError() as NSError).domain != "Errand")
    }

    @Test func aTranslationHasATextForEachNumber() async throws {
        let translated = FailureTexts(FailureTexts.englishTexts.mapValues { "<\($0)>" })
        for error in try await Self.everyFailure() {
            let english = error.localizedDescription
            let isFromServer = (error as? ServiceError)?.message.isEmpty == false
            #expect(translated.text(for: error) == (isFromServer ? english : "<\(english)>"))
        }
    }
}
#endif
