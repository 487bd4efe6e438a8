/// The name of a place in the order of middleware.
///
/// The canonical order, outermost first: server, number, call span, log, events and profile, timeout, validateStatus, fallback, retry,
/// redirect, authenticate, cookies, decompress, cache, coalesce, hedge, circuitBreaker, rateLimit, concurrencyLimit, metrics and trace,
/// attempt timeout, transport.
///
/// The names of the library's own places are here, because modules name each other's. What must stand on which side of what is said by each
/// middleware: ``HTTPMiddleware/neighbors``. A middleware of your own has a place by a name of your own:
///
/// ```swift
/// extension MiddlewarePlace {
///     static let signature = MiddlewarePlace("com.example.signature")
/// }
/// ```
public struct MiddlewarePlace: Sendable, Hashable, CustomStringConvertible {
    /// The name.
    public let description: String

    /// A place of your own.
    ///
    /// - Parameter name: for the stack's description, not empty. Two places of the same name are the same place, so use reverse-DNS names:
    ///   `com.example.signature`. Names without a period are reserved for the library.
    public init(_ name: String) {
        precondition(!name.isEmpty, "name must not be empty")
        description = name
    }

    public static let server = MiddlewarePlace("server")
    public static let number = MiddlewarePlace("number")
    public static let events = MiddlewarePlace("events")
    public static let profile = MiddlewarePlace("profile")
    public static let log = MiddlewarePlace("log")
    public static let timeout = MiddlewarePlace("timeout")
    public static let validateStatus = MiddlewarePlace("validateStatus")
    public static let fallback = MiddlewarePlace("fallback")
    public static let retry = MiddlewarePlace("retry")
    public static let redirect = MiddlewarePlace("redirect")
    public static let authenticate = MiddlewarePlace("authenticate")
    public static let cookies = MiddlewarePlace("cookies")
    public static let decompress = MiddlewarePlace("decompress")
    public static let cache = MiddlewarePlace("cache")
    public static let coalesce = MiddlewarePlace("coalesce")
    public static let hedge = MiddlewarePlace("hedge")
    public static let circuitBreaker = MiddlewarePlace("circuitBreaker")
    public static let rateLimit = MiddlewarePlace("rateLimit")
    public static let concurrencyLimit = MiddlewarePlace("concurrencyLimit")
    public static let metrics = MiddlewarePlace("metrics")
    public static let trace = MiddlewarePlace("trace")
    public static let traceCall = MiddlewarePlace("traceCall")
    public static let validate = MiddlewarePlace("validate")
    public static let delay = MiddlewarePlace("delay")
}
