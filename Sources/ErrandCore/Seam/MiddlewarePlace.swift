/// The name of a place in the order of middleware.
///
/// The library's own places and their order (``canonicalOrder``) are declared here, because modules refer to each other's places.
/// Each middleware declares its own rules: ``HTTPMiddleware/neighbors``. Give your own middleware a place with its own name:
///
/// ```swift
/// extension MiddlewarePlace {
///     static let signature = MiddlewarePlace("com.example.signature")
/// }
/// ```
public struct MiddlewarePlace: Sendable, Hashable, CustomStringConvertible {
    /// The name.
    public let description: String

    /// Creates your own place.
    ///
    /// - Parameter name: the name for the stack's description, not empty. Two places with the same name are the same place, so
    ///   use reverse-DNS names: `com.example.signature`. Names without a period are reserved for the library.
    public init(_ name: String) {
        precondition(!name.isEmpty, "name must not be empty")
        description = name
    }

    /// The canonical order of middleware, outermost first. A stack that sorts its layers keeps them in this order: see
    /// ``HTTPStack/sorted(around:defaults:)``.
    ///
    /// No two middleware of the library have the same place. ``unplaced`` is the position of a layer without its own rules.
    /// At this position, a layer sees each call once, with the whole URL and within the deadline. The layer sees every response, with any
    /// status.
    public static let canonicalOrder: [MiddlewarePlace] = [
        .server, .userAgent, .number, .traceCall, .log, .events, .profile, .timeout, .validateStatus, .unplaced, .fallback, .validate,
        .retry,
        .redirect, .hsts, .compressRequests, .authenticate, .cookies, .record, .decompress, .cache, .coalesce, .hedge, .circuitBreaker,
        .rateLimit, .waitForNetwork, .concurrencyLimit, .delay, .metrics, .trace, .phaseTimeouts, .sign,
    ]

    /// No place. If a middleware has no place, only its ``HTTPMiddleware/neighbors`` determine its position. An option whose
    /// ``OptionKey/requiredMiddleware`` is this value requires no middleware.
    public static let unplaced = MiddlewarePlace("unplaced")
    /// The middleware that adds a server's base URL and default fields.
    public static let server = MiddlewarePlace("server")
    /// The middleware that adds the field `User-Agent`.
    public static let userAgent = MiddlewarePlace("userAgent")
    /// The middleware that numbers requests.
    public static let number = MiddlewarePlace("number")
    /// The middleware that reports events.
    public static let events = MiddlewarePlace("events")
    /// The middleware that measures layers and phases.
    public static let profile = MiddlewarePlace("profile")
    /// The middleware that logs calls.
    public static let log = MiddlewarePlace("log")
    /// The middleware that sets the deadline of a call.
    public static let timeout = MiddlewarePlace("timeout")
    /// The middleware that throws an error for an unwanted status.
    public static let validateStatus = MiddlewarePlace("validateStatus")
    /// The middleware that replaces a failure with another response.
    public static let fallback = MiddlewarePlace("fallback")
    /// The middleware that sends a failed request again.
    public static let retry = MiddlewarePlace("retry")
    /// The middleware that follows redirects.
    public static let redirect = MiddlewarePlace("redirect")
    /// The middleware that adds credentials.
    public static let authenticate = MiddlewarePlace("authenticate")
    /// The innermost middleware, which signs each attempt.
    public static let sign = MiddlewarePlace("sign")
    /// The middleware that sends and stores cookies.
    public static let cookies = MiddlewarePlace("cookies")
    /// The middleware that decodes compressed bodies.
    public static let decompress = MiddlewarePlace("decompress")
    /// The middleware that compresses the bodies of requests.
    public static let compressRequests = MiddlewarePlace("compressRequests")
    /// The middleware that stores responses and returns them.
    public static let cache = MiddlewarePlace("cache")
    /// The middleware that shares one exchange among equal requests.
    public static let coalesce = MiddlewarePlace("coalesce")
    /// The middleware that sends a second copy of a slow request.
    public static let hedge = MiddlewarePlace("hedge")
    /// The middleware that fails requests immediately while their origin is failing.
    public static let circuitBreaker = MiddlewarePlace("circuitBreaker")
    /// The middleware that limits the request rate.
    public static let rateLimit = MiddlewarePlace("rateLimit")
    /// The middleware that limits the number of concurrent exchanges.
    public static let concurrencyLimit = MiddlewarePlace("concurrencyLimit")
    /// The middleware that records metrics.
    public static let metrics = MiddlewarePlace("metrics")
    /// The middleware that traces each attempt.
    public static let trace = MiddlewarePlace("trace")
    /// The middleware that traces the whole call.
    public static let traceCall = MiddlewarePlace("traceCall")
    /// The middleware that passes responses to validators.
    public static let validate = MiddlewarePlace("validate")
    /// The middleware that delays requests.
    public static let delay = MiddlewarePlace("delay")
    /// The middleware that limits the phases of an exchange, and each attempt.
    public static let phaseTimeouts = MiddlewarePlace("phaseTimeouts")
    /// The middleware that records exchanges, and replays them.
    public static let record = MiddlewarePlace("record")
    /// The middleware that sends requests by `https` to hosts that demand `https`.
    public static let hsts = MiddlewarePlace("hsts")
    /// The middleware that waits until a network is available.
    public static let waitForNetwork = MiddlewarePlace("waitForNetwork")
}
