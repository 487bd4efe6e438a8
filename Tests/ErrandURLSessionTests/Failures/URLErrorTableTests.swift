internal import ErrandCore
internal import Foundation
internal import Testing

@testable internal import ErrandURLSession

#if canImport(FoundationNetworking)
internal import FoundationNetworking
internal import TestSupport
#endif

@Suite struct URLErrorTableTests {
    /// The codes of `URLError.Code`, with the names that Foundation gives them.
    static let codes: [(URLError.Code, String)] = [
        (.unknown, "unknown"), (.backgroundSessionRequiresSharedContainer, "backgroundSessionRequiresSharedContainer"),
        (.backgroundSessionInUseByAnotherProcess, "backgroundSessionInUseByAnotherProcess"),
        (.backgroundSessionWasDisconnected, "backgroundSessionWasDisconnected"), (.cancelled, "cancelled"), (.badURL, "badURL"),
        (.timedOut, "timedOut"), (.unsupportedURL, "unsupportedURL"), (.cannotFindHost, "cannotFindHost"),
        (.cannotConnectToHost, "cannotConnectToHost"), (.networkConnectionLost, "networkConnectionLost"),
        (.dnsLookupFailed, "dnsLookupFailed"), (.httpTooManyRedirects, "httpTooManyRedirects"),
        (.resourceUnavailable, "resourceUnavailable"), (.notConnectedToInternet, "notConnectedToInternet"),
        (.redirectToNonExistentLocation, "redirectToNonExistentLocation"), (.badServerResponse, "badServerResponse"),
        (.userCancelledAuthentication, "userCancelledAuthentication"), (.userAuthenticationRequired, "userAuthenticationRequired"),
        (.zeroByteResource, "zeroByteResource"), (.cannotDecodeRawData, "cannotDecodeRawData"),
        (.cannotDecodeContentData, "cannotDecodeContentData"), (.cannotParseResponse, "cannotParseResponse"),
        (.internationalRoamingOff, "internationalRoamingOff"), (.callIsActive, "callIsActive"), (.dataNotAllowed, "dataNotAllowed"),
        (.requestBodyStreamExhausted, "requestBodyStreamExhausted"),
        (.appTransportSecurityRequiresSecureConnection, "appTransportSecurityRequiresSecureConnection"),
        (.fileDoesNotExist, "fileDoesNotExist"), (.fileIsDirectory, "fileIsDirectory"),
        (.noPermissionsToReadFile, "noPermissionsToReadFile"), (.dataLengthExceedsMaximum, "dataLengthExceedsMaximum"),
        (.secureConnectionFailed, "secureConnectionFailed"), (.serverCertificateHasBadDate, "serverCertificateHasBadDate"),
        (.serverCertificateUntrusted, "serverCertificateUntrusted"), (.serverCertificateHasUnknownRoot, "serverCertificateHasUnknownRoot"),
        (.serverCertificateNotYetValid, "serverCertificateNotYetValid"), (.clientCertificateRejected, "clientCertificateRejected"),
        (.clientCertificateRequired, "clientCertificateRequired"), (.cannotLoadFromNetwork, "cannotLoadFromNetwork"),
        (.cannotCreateFile, "cannotCreateFile"), (.cannotOpenFile, "cannotOpenFile"), (.cannotCloseFile, "cannotCloseFile"),
        (.cannotWriteToFile, "cannotWriteToFile"), (.cannotRemoveFile, "cannotRemoveFile"), (.cannotMoveFile, "cannotMoveFile"),
        (.downloadDecodingFailedMidStream, "downloadDecodingFailedMidStream"),
        (.downloadDecodingFailedToComplete, "downloadDecodingFailedToComplete"),
    ]

    @Test func everyCodeHasARow() {
        let rows = Dictionary(grouping: URLErrorTable.rows, by: \.number)
        for (code, name) in Self.codes { #expect(rows[code.rawValue]?.map(\.name) == [name]) }
        // Foundation has no constant for -1104 (NSURLErrorFileOutsideSafeArea).
        #expect(Set(rows.keys) == Set(Self.codes.map(\.0.rawValue) + [-1104]))
    }

    /// A stub for the `URLSession` of other code reports a failure of this library by a number. Read by the table, the number has the same
    /// meaning.
    @Test(
        arguments: [
            (.notConnected, .notSent, .notConnectedToInternet), (.cannotFindHost, .notSent, .cannotFindHost),
            (.cannotConnect, .notSent, .cannotConnectToHost), (.connectionLost, .unknown, .networkConnectionLost),
            (.timedOut, .unknown, .timedOut), (.tls, .notSent, .serverCertificateUntrusted), (.tls, .unknown, .secureConnectionFailed),
            (.blockedByPolicy, .notSent, .appTransportSecurityRequiresSecureConnection), (.invalidResponse, .unknown, .badServerResponse),
            (.bodyTooLarge, .unknown, .dataLengthExceedsMaximum), (.proxy, .unknown, .userAuthenticationRequired),
            (.invalidRequest, .notSent, .badURL),
        ] as [(TransportError.Code, Delivery, URLError.Code)])
    func aFailureHasANumberOfTheSameMeaning(_ code: TransportError.Code, _ delivery: Delivery, _ expected: URLError.Code) {
        let failure = TransportError(code, phase: .connect, delivery: delivery)
        let error = URLError(failure, url: URL(string: "https://a.example/"))
        #expect(error.code == expected)
        let row = URLErrorTable.row(for: SessionError(error))
        #expect(row.code == code && row.delivery == delivery)
        let text = URLErrorTable.textForPeople(of: error.errorCode, host: "a.example")
        #expect(error.userInfo[NSUnderlyingErrorKey] is TransportError && text != nil && error.localizedDescription == text)
        // Another delivery does not change the meaning.
        #expect(URLErrorTable.row(for: SessionError(URLError(TransportError(code, phase: .send, delivery: .sent), url: nil))).code == code)
    }

    @Test(arguments: [.unsupported, .shutDown, .requestBody] as [TransportError.Code])
    func aFailureWithoutANumberIsUnknown(_ code: TransportError.Code) {
        #expect(URLError(TransportError(code, phase: .request, delivery: .notSent), url: nil).code == .unknown)
    }

    private func error(
        _ error: any Error, at exchange: FailedExchange = FailedExchange(position: ExchangePosition(.over, .nothing))
    ) throws -> TransportError {
        let failure = SessionFailure(
            request: try Request(.get, url: "https://a.example/?token=s3cr3t"), exchange: exchange, elapsed: .seconds(1),
            abilities: .apple)
        return try #require(failure.error(for: .session(SessionError(error))) as? TransportError)
    }

    /// The codes that prove that no server got the request, if the session has reported no sent bytes.
    static let notSent: Set<Int> = [
        -995, -1000, -1003, -1004, -1006, -1009, -1018, -1019, -1020, -1022, -1201, -1202, -1203, -1204, -2000,
    ]

    @Test func onlySomeCodesProveThatNothingWasSent() throws {
        for row in URLErrorTable.rows {
            let failure = try error(NSError(domain: NSURLErrorDomain, code: row.number))
            let delivery = Self.notSent.contains(row.number) ? Delivery.notSent : .unknown
            #expect(failure.delivery == delivery, "\(row.name)")
            #expect(failure.code == row.code && failure.phase == row.phase ?? .response, "\(row.name)")
        }
    }

    @Test func sentBytesOutweighTheCode() throws {
        let sending = FailedExchange(position: ExchangePosition(.inProgress, .nothing), hasSentBytes: true)
        #expect(try error(URLError(.cannotConnectToHost), at: sending).delivery == .unknown)
        let reading = FailedExchange(position: ExchangePosition(.over, .body), head: HTTPResponse(status: .ok), hasSentBytes: true)
        let failure = try error(URLError(.cannotFindHost), at: reading)
        #expect(failure.delivery == .sent && failure.phase == .body && failure.response?.status == .ok)
    }

    /// Without a body, the session reports no bytes. An earlier connection of the task may have carried the request.
    @Test(arguments: [
        (true, false, false, Delivery.notSent), (true, true, true, .notSent), (false, false, false, .notSent),
        (false, true, false, .unknown), (false, false, true, .unknown),
    ])
    func aRequestWithoutReportedBytesNeedsAProof(reports: Bool, accepted: Bool, shares: Bool, delivery: Delivery) throws {
        let exchange = FailedExchange(
            position: ExchangePosition(.over, .nothing), reportsSentBytes: reports, hasAcceptedServer: accepted)
        let failure = SessionFailure(
            request: try Request(.delete, url: "https://a.example/"), exchange: exchange, mayShareConnections: shares, elapsed: .zero)
        for fault in [SessionFault.session(SessionError(number: -1004)), .untrustedServer(TestError())] {
            #expect((failure.error(for: fault) as? TransportError)?.delivery == delivery)
        }
    }

    /// The head alone is a sign, too.
    @Test func aRequestWithAResponseWasSent() throws {
        let exchange = FailedExchange(position: ExchangePosition(.over, .body), head: HTTPResponse(status: .ok))
        #expect(try error(URLError(.cannotConnectToHost), at: exchange).delivery == .sent)
    }

    @Test func aRefusedServerAfterSentBytesProvesNothing() throws {
        let exchange = FailedExchange(position: ExchangePosition(.inProgress, .nothing), hasSentBytes: true)
        let failure = SessionFailure(request: try Request(.post, url: "https://a.example/"), exchange: exchange, elapsed: .zero)
        #expect((failure.error(for: .untrustedServer(TestError())) as? TransportError)?.delivery == .unknown)
    }

    @Test func aFailureBeforeTheStartMayHaveBeenSent() throws {
        let unstarted = FailedExchange(position: ExchangePosition(phase: .queue, delivery: .notSent))
        #expect(try error(URLError(.networkConnectionLost), at: unstarted).delivery == .unknown)
    }

    @Test(arguments: [-4711, -1, 0, 77]) func anUnknownCodeKeepsItsNumber(number: Int) throws {
        let failure = try error(NSError(domain: NSURLErrorDomain, code: number))
        #expect(failure.code == .connectionLost && failure.delivery == .unknown)
        #expect(number == -1 || failure.message.contains("URLError \(number)"), "\(failure.message)")
    }

    @Test func anErrorOfAnotherDomainKeepsItsDomainAndNumber() throws {
        let failure = try error(NSError(domain: "OtherDomain", code: 7))
        #expect(failure.message == "the session reports the error OtherDomain 7" && failure.delivery == .unknown)
    }

    @Test(arguments: [
        (POSIXErrorCode.ECONNREFUSED, TransportError.Code.cannotConnect, Delivery.notSent, "connection refused"),
        (.EHOSTUNREACH, .cannotConnect, .unknown, "host unreachable"),
        (.ENETUNREACH, .notConnected, .unknown, "network unreachable"),
        (.ENETDOWN, .notConnected, .unknown, "network is down"),
        (.ECONNRESET, .connectionLost, .unknown, "connection reset by the server"),
        (.EPIPE, .connectionLost, .unknown, "connection closed by the server"),
        (.ETIMEDOUT, .connectionLost, .unknown, "no response from the host"),
    ])
    func anErrorOfTheSystemDecidesIfTheSessionGivesNoReason(
        system: POSIXErrorCode, code: TransportError.Code, delivery: Delivery, text: String
    ) throws {
        let below = NSError(domain: NSPOSIXErrorDomain, code: Int(system.rawValue))
        let failure = try error(NSError(domain: NSURLErrorDomain, code: -1, userInfo: [NSUnderlyingErrorKey: below]))
        #expect(failure.code == code && failure.delivery == delivery && failure.message == text)
    }

    @Test func anErrorOfTheSystemExplainsALostConnection() throws {
        let below = NSError(domain: NSPOSIXErrorDomain, code: Int(POSIXErrorCode.ECONNRESET.rawValue))
        let failure = try error(NSError(domain: NSURLErrorDomain, code: -1005, userInfo: [NSUnderlyingErrorKey: below]))
        #expect(failure.code == .connectionLost && failure.message == "connection reset by the server")
    }

    @Test(arguments: [
        (1, TransportError.Code.cannotFindHost, Delivery.notSent), (2, .cannotFindHost, .notSent), (306, .proxy, .notSent),
        (307, .proxy, .unknown), (310, .proxy, .notSent), (311, .proxy, .unknown), (301, .invalidResponse, .unknown),
        (302, .connectionLost, .unknown), (303, .invalidResponse, .unknown),
        (-1003, .cannotFindHost, .notSent), (9_999, .connectionLost, .unknown),
    ])
    func anErrorOfCFNetworkDecidesIfTheSessionGivesNoReason(number: Int, code: TransportError.Code, delivery: Delivery) throws {
        let below = NSError(domain: "kCFErrorDomainCFNetwork", code: number)
        let failure = try error(NSError(domain: NSURLErrorDomain, code: -1, userInfo: [NSUnderlyingErrorKey: below]))
        #expect(failure.code == code && failure.delivery == delivery)
        #expect(number != 9_999 || failure.message.contains("CFNetwork 9999"))
    }

    private func error(_ number: Int, network: Int? = nil, system: POSIXErrorCode? = nil) throws -> TransportError {
        let lowest = system.map { NSError(domain: NSPOSIXErrorDomain, code: Int($0.rawValue)) }
        let middle = network.map { number in
            NSError(
                domain: "kCFErrorDomainCFNetwork", code: number, userInfo: lowest.map { [NSUnderlyingErrorKey: $0] } ?? [:])
        }
        return try error(
            NSError(
                domain: NSURLErrorDomain, code: number, userInfo: (middle ?? lowest).map { [NSUnderlyingErrorKey: $0] } ?? [:]))
    }

    /// A number of `URLError`, of CFNetwork and of the system, and the reason.
    static let reasons: [(Int, Int?, POSIXErrorCode?, String)] = [
        (-1, 306, nil, "the connection to the proxy failed"),
        (-1, 306, .ECONNREFUSED, "the connection to the proxy failed: connection refused"),
        (-1, 303, nil, "the response is not valid HTTP"),
        (-1, 300, nil, "the authentication scheme is not supported"),
        (-1, 301, nil, "the server refused the credentials"),
        (-1, 302, nil, ""),
        (-1, 302, .ECONNRESET, "connection reset by the server"),
        (-1, -1003, nil, ""),
        (-1, 9_999, nil, "the session reports the error CFNetwork 9999"),
        (-1, 9_999, .ECONNRESET, "the session reports the error CFNetwork 9999: connection reset by the server"),
        (-1, nil, nil, "the session gives no reason"),
        (77, 9_999, nil, "the session reports the error URLError 77, CFNetwork 9999"),
        (-1004, 310, nil, "the connection to the HTTPS proxy failed"),
        (-1004, -1004, .ECONNREFUSED, "connection refused"),
        (-1009, -1009, .ENETDOWN, "this device is offline: network is down"),
        (-1005, nil, nil, ""),
    ]

    @Test(arguments: reasons) func theReasonNamesTheErrorsBelow(number: Int, network: Int?, system: POSIXErrorCode?, text: String) throws {
        #expect(try error(number, network: network, system: system).message == text)
    }

    @Test(arguments: [("https", true), ("https", false), ("http", true)])
    func anErrorWithoutAReasonMayBeAFailedHandshakeOnLinux(_ scheme: String, _ isLinux: Bool) throws {
        let exchange = FailedExchange(position: ExchangePosition(.inProgress, .nothing))
        let failure = SessionFailure(
            request: try Request(.get, url: "\(scheme)://a.example/"), exchange: exchange, elapsed: .seconds(1),
            abilities: isLinux ? .linux : .apple)
        func message(_ number: Int) throws -> String {
            try #require(failure.error(for: .session(SessionError(number: number))) as? TransportError).message
        }
        let hint = "; on Linux, URLSession also reports this error after a failed TLS handshake, for example for an untrusted certificate"
        #expect(try message(-1) == "the session gives no reason" + (scheme == "https" && isLinux ? hint : ""))
        #expect(try message(-1202) == "the certificate is not trusted")
    }

    @Test func aDeniedNetworkIsAPolicyOfTheSystem() {
        let row = URLErrorTable.row(for: SessionError(number: -1009, isDeniedNetwork: true))
        #expect(row.code == .blockedByPolicy && row.delivery == .notSent)
    }

    @Test func noErrorShowsTheURL() throws {
        let text = "http://a.example/?token=s3cr3t"
        for code in [-1, -1005, -1200] {
            let failure = try error(
                NSError(
                    domain: NSURLErrorDomain, code: code,
                    userInfo: [NSLocalizedDescriptionKey: text, "NSErrorFailingURLStringKey": text]))
            #expect(!failure.description.contains("s3cr3t") && !"\(failure.underlying as Any)".contains("s3cr3t"))
        }
    }

    @Test func everyFaultHasAnError() throws {
        let request = try Request(.get, url: "https://a.example/")
        let exchange = FailedExchange(position: ExchangePosition(.over, .nothing))
        let failure = SessionFailure(request: request, exchange: exchange, elapsed: .seconds(1))
        func made(_ fault: SessionFault) -> TransportError? { failure.error(for: fault) as? TransportError }
        #expect(failure.error(for: .cancelled) is CancellationError && failure.error(for: .later(TestError())) is TestError)
        #expect(failure.error(for: .requestBody(CancellationError())) is CancellationError)
        let body = made(.requestBody(TestError()))
        #expect(body?.code == .requestBody && body?.phase == .send && body?.underlying is TestError && body?.message == "TestError")
        #expect(made(.shutDown)?.code == .shutDown && made(.noResponse)?.code == .invalidResponse)
        #expect(made(.invalidHead)?.code == .invalidResponse && made(.chunkBeforeHead)?.code == .invalidResponse)
        #expect(made(.secondHead)?.code == .unsupported)
        let untrusted = made(.untrustedServer(UntrustedServerError(reason: "it has expired")))
        #expect(untrusted?.code == .tls && untrusted?.phase == .connect && untrusted?.delivery == .notSent)
        #expect(untrusted?.message == "the certificate is not trusted: it has expired" && untrusted?.underlying is UntrustedServerError)
        let short = made(.bodyTooShort(missingBytes: 1))
        #expect(short?.code == .connectionLost && short?.message == "the body ended 1 byte too early" && short?.elapsed == .seconds(1))
    }
}
