public import ErrandCore
public import Logging

/// Writes a line when a request is sent, and one when its head arrives or it fails. Secrets are replaced; bodies are not shown.
///
/// **Place:** outermost but for `server` and `number`, where it sees each call once; inside `retry` it sees each attempt.
///
/// Metadata, for back ends that search: `http.request.method`, `url.full` (redacted), `http.response.status_code`,
/// `errand.request.id`, `errand.request.number`, `url.template`, `errand.elapsed`. A cancelled call is logged as such, at the same
/// level; a failure one level up, at `warning` or above.
///
/// **Per request:** `request.options.log = .off`, or `.use(.debug)`.
public struct LogMiddleware: HTTPMiddleware {
    private let logger: Logger
    private let level: Logger.Level
    private let clock: any Clock<Duration>

    /// - Parameters:
    ///   - level: of the lines about requests and responses. `info` by default.
    ///   - clock: what the elapsed time is measured by.
    public init(_ logger: Logger, level: Logger.Level = .info, clock: any Clock<Duration> = ContinuousClock()) {
        (self.logger, self.level, self.clock) = (logger, level, clock)
    }

    public var place: MiddlewarePlace? { .log }
    public var label: String { "log(\(level))" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard let level = request.options.log.resolved(level) else { return try await next.send(request) }
        // A failure is logged from `warning` up, so a logger may want that even where it wants no more.
        guard logger.logLevel <= max(level, .warning) else { return try await next.send(request) }
        return try await logged(request, to: next, level: level, on: clock)
    }

    private func logged(
        _ request: Request, to next: some HTTPSender, level: Logger.Level, on clock: some Clock<Duration>
    ) async throws -> Response {
        var metadata: Logger.Metadata = [
            "http.request.method": "\(request.method.rawValue)", "url.full": "\(request.redactedURL)",
            "errand.request.id": "\(request.id)",
        ]
        if let number = request.options.requestNumber { metadata["errand.request.number"] = "\(number)" }
        if let template = request.options.urlTemplate { metadata["url.template"] = "\(template)" }
        let number = request.options.requestNumber.map { "#\($0) " } ?? ""
        logger.log(level: level, "\(number)\(request)", metadata: metadata)
        let start = clock.now
        do {
            let response = try await next.send(request)
            let elapsed = start.duration(to: clock.now).formattedSeconds
            metadata["http.response.status_code"] = "\(response.head.status.code)"
            metadata["errand.elapsed"] = "\(elapsed)"
            logger.log(level: level, "\(number)\(request): \(response.head.status.code) in \(elapsed)", metadata: metadata)
            return response
        } catch {
            let elapsed = start.duration(to: clock.now).formattedSeconds
            metadata["errand.elapsed"] = "\(elapsed)"
            if error is CancellationError {
                logger.log(level: level, "\(number)\(request): cancelled after \(elapsed)", metadata: metadata)
            } else {
                metadata["error.type"] = "\(type(of: error))"
                logger.log(level: max(level, .warning), "\(number)\(Self.described(error, of: request))", metadata: metadata)
            }
            throw error
        }
    }

    /// A failure of this library describes itself without secrets; of any other, only the type is known to be safe.
    private static func described(_ error: any Error, of request: Request) -> String {
        switch error {
        case let failure as any RequestFailure: failure.request == nil ? "\(request): \(failure)" : failure.description
        case let error as InvalidURL: "\(request): \(error)"
        default: "\(request): \(type(of: error))"
        }
    }
}

private enum LogOptionKey: TypedKey { static var defaultValue: Override<Logger.Level> { .inherited } }

extension RequestOptions {
    /// Another level for this request, or `.off`.
    public var log: Override<Logger.Level> {
        get { self[LogOptionKey.self] }
        set { self[LogOptionKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Logs requests, responses and failures, without secrets. See ``LogMiddleware``.
    public func log(to logger: Logger, level: Logger.Level = .info, clock: any Clock<Duration> = ContinuousClock()) -> HTTPStack {
        wrapped(by: LogMiddleware(logger, level: level, clock: clock))
    }
}
