public import Testing

/// The cases that a run over `URLSession` leaves out, each with its reason.
///
/// `scripts/test` runs all other cases over `URLSession`, in a process of its own: the conformance suite of transports, and the suites
/// whose tests have a `TestedTransport`. If a case fails in one of fifty runs (`scripts/test --url-session 50`), add the case to a table.
///
/// The reasons in ``tests`` hold on Linux, for swift-corelibs-foundation of Swift 6.3 and its curl. Over Apple's `URLSession`, the suites
/// have not run yet.
public enum NotOverURLSession {
    private static let noMiddleware = "there is no such middleware yet"
    private static let noTrailers = "URLSession has no trailer fields"

    /// The behaviors of the conformance suite (`TransportBehavior`), by name.
    public static let behaviors = ["ETag": noMiddleware, "TrailerWrite": noTrailers].merging(ofThisPlatform) { $1 }
        .merging(withoutCookies) { $1 }

    #if Auth
    private static let withoutCookies: [String: String] = [:]
    #else
    private static let withoutCookies = ["BasicCookieSetAndUse": "the package's trait Auth is off"]
    #endif

    #if canImport(FoundationNetworking)
    private static let ofThisPlatform = [
        "TrailerRead": "URLSession ends the process if a response has trailer fields",
        "BadHTTPCase": "curl accepts a protocol name in lower case",
        "ConflictingContentLength": "curl accepts two different lengths, and uses the last",
        "EchoInterleave": "reading a stream blocks the queue that receives the response",
        "SpeakInterleave": "reading a stream blocks the queue that receives the response",
        "LostPostIsNotRepeated": "curl repeats a request whose kept connection was lost, and URLSession waits forever for the body",
    ]
    #else
    private static let ofThisPlatform = ["TrailerRead": noTrailers, "Informational": "URLSession drops informational responses"]
    #endif

    /// The cases of the cookie suite that do not pass over `URLSession` (`CookieSocketTests`), by name.
    public static let cookieVectors = [
        "0017": joinedByTheServer, "0018": joinedByTheServer, "COMMA0007": joinedByTheServer,
        "0023": noName, "0027": noName, "MOZILLA0012": noName, "MOZILLA0015": noName, "MOZILLA0016": noName, "MOZILLA0017": noName,
        "NAME0021": "URLSession joins two fields, and the name of the second cookie has a character that a name must not have",
        "NAME0033": noName,
    ].merging(cookiesOfThisPlatform) { $1 }

    private static let joinedByTheServer =
        "URLSession joins fields with a comma. The value has such a comma before a name, and looks like two fields"
    private static let noName = "URLSession joins two fields, and the second cookie has no name that shows where the cookie begins"

    #if canImport(FoundationNetworking)
    private static let cookiesOfThisPlatform = ["0026": blank, "0028": blank, "CHROMIUM0018": blank]
    private static let blank = "URLSession fails if the value of a field is only spaces or tabs"
    #else
    private static let cookiesOfThisPlatform = ["0026": noName, "0028": noName]
    #endif

    private static let noTLS = "URLSession has no settings of TLS, and reports a failed handshake as an unknown error"
    private static let noBackPressure = "URLSession receives a body that nobody reads"
    private static let manyCancellations =
        "URLSession may wait forever, or end the process, if many tasks are cancelled (swift-corelibs-foundation #5412, #5469)"
    private static let noConnectEvents = "URLSession reports no step before the response, so the stack can't name the phase"
    private static let noWords = "URLSession gives no reason in words (TransportFaultTests compares the failures)"
    private static let joinedFields = "URLSession keeps neither the order of the fields nor their number"
    private static let chunkedStreams = "URLSession sends every stream in chunks"

    /// The suites and tests with a `TestedTransport`, by the names of the types and functions.
    public static let tests = [
        // Suites.
        "FaultMatrixTests": "the table has the failures of SwiftNIO, and URLSession may end the process if a head ends early",
        "LoadTests": manyCancellations,
        "RecordingTests": noTLS,
        "TransportHTTPVersionTests": noTLS,
        "TransportTLSTests": noTLS,
        "TransportTortureTests": manyCancellations,
        // BackPressureTests.
        "aReaderThatDoesNotReadMakesTheServerWait": noBackPressure,
        "aResponseOfHTTP2ThatIsNotReadIsNotReceived": noTLS,
        // DownloadTests, BodyFramingTests.
        "aBodyThatIsDeclaredLargerThanTheLimitIsNotRead": noBackPressure,
        "aBodyIsWholeHoweverItIsFramed": "URLSession ends the process if a response has trailer fields",
        "anIPv6AddressIsReached": "URLSession refuses the URL of an IPv6 address",
        // EventTests.
        "aCancellationAtAnyMomentIsReported": manyCancellations,
        "aCancelledExchangeIsReported": "URLSession does not report the end of a request without a body",
        // FieldTests.
        "aBareRequestHasOnlyAHost": "URLSession adds fields of its own",
        "aHostOfTheCallerIsSent": "URLSession sets the field Host itself",
        "fieldsOfHTTP2AreReadAlike": noTLS,
        "invalidUTF8InAFieldDoesNotBreakAResponse": "URLSession refuses a field that is not UTF-8",
        "receivedFieldsAreReadInOrderWithRepetitions": joinedFields,
        "sentFieldsArriveInOrderWithRepetitions": joinedFields,
        // RequestCheckTests.
        "moreThanOneHostIsRefused": "the transport refuses a field Host with the code unsupported",
        "theAsteriskIsForOPTIONSOnly": "the transport refuses the target '*'",
        // TransportDeadlineTests.
        "aHandshakeWithoutAReplyTimesOut": noConnectEvents,
        "aLargeBodyThatIsNotReadEndsAtTheDeadline": noBackPressure,
        "aQueuedRequestTimesOut": noConnectEvents,
        "aSilentSourceTimesOut": noConnectEvents,
        "anUnacceptedConnectionTimesOut": noConnectEvents,
        "anUploadThatIsNotTakenTimesOut": noConnectEvents,
        "connectingHasItsOwnLimit": noConnectEvents,
        // TransportFailureTests.
        "aConnectionThatEndsBeforeTheHeadIsLost": "curl reports an empty response, which is an invalid response",
        "aConnectionThatEndsWithinTheHeadIsLost": "URLSession may end the process if a head ends early",
        "aRefusedPortFailsImmediately": noWords,
        "anUnknownHostIsNotFound": noWords,
        "invalidHTTPIsRefused": "curl accepts two different lengths",
        // TransportPoolTests.
        "aBodyThatIsNotReadToItsEndLeavesNothing": noBackPressure,
        "aConnectionThatIsNotUsedIsClosedInTime": "URLSession has no setting for unused connections",
        "aConnectionThatTheServerClosedIsNotUsedAgain": "curl notices the end of an unused connection only before its next use",
        "anAbandonedLargeResponseFreesItsConnection": noBackPressure,
        // TransportUploadTests.
        "aFileArrivesWholeOrInPart": chunkedStreams,
        "aStreamArrivesWholeWithAndWithoutALength": chunkedStreams,
        "nginxStoresAnUpload": noTLS,
    ]
}

#if SWIFT_NIO && MockServer
/// Skips the tests of ``NotOverURLSession/tests`` in a run over `URLSession`.
///
/// A suite whose tests have a ``TestedTransport`` has this trait as its first trait.
public struct TestedOverURLSession: SuiteTrait, TestTrait {
    public init() {}

    public var isRecursive: Bool { true }

    public func prepare(for test: Test) async throws {
        let name = String(test.name.prefix { $0 != "(" })
        guard TestedTransport.isOverURLSession, let reason = NotOverURLSession.tests[name] else { return }
        // `scripts/check-skips` excuses skips whose reason begins with these words.
        try await ConditionTrait.disabled(Comment(rawValue: "not over URLSession: \(reason)")).prepare(for: test)
    }
}
#endif
