#if Telemetry
public import ErrandCore
public import Logging

/// Logs the method, the URL, the status and the time of each call, or the failure of the call. If you set the detail or `curl`, the record
/// also has header fields, bodies, and the `curl` command of a failed request. Secrets are replaced everywhere.
///
/// ```swift
/// let client = APIClient(.default.retry().log(to: Logger(label: "app"), curl: true).number().server("https://api.example"))
/// ```
///
/// ```
/// #1 GET https://api.example/notes/7: 200 in 21 ms
/// #2 GET https://api.example/notes/8: 500 in 5 ms
///   curl -X GET --path-as-is --globoff 'https://api.example/notes/8' -H 'User-Agent:' -H 'Accept:'
/// ```
///
/// By default, there is one record for each call (inside `retry`: for each attempt). The message is for people, and the metadata is for
/// search: see ``LogStyle``, ``LogDetail`` and ``LogMetadata``.
///
/// **Levels:** a response and a cancelled call are logged at `info` by default. A failure is logged at `warning`, or at the log's own level
/// if this level is higher than `warning`. A status is a failure if a `validateStatus` inside or outside the log refuses the status.
/// Without `validateStatus`, a status of at least 400 is a failure.
///
/// **Warnings:** the problems of layers that have not failed the call (``/ErrandCore/ResponseMetadata/warnings``), such as a store of the
/// cache that can't be written, are logged at `warning`, once for each problem.
///
/// **Typed calls** (`APIClient`): the record is written at the end of the call, after the value has been decoded or decoding has
/// failed. The record has the duration of the whole call. If the client has an envelope, the record of a failure has the back end's
/// code, message and request ID, for any status.
///
/// **Place:** outside all layers except `server` and `number`. At this place, the log sees each call once. Inside `retry`, the log sees
/// each attempt instead of the call. Both places are allowed.
///
/// **Not logged:** a call that fails before the log sees its request. Only the caller gets the error of this call. Therefore, log the error
/// in the code of the caller. Examples of errors that are not logged:
/// - a body that can't be encoded (`RequestEncodingError`) or read (``/ErrandCore/FileReadError``)
/// - an invalid path or base URL (``/ErrandCore/InvalidURLError``)
/// - an option without its middleware (``/ErrandCore/UnsupportedOptionError``)
///
/// **Attempts:** after several attempts, the record has the number of attempts: `200 in 144 ms after 3 attempts`. The record of a failure
/// lists the earlier attempts.
///
/// **Bodies** (``LogDetail/body(limitBytes:)``): for a request, the bytes in memory are logged. Files and streams are named, but never
/// read. For a response, the bytes that the caller has read are logged. A body that the caller does not read is logged as unread. The
/// log itself reads nothing and delays nothing.
///
/// - JSON, forms and event streams are shown without their secrets.
/// - For a multipart body, the names of its parts are shown.
/// - For other text, such as HTML, XML or plain text, only the length and the type are shown: `body of 1204 bytes, text/html`.
///   The log can't find secrets in these types of text.
/// - For bytes that are not text, the word `binary` is shown.
///
/// **Refused bodies:** if a typed call fails because of its status, the record has the first 200 bytes of the body on one line. The
/// details `basic` and `headers` show these bytes. If the envelope describes an error of the back end, the record has the text of
/// that error instead.
///
/// ```
/// #2 GET https://api.example/notes/8: 404 in 5 ms
///   < body: {"error":"no such note","token":"REDACTED"}
/// ```
///
/// **Secrets** are recognized by the names of header fields, query items, members of JSON, and form items. See ``/ErrandCore/Sensitivity``.
/// If an inner layer declares a name as sensitive, the log hides the values of this name in the URL, the fields and the bodies. With
/// ``LogStyle/oneLine``, the record of the request is written before the inner layers run. For this style, declare the names outside the
/// log: `wrapped(by: middleware, outside: .log)`. Control characters in requests and responses are escaped. No text from a server begins a
/// line of the log.
///
/// **Metadata** (``LogMetadata/all``):
/// - `http.request.method`, `http.response.status_code`, `http.response.body.size`
/// - `url.full` (redacted), `url.template`
/// - `http.request.resend_count` for a request that was sent again
/// - `errand.cache` for a stack with a cache: what the cache did, and why a response is not stored (``/ErrandCore/CacheStatus``)
/// - `errand.request.id`, `errand.request.number`, `errand.elapsed`
/// - `error.type`, as in spans and metrics: see ``TraceMiddleware``
/// - `errand.tag.NAME` for each of `request.options.tags`
///
/// **Per request:** set `request.options.log` to `.off` or `.use(.debug)`, and `request.options.logDetail` to a value such as
/// `.use(.body())`.
public struct LogMiddleware: HTTPMiddleware {
    private let logger: Logger
    private let level: Logger.Level
    private let detail: LogDetail
    private let style: LogStyle
    private let metadata: LogMetadata
    private let carriesCURL: Bool
    private let clock: any Clock<Duration>

    /// Creates a middleware that writes to `logger`.
    ///
    /// - Parameters:
    ///   - level: the level of requests and responses. Default: `info`.
    ///   - detail: the details that are written. Default: ``LogDetail/basic``, which shows neither fields nor bodies.
    ///   - style: the layout of the records. Default: ``LogStyle/pretty``, one record for each call.
    ///   - metadata: the metadata of a record, beside its message. Default: ``LogMetadata/ids``.
    ///   - curl: whether the record of a failure ends with the request as a `curl` command, without secrets. Default: `false`.
    ///   - clock: the clock that measures the elapsed time.
    /// - Precondition: the limit of `detail` is at least 0.
    public init(
        _ logger: Logger, level: Logger.Level = .info, detail: LogDetail = .basic, style: LogStyle = .pretty,
        metadata: LogMetadata = .ids, curl: Bool = false, clock: any Clock<Duration> = ContinuousClock()
    ) {
        if case .body(let limitBytes) = detail {
            precondition(limitBytes >= 0, "limitBytes must be at least 0 (is \(limitBytes))")
        }
        self.logger = logger
        self.level = level
        self.detail = detail
        self.style = style
        self.metadata = metadata
        (carriesCURL, self.clock) = (curl, clock)
    }

    /// ``/ErrandCore/MiddlewarePlace/log``.
    public var place: MiddlewarePlace { .log }
    /// False, because a prepared request does not pass this middleware.
    public var appliesToPreparedRequests: Bool { false }
    /// The log is inside `server` and `number`, so that a record has the URL and the number that these layers set.
    public var neighbors: [MiddlewareNeighbor] {
        [
            .inside(.server, because: "the records would not contain the server"),
            .inside(.number, because: "the records would not have the number of the call"),
        ]
    }

    /// The level and the detail: `log(info, headers)`.
    public var label: String { detail == .basic ? "log(\(level))" : "log(\(level), \(detail))" }

    /// Logs the exchange and returns its response unchanged.
    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard let level = request.options.log.resolved(level), let detail = request.options.logDetail.resolved(detail),
            detail != LogDetail.none
        else { return try await next.send(request) }
        // A logger that does not accept the level of the log may still accept failures, whose level is at least `warning`.
        guard logger.logLevel <= max(level, .warning) else { return try await next.send(request) }
        let log = ExchangeLog(
            logger: logger, level: level, detail: detail, style: style, carriedMetadata: metadata, carriesCURL: carriesCURL,
            request: request, time: makeStopwatch(on: clock))
        log.logRequest()
        return try await next.send(request, observedBy: log)
    }
}

extension LogMiddleware: OrderProblemReporter {
    /// Writes a warning for each problem. Each warning names the modifier that hides these warnings.
    public func reportOrderProblems(_ problems: [String]) {
        for problem in problems { logger.warning("\(HTTPStack.orderLine(for: problem))") }
    }
}

private enum LogOptionKey: CrossOriginOptionKey {
    static var defaultValue: OptionOverride<Logger.Level> { .inherited }
    static func identity(of value: OptionOverride<Logger.Level>) -> OptionIdentity { .ignored }
    static var requiredMiddleware: MiddlewarePlace { .log }
}

private enum LogDetailOptionKey: CrossOriginOptionKey {
    static var defaultValue: OptionOverride<LogDetail> { .inherited }
    static func identity(of value: OptionOverride<LogDetail>) -> OptionIdentity { .ignored }
    static var requiredMiddleware: MiddlewarePlace { .log }
}

extension RequestOptions {
    /// Replaces the stack's log level for this request. `.off`: the request is not logged. Default: `.inherited`, the stack's
    /// level. The option requires `log(to:)` in the stack.
    public var log: OptionOverride<Logger.Level> {
        get { self[LogOptionKey.self] }
        set { self[LogOptionKey.self] = newValue }
    }

    /// Replaces the stack's log detail for this request. `.off` means ``LogDetail/none``. Default: `.inherited`, the stack's
    /// detail. The option requires `log(to:)` in the stack.
    public var logDetail: OptionOverride<LogDetail> {
        get { self[LogDetailOptionKey.self] }
        set { self[LogDetailOptionKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Logs each call, without secrets. See ``LogMiddleware`` for the records and for a sample.
    ///
    /// ```swift
    /// let stack = transport.retry().log(to: logger, detail: .headers, curl: true)
    /// ```
    ///
    /// - Parameters:
    ///   - level: the level of requests and responses. Default: `info`. Failures are logged at least at `warning`.
    ///   - detail: the details that are written. Default: ``LogDetail/basic``, which shows neither fields nor bodies.
    ///   - style: the layout of the records. Default: ``LogStyle/pretty``, one record for each call.
    ///   - metadata: the metadata of a record, beside its message. Default: ``LogMetadata/ids``.
    ///   - curl: whether the record of a failure ends with the request as a `curl` command, without secrets. Default: `false`.
    ///   - clock: the clock that measures the elapsed time.
    public func log(
        to logger: Logger, level: Logger.Level = .info, detail: LogDetail = .basic, style: LogStyle = .pretty,
        metadata: LogMetadata = .ids, curl: Bool = false, clock: any Clock<Duration> = ContinuousClock()
    ) -> HTTPStack {
        wrapped(by: LogMiddleware(logger, level: level, detail: detail, style: style, metadata: metadata, curl: curl, clock: clock))
    }
}
#endif
