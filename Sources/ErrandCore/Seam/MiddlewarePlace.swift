/// Where a built-in middleware belongs. The canonical order, outermost first: server, number, call span, log, events and profile, timeout,
/// validateStatus, fallback, retry, redirect, authenticate, cookies, decompress, cache, coalesce, hedge, circuitBreaker, rateLimit,
/// limitConcurrency, metrics and trace, attempt timeout, transport.
public struct MiddlewarePlace: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    public static let server = MiddlewarePlace(description: "server")
    public static let number = MiddlewarePlace(description: "number")
    public static let events = MiddlewarePlace(description: "events")
    public static let profile = MiddlewarePlace(description: "profile")
    public static let log = MiddlewarePlace(description: "log")
    public static let timeout = MiddlewarePlace(description: "timeout")
    public static let validateStatus = MiddlewarePlace(description: "validateStatus")
    public static let fallback = MiddlewarePlace(description: "fallback")
    public static let retry = MiddlewarePlace(description: "retry")
    public static let redirect = MiddlewarePlace(description: "redirect")
    public static let authenticate = MiddlewarePlace(description: "authenticate")
    public static let cookies = MiddlewarePlace(description: "cookies")
    public static let decompress = MiddlewarePlace(description: "decompress")
    public static let cache = MiddlewarePlace(description: "cache")
    public static let coalesce = MiddlewarePlace(description: "coalesce")
    public static let hedge = MiddlewarePlace(description: "hedge")
    public static let circuitBreaker = MiddlewarePlace(description: "circuitBreaker")
    public static let rateLimit = MiddlewarePlace(description: "rateLimit")
    public static let limitConcurrency = MiddlewarePlace(description: "limitConcurrency")
    public static let metrics = MiddlewarePlace(description: "metrics")
    public static let trace = MiddlewarePlace(description: "trace")
    public static let traceCall = MiddlewarePlace(description: "traceCall")
    public static let validate = MiddlewarePlace(description: "validate")
    public static let delay = MiddlewarePlace(description: "delay")

    /// Pairs in which the first must be outside the second, and what goes wrong otherwise. Orders that are merely unusual (a
    /// timeout inside a retry bounds each attempt) are not here.
    static let mustEnclose: [(outer: MiddlewarePlace, inner: MiddlewarePlace, why: String)] = [
        (.number, .events, "the events would not have the number"),
        (.events, .retry, "each attempt would be a call of its own"),
        (.events, .redirect, "each hop would be a call of its own"),
        (.profile, .redirect, "each hop would have a profile of its own"),
        (.profile, .retry, "each attempt would have a profile of its own"),
        (.validateStatus, .retry, "retry would see an error where it looks for a status"),
        (.validateStatus, .authenticate, "authenticate would never see a 401"),
        (.validateStatus, .redirect, "a redirect would be refused before it is followed"),
        (.validateStatus, .cache, "the cache would never see a 304"),
        (.fallback, .retry, "retry would never see what failed"),
        (.retry, .authenticate, "a retried request would carry an expired token"),
        (.redirect, .cache, "a redirected response would be stored under the first URL"),
        (.redirect, .cookies, "cookies that a redirect sets would be lost"),
        (.redirect, .authenticate, "credentials would not be decided anew for the next origin"),
        (.decompress, .cache, "the cache would store what was not on the wire"),
        (.cache, .coalesce, "a hit would wait for a shared exchange"),
        (.timeout, .coalesce, "the callers would have the timeout of one of them"),
        (.validateStatus, .coalesce, "the callers would have the rule of one of them"),
        (.validate, .coalesce, "the callers would have the validators of one of them"),
        (.retry, .coalesce, "the callers would have the retries of one of them"),
        (.redirect, .coalesce, "the callers would have the redirects of one of them"),
        (.authenticate, .coalesce, "the credentials would not be compared"),
        (.cookies, .coalesce, "the cookies would not be compared"),
        (.coalesce, .hedge, "the two attempts would be taken for one"),
        (.retry, .hedge, "one race would last through all retries"),
        (.hedge, .circuitBreaker, "the breaker would not see the attempts"),
        (.hedge, .rateLimit, "two attempts would count as one"),
        (.hedge, .limitConcurrency, "two attempts would share one slot"),
        (.retry, .circuitBreaker, "the breaker would count a call once, not its attempts"),
        (.retry, .rateLimit, "the attempts behind the first would go past the limit"),
        (.retry, .limitConcurrency, "a slot would be held during the backoff"),
        (.cache, .rateLimit, "a hit would use up the limit"),
        (.rateLimit, .limitConcurrency, "a slot would be held while its request waits for the limit"),
        (.server, .authenticate, "authenticate would not know the origin"),
        (.server, .cache, "the cache would not know the URL"),
        (.server, .coalesce, "two servers' paths would be taken for one"),
        (.server, .redirect, "a relative Location could not be resolved"),
        (.server, .rateLimit, "the limiter would not know the origin"),
        (.server, .limitConcurrency, "the limiter would not know the origin"),
        (.server, .metrics, "the metrics would not know the server"),
        (.server, .trace, "the span would not know the server"),
        (.traceCall, .retry, "each attempt would pass for a call"),
        (.traceCall, .trace, "the call's span would be within that of an attempt"),
        (.retry, .metrics, "what is sent again would be counted once"),
        (.redirect, .metrics, "what is sent again would be counted once"),
        (.authenticate, .metrics, "what is sent again would be counted once"),
        (.retry, .trace, "what is sent again would have one span for all"),
        (.redirect, .trace, "what is sent again would have one span for all"),
        (.authenticate, .trace, "what is sent again would have one span for all"),
        (.cache, .metrics, "a hit would be counted as a request"),
        (.cache, .trace, "a hit would pass for a request"),
        (.coalesce, .metrics, "a shared exchange would be counted several times"),
        (.coalesce, .trace, "a shared exchange would have several spans"),
    ]
}
