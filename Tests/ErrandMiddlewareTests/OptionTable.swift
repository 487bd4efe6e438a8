import Errand
import ErrandTesting
import TestSupport
import Testing

@testable import ErrandCore
@testable import ErrandMiddleware

#if Telemetry
import Logging
#endif

/// An option that is set in one way, and the expected properties of its key. Every key of Sources has a row: see ``OptionTableTests``.
struct OptionRow: Sendable, CustomTestStringConvertible {
    enum Identity: Sendable {
        case ignored(because: String)
        case unique
        case value
    }

    /// The name of the key.
    let key: String
    let identity: Identity
    var crossesOrigins = true
    var requiredMiddleware: MiddlewarePlace?
    var requiredCapabilities: TransportCapabilities
    /// Whether the option changes the sent request, and `coalesce` compares the option itself.
    var isComparedByItself = false
    let set: @Sendable (inout RequestOptions) -> Void

    init(
        _ key: String, _ identity: Identity, crossesOrigins: Bool = true, requiredMiddleware: MiddlewarePlace? = nil,
        requiredCapabilities: TransportCapabilities = [], isComparedByItself: Bool = false,
        _ set: @escaping @Sendable (inout RequestOptions) -> Void
    ) {
        (self.key, self.identity, self.crossesOrigins, self.requiredMiddleware) = (key, identity, crossesOrigins, requiredMiddleware)
        (self.requiredCapabilities, self.isComparedByItself, self.set) = (requiredCapabilities, isComparedByItself, set)
    }

    var testDescription: String { key }

    /// A request with only this option.
    func request() throws -> Request {
        var request = try Request(.get, url: "https://a.example/x")
        set(&request.options)
        return request
    }
}

extension OptionRow {

    private static let outside = Identity.ignored(because: "it acts outside coalescing")
    private static let observer = Identity.ignored(because: "it changes nothing of the exchange")
    private static let note = Identity.ignored(because: "the library's own note, for layers outside coalescing or for observers")

    static let core: [OptionRow] = [
        OptionRow("SensitivityKey", .value) { $0.sensitivity = Sensitivity(fields: [.userAgent]) },
        OptionRow("TagsKey", observer) { $0.tags = ["tenant": "blue"] },
        OptionRow("UpgradeKey", .unique, requiredCapabilities: .upgrades) { $0.upgrade = UpgradeRequest(protocolName: "own") },
        OptionRow("NetworkAccessKey", .value, requiredCapabilities: .networkAccess) { $0.networkAccess = .expensive },
        OptionRow("WaitsForConnectivityKey", .value, requiredCapabilities: .waitsForConnectivity) { $0.waitsForConnectivity = true },
        OptionRow("OnServerTrustKey", .unique, crossesOrigins: false, requiredCapabilities: .serverTrust) {
            $0.onServerTrust = { _ in .systemVerdict }
        },
        OptionRow("SiteContextKey", .value) { $0.siteContext = .crossSite },
        OptionRow("HTTPSChangeKey", .ignored(because: "the URLs are compared")) { $0.httpsChange = HTTPSChange() },
        OptionRow("OriginOfPageKey", note) { $0.originOfPage = Origin("https://a.example") },
        OptionRow("RequestNumberKey", note) { $0.requestNumber = 7 },
        OptionRow("ResendCountKey", note) { $0.resendCount = 1 },
        OptionRow("NetworkWaitKey", note) { $0.networkWait = NetworkWait(elapsed: .seconds(1), resendCount: 0) },
        OptionRow("HasLeftOriginKey", .value) { $0.hasLeftOrigin = true },
        OptionRow("CredentialIdentityKey", .value, crossesOrigins: false) {
            $0.credentialIdentity = CredentialIdentity(scheme: "own", "joe")
        },
        OptionRow("CookieIdentityKey", .value, crossesOrigins: false) {
            $0.cookieIdentity = CredentialIdentity(scheme: "cookies", "1", "0")
        },
        OptionRow("PriorityKey", .ignored(because: "a more urgent caller sends its own request"), isComparedByItself: true) {
            $0.priority = .high
        },
        OptionRow("ValidateStatusOptionKey", outside, requiredMiddleware: .validateStatus) {
            $0.validateStatus = .use(.successfulOrRedirection)
        },
        OptionRow("TimeoutOptionKey", outside) { $0.timeout = .use(.seconds(60)) },
        OptionRow("AttemptTimeoutKey", .value) { $0.attemptTimeout = .use(.seconds(60)) },
        OptionRow("PhaseTimeoutsKey", .value) { $0.phaseTimeouts = .use(PhaseTimeouts(firstByte: .seconds(60))) },
        OptionRow("PhaseTimeoutsKey", .value) { $0.phaseTimeouts = .off },
    ]

    static let middleware: [OptionRow] = [
        OptionRow("CircuitBreakerKey", .value) { $0.circuitBreaker = .off },
        OptionRow("CoalesceOptionKey", .unique) { $0.coalesce = .off },
        OptionRow("CacheOptionKey", .value, requiredMiddleware: .cache) { $0.cache = .use(.reload) },
        OptionRow("CacheOptionKey", .value) { $0.cache = .off },
        OptionRow("ConcurrencyLimitKey", .value) { $0.concurrencyLimit = .off },
        OptionRow("DelayOptionKey", .value, requiredMiddleware: .delay) { $0.delay = .use(.seconds(3)) },
        OptionRow("DelayOptionKey", .value) { $0.delay = .off },
        OptionRow("EventsKey", outside, requiredMiddleware: .events) { $0.events = .use(StubEventSink()) },
        OptionRow("DecompressOptionKey", .value, requiredMiddleware: .decompress) {
            $0.decompress = .use(DecompressionLimits(limitBytes: 9))
        },
        OptionRow("DecompressOptionKey", .value) { $0.decompress = .off },
        OptionRow("CompressRequestsOptionKey", .value, requiredMiddleware: .compressRequests) { $0.compressRequests = .gzip },
        OptionRow("CompressRequestsOptionKey", .value) { $0.compressRequests = .off },
        OptionRow("FallbackOptionKey", .value) { $0.fallback = .off },
        OptionRow("FieldsOfServerKey", .ignored(because: "the fields are compared"), crossesOrigins: false) {
            $0.fieldsOfServer = [.accept]
        },
        OptionRow("FieldsWithoutServerKey", .ignored(because: "the fields are compared"), crossesOrigins: false) {
            $0.fieldsWithoutServer = [.accept]
        },
        OptionRow("HedgeOptionKey", .value, requiredMiddleware: .hedge) { $0.hedge = .use(HedgePolicy(.fixed(.seconds(9)))) },
        OptionRow("HedgeOptionKey", .value) { $0.hedge = .off },
        OptionRow("IdempotencyKeyOption", .value, requiredMiddleware: .retry) { $0.idempotencyKey = .attached },
        OptionRow("UserAgentOptionKey", outside, requiredMiddleware: .userAgent) { $0.userAgent = .use("Shop/2.1") },
        OptionRow("NumberOptionKey", outside) { $0.number = .off },
        OptionRow("ProfileOptionKey", outside, requiredMiddleware: .profile) { $0.profile = .use(CallProfile()) },
        OptionRow("RateLimitKey", .value) { $0.rateLimit = .off },
        OptionRow("RedirectOptionKey", .value, requiredMiddleware: .redirect) { $0.redirect = .use(RedirectPolicy(maxHops: 0)) },
        OptionRow("RedirectOptionKey", .value) { $0.redirect = .off },
        OptionRow("RetryOptionKey", outside, requiredMiddleware: .retry) { $0.retry = .use(RetryPolicy(maxAttempts: 9)) },
        OptionRow("RetryOptionKey", .value) { $0.retry = .off },
        OptionRow("ServerOptionKey", .value) { $0.server = .off },
        OptionRow("SharedRetryOptionKey", note) { $0.sharedRetry = SharedRetry() },
        OptionRow("WaitForNetworkOptionKey", .value, requiredMiddleware: .waitForNetwork) { $0.waitForNetwork = .use(.seconds(3)) },
        OptionRow("WaitForNetworkOptionKey", .value) { $0.waitForNetwork = .off },
        OptionRow("TransformOptionKey", .value) { $0.transform = .off },
        OptionRow("ValidateStatusOptionKey", .value) { $0.validateStatus = .off },
        OptionRow("ValidationKey", .value) { $0.validate = .off },
        OptionRow("ValidatorsKey", outside, requiredMiddleware: .validate) {
            $0.validators = [ResponseValidator("own") { _, _, _ in .next }]
        },
    ]

    static let others: [OptionRow] = [
        OptionRow("RecordingOptionKey", .value) { $0.record = .off },
        OptionRow("RawResponsesKey", .value) { $0.acceptsRawResponses = true },
    ]

    #if Auth
    private static let jar = CookieJar()

    static let auth: [OptionRow] = [
        OptionRow("CookiesOptionKey", .value, requiredMiddleware: .cookies) { $0.cookies = .use(jar) },
        OptionRow("CookiesOptionKey", .value) { $0.cookies = .off },
        OptionRow("AuthenticateOptionKey", .unique, crossesOrigins: false, requiredMiddleware: .authenticate) {
            $0.authenticate = .use(.basic(user: "joe", password: "x"))
        },
        OptionRow("AuthenticateOptionKey", .value, crossesOrigins: false) { $0.authenticate = .off },
        OptionRow("OnChallengeKey", .unique, crossesOrigins: false, requiredMiddleware: .authenticate) {
            $0.onChallenge = { _ in .useScheme }
        },
        OptionRow("SignOptionKey", .unique, crossesOrigins: false, requiredMiddleware: .sign) {
            $0.sign = .use(.awsV4(AWSCredentials(accessKeyID: "a", secretAccessKey: "b"), region: "r", service: "s"))
        },
        OptionRow("SignOptionKey", .value, crossesOrigins: false) { $0.sign = .off },
        OptionRow("HSTSOptionKey", outside, requiredMiddleware: .hsts) { $0.hsts = .use(HSTSList()) },
        OptionRow("HSTSOptionKey", .value) { $0.hsts = .off },
    ]
    #else
    static let auth: [OptionRow] = []
    #endif

    #if Telemetry
    static let telemetry: [OptionRow] = [
        OptionRow("LogOptionKey", outside, requiredMiddleware: .log) { $0.log = .use(.trace) },
        OptionRow("LogDetailOptionKey", outside, requiredMiddleware: .log) { $0.logDetail = .use(.headers) },
        OptionRow("MetricsOptionKey", observer) { $0.metrics = .off },
        OptionRow("TraceOptionKey", .value, requiredMiddleware: .trace) { $0.trace = .use(TraceOptions(baggage: .nowhere)) },
        OptionRow("TraceOptionKey", .value) { $0.trace = .off },
    ]
    #else
    static let telemetry: [OptionRow] = []
    #endif

    static let all = core + middleware + others + auth + telemetry
}
