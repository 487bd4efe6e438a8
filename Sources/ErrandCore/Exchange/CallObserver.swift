/// Observes one call: the head of its response, its events, and its end, which is reported exactly once.
///
/// A middleware makes an observer for each call, and sends the request by ``HTTPSender/send(_:observedBy:)``. `log`, `metrics`, `trace`, `traceCall`,
/// `profile` and `events` are made of it.
///
/// ```swift
/// struct SlowCalls: HTTPMiddleware {
///     let report: @Sendable (Request, Duration) -> Void
///     let takesPartInPreparing = false
///
///     func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
///         try await next.send(request, observedBy: Stopwatch(start: .now, report: { report(request, $0) }))
///     }
///
///     private struct Stopwatch: CallObserver {
///         let start: ContinuousClock.Instant
///         let report: @Sendable (Duration) -> Void
///
///         func mark() -> ContinuousClock.Instant { .now }
///         func ended(_ outcome: CallOutcome, at end: ContinuousClock.Instant) {
///             if end - start > .seconds(1) { report(end - start) }
///         }
///     }
/// }
/// ```
///
/// The functions run where the response comes or the exchange ends: on the caller's task or on a thread of the transport. They must be quick and must
/// not block.
public protocol CallObserver: Sendable {
    /// What the observer notes at the end, such as an instant. `Void` by default.
    associatedtype Mark: Sendable = Void

    /// Receives the events of the call, beside the sink that the request already has. `nil`, the default: the observer needs no events. Read once,
    /// before the request is sent.
    var eventSink: (any EventSink)? { get }

    /// Notes the present. Called when the exchange ends and when the reader of the response is done. The later of the two is the end of the call, unless
    /// nothing was decoded: then the end is that of the exchange.
    func mark() -> Mark

    /// The head of the response has come. Not called if the call throws.
    ///
    /// The observer may observe the body (``ResponseBody/observed(_:)``) and add metadata. By default, it does nothing.
    ///
    /// - Parameters:
    ///   - response: the response, which goes to the outer layers as this function leaves it.
    ///   - isRefused: see ``CallOutcome/isRefused``.
    ///   - awaitsReader: whether the end of the call comes after the end of the exchange: when a value was decoded, or when a `validateStatus`
    ///     outside of the observer has read the error of the back end.
    func received(_ response: inout Response, isRefused: Bool, awaitsReader: Bool)

    /// The call is over. Called exactly once.
    func ended(_ outcome: CallOutcome, at mark: Mark)
}

extension CallObserver {
    /// `nil`: the observer needs no events.
    public var eventSink: (any EventSink)? { nil }
    /// Leaves the response as it is.
    public func received(_ response: inout Response, isRefused: Bool, awaitsReader: Bool) {}
}

extension CallObserver where Mark == Void {
    /// Notes nothing.
    public func mark() {}
}

/// How a call ended, for its observers.
///
/// There are three kinds of ends:
///
/// - A ``response`` without ``failure``: the response was received, and decoded if the call is a typed one. If ``isRefused`` is true, the call fails because
///   of its status.
/// - A ``response`` with a ``failure``: the body broke off, or decoding failed.
/// - A ``failure`` without ``response``: the call failed before the observer got a head.
public struct CallOutcome: Sendable {
    /// The response without its body, with its metadata and its request; `nil` if the call failed before its head.
    ///
    /// A response that a `validateStatus` inside the observer has refused is a response.
    public let response: Response?
    /// Whether the status is a failure: the request's own rule rejects it (`validateStatus`, at any place); without a rule, a status code from 400 up.
    public let isRefused: Bool
    /// Whether the connection has changed to another protocol. The call ends with the head of the response.
    public let isUpgraded: Bool
    /// How the exchange ended on the wire; `nil` without a response. After an upgrade, it is complete.
    public let exchange: ExchangeLifetime.Outcome?
    /// The sizes of the bodies on the wire, if the transport knows them.
    public let sizes: ExchangeLifetime.BodySizes
    /// Why the call failed: before the head, while its body was received, or while its value was decoded. `nil` if it did not fail, or if it
    /// fails because of its status alone.
    public let failure: (any Error)?
    /// Whether the call was cancelled: ``failure`` is then a `CancellationError`, or what an inner layer threw in place of it.
    public let isCancelled: Bool
    /// The error of a `validateStatus` inside the observer; `nil` if there is none, or if it has refused nothing.
    public let statusError: StatusError?
    /// The error that the body of a refused response describes in the envelope of the client; `nil` for any other response.
    public let serviceError: ServiceError?
    /// The head of the response because of which the call has failed with an error of the app, such as that of a validator; `nil` if there is none, or if
    /// the error has the head. See ``Request/reportRefusal(of:with:)``.
    public let refusedHead: HTTPResponse?
}

extension CallOutcome: CustomStringConvertible, HidesStorage {
    /// The status and the failure, without secrets: `200, connection lost in body (sent)`.
    public var description: String {
        var parts: [String] = []
        if let response { parts.append("\(response.head.status.code)" + (isRefused ? " (refused)" : "")) }
        if isUpgraded { parts.append("upgraded") }
        if let serviceError { parts.append(shownError(serviceError)) }
        if let refusedHead { parts.append("status \(refusedHead.status.code)") }
        if let failure { parts.append(shownError(failure)) } else if let exchange, !isUpgraded { parts.append("\(exchange)") }
        return parts.joined(separator: ", ")
    }
}

extension HTTPSender {
    /// Sends a request, and reports the call to an observer.
    ///
    /// The end comes when the exchange ends on the wire; in a typed call, when the value was decoded, or when that failed. A response that is discarded ends
    /// with its exchange. The end comes at once for a call that throws, and for a protocol upgrade.
    ///
    /// ```swift
    /// try await next.send(request, observedBy: Stopwatch(…))
    /// ```
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - observer: the observer of this one call.
    /// - Returns: the response, as ``CallObserver/received(_:isRefused:awaitsReader:)`` leaves it.
    /// - Throws: what sending throws.
    public func send(_ request: Request, observedBy observer: some CallObserver) async throws -> Response {
        let call = ObservedCall(observer, inside: request.options.call.observation)
        var observed = request
        observed.options.call.observation = call
        if let sink = observer.eventSink { observed.options.addEventSink(sink) }
        var response: Response
        // Without a closure, which would copy the request once more.
        do {
            response = try await send(observed)
        } catch {
            let error = error.restoringCall(of: request)
            call.failed(error, of: request)
            throw error
        }
        response.request.restoreCall(of: request)
        call.received(&response, to: request)
        return response
    }
}

extension Request {
    /// Reports to the observers of this call which response is refused with an error of the app, before a middleware throws that error.
    ///
    /// A log then shows the status. A ``RequestFailure`` has its response already, and needs no report. `validate` reports the errors of its validators.
    ///
    /// - Parameters:
    ///   - head: the head of the response because of which the call fails.
    ///   - error: the error that the middleware throws.
    public func reportRefusal(of head: HTTPResponse, with error: any Error) { options.call.observation?.refused(head, with: error) }
}
