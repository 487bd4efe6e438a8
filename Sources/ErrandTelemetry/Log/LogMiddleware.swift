#if Telemetry
public import ErrandCore
public import Logging

/// Writes a line when a request is sent, and one when its head arrives or it fails; on demand also fields, bodies, and failed
/// requests as `curl` commands. Secrets are replaced everywhere.
///
/// Of a typed call (`APIClient`), the second line comes when the call is over, with its whole time: when its value was decoded, or with what
/// decoding failed by, as a failure. A body is shown in that line.
///
/// A status that the request's own rule refuses (`validateStatus`, wherever it stands) is logged as the response that it is, with the level
/// and the `error.type` of a failure.
///
/// **Place:** outermost but for `server` and `number`, where it sees each call once; inside `retry` it sees each attempt.
///
/// **Bodies** (``LogDetail/body(limitBytes:)``): of a request's, the bytes that are in memory; files and streams are named, never
/// read. A response's body is shown when the caller has read it, in a line of its own, with how far it was read; one that nobody read is
/// logged as unread. Nothing is read for the log, and nothing held back. What is no text is named `binary`, a multipart body by its
/// parts.
///
/// **Secrets** are decided by names: fields, query items, members of JSON, items of forms, lines of text. See ``Sensitivity``.
/// Control characters from outside are escaped: nothing that a server sends begins a line of the log.
///
/// Metadata, for back ends that search: `http.request.method`, `url.full` (redacted), `http.response.status_code`,
/// `http.response.body.size`, `errand.request.id`, `errand.request.number`, `url.template`, `errand.elapsed`, `error.type` (as spans and
/// metrics have it: see ``TraceMiddleware``), and `errand.tag.NAME` for each of `request.options.tags`. A cancelled call is logged as
/// such, at the same level; a failure one level up, at `warning` or above.
///
/// **Per request:** `request.options.log = .off`, or `.use(.debug)`; `request.options.logDetail = .use(.body())`.
public struct LogMiddleware: HTTPMiddleware {
    private let logger: Logger
    private let level: Logger.Level
    private let detail: LogDetail
    private let style: LogStyle
    private let carriesCURL: Bool
    private let clock: any Clock<Duration>

    /// - Parameters:
    ///   - level: of the lines about requests and responses. `info` by default.
    ///   - detail: how much is written; `basic` by default, which shows neither fields nor bodies.
    ///   - style: one line for each event by default.
    ///   - curl: whether a failure's line ends with the request as a `curl` command, without secrets; not by default.
    ///   - clock: what the elapsed time is measured by.
    public init(
        _ logger: Logger, level: Logger.Level = .info, detail: LogDetail = .basic, style: LogStyle = .oneLine, curl: Bool = false,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        if case .body(let limitBytes) = detail {
            precondition(limitBytes >= 0, "limitBytes must be at least 0 (is \(limitBytes))")
        }
        (self.logger, self.level, self.detail, self.style, carriesCURL, self.clock) = (logger, level, detail, style, curl, clock)
    }

    public var place: MiddlewarePlace? { .log }
    public var label: String { detail == .basic ? "log(\(level))" : "log(\(level), \(detail))" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard let level = request.options.log.resolved(level), let detail = request.options.logDetail.resolved(detail),
            detail != LogDetail.none
        else { return try await next.send(request) }
        // A failure is logged from `warning` up, so a logger may want that even where it wants no more.
        guard logger.logLevel <= max(level, .warning) else { return try await next.send(request) }
        let elapsed = stopwatch(clock)
        let log = ExchangeLog(
            logger: logger, level: level, detail: detail, style: style, carriesCURL: carriesCURL, request: request,
            elapsed: { elapsed().formattedSeconds })
        log.logRequest()
        do {
            var response = try await next.send(request)
            log.observe(&response)
            return response
        } catch let error as StatusError {
            log.logRefusal(error)
            throw error
        } catch {
            log.logFailure(error)
            throw error
        }
    }
}

private enum LogOptionKey: OptionKey {
    static var defaultValue: OptionOverride<Logger.Level> { .inherited }
    static func identity(of value: OptionOverride<Logger.Level>) -> OptionIdentity { .none }
    static var crossesOrigins: Bool { true }
    static var servedBy: MiddlewarePlace? { .log }
}

private enum LogDetailOptionKey: OptionKey {
    static var defaultValue: OptionOverride<LogDetail> { .inherited }
    static func identity(of value: OptionOverride<LogDetail>) -> OptionIdentity { .none }
    static var crossesOrigins: Bool { true }
    static var servedBy: MiddlewarePlace? { .log }
}

extension RequestOptions {
    /// Another level for this request, or `.off`.
    public var log: OptionOverride<Logger.Level> {
        get { self[LogOptionKey.self] }
        set { self[LogOptionKey.self] = newValue }
    }

    /// How much is logged of this request; `.off` is the same as ``LogDetail/none``.
    public var logDetail: OptionOverride<LogDetail> {
        get { self[LogDetailOptionKey.self] }
        set { self[LogDetailOptionKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Logs requests, responses and failures, without secrets. See ``LogMiddleware``.
    public func log(
        to logger: Logger, level: Logger.Level = .info, detail: LogDetail = .basic, style: LogStyle = .oneLine, curl: Bool = false,
        clock: any Clock<Duration> = ContinuousClock()
    ) -> HTTPStack {
        wrapped(by: LogMiddleware(logger, level: level, detail: detail, style: style, curl: curl, clock: clock))
    }
}
#endif
