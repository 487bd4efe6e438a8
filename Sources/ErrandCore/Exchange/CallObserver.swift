/// An observer of one call: the head of its response, its events, and its end, which is reported exactly once.
///
/// A middleware makes an observer for each call, and sends the request by ``HTTPSender/send(_:observedBy:)``. The middleware `log`,
/// `metrics`, `trace`, `traceCall`, `profile` and `events` are built in this way.
///
/// ```swift
/// struct SlowCalls: HTTPMiddleware {
///     let report: @Sendable (Request, Duration) -> Void
///     let appliesToPreparedRequests = false
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
///         func end(_ outcome: CallOutcome, at end: ContinuousClock.Instant) {
///             if end - start > .seconds(1) { report(end - start) }
///         }
///     }
/// }
/// ```
///
/// The functions run on the caller's task or on a thread of the transport, where the response arrives or the exchange ends. The
/// functions must be quick and must not block.
public protocol CallObserver: Sendable {
    /// The value that the observer records at the end, such as an instant. `Void` by default.
    associatedtype Mark: Sendable = Void

    /// The sink for the events of the call, in addition to the sink that the request already has. With `nil`, the default, the
    /// observer needs no events. The property is read once, before the request is sent.
    var eventSink: (any EventSink)? { get }

    /// Records the current moment.
    ///
    /// Called when the exchange ends, and when the reader of the response has finished. The later moment is the end of the call. If nothing
    /// was decoded, the end of the exchange is the end of the call.
    func mark() -> Mark

    /// Receives the head of the response. Not called if the inner layers throw an error instead of returning a response.
    ///
    /// The observer may observe the body (``ResponseBody/observed(_:)``) and add metadata. The default implementation does nothing.
    ///
    /// - Parameters:
    ///   - response: the response. The outer layers get the response with the changes of this function.
    ///   - isRefused: whether the response is refused because of its status. See ``CallOutcome/refusal``.
    ///   - awaitsReader: whether the end of the call comes after the end of the exchange. If true, the call ends when a value was
    ///     decoded, or when an outer `validateStatus` has read the error of the back end.
    func receive(_ response: inout Response, isRefused: Bool, awaitsReader: Bool)

    /// Receives the end of the call. Called exactly once.
    func end(_ outcome: CallOutcome, at mark: Mark)
}

extension CallObserver {
    /// Returns `nil`, so the observer gets no events.
    public var eventSink: (any EventSink)? { nil }
    /// Does nothing.
    public func receive(_ response: inout Response, isRefused: Bool, awaitsReader: Bool) {}
}

extension CallObserver where Mark == Void {
    /// Records nothing.
    public func mark() {}
}

/// The end of a call, for its observers.
///
/// There are three kinds of ends:
///
/// - A ``response`` without ``failure``: the response was received, and decoded if the call is a typed call. If there is a ``refusal``, the
///   call fails because of the status.
/// - A ``response`` with a ``failure``: the body broke off, or decoding failed.
/// - A ``failure`` without ``response``: the call failed before the observer got a head.
public struct CallOutcome: Sendable {
    /// The response without its body, with its metadata and its request; `nil` if the call failed before the head arrived.
    ///
    /// If an inner `validateStatus` has refused a response, this property has the refused response.
    public let response: Response?
    /// Whether the connection has changed to another protocol. If true, the call has ended with the head of the response.
    public let isUpgraded: Bool
    /// The end of the exchange on the wire; `nil` if there was no response. After an upgrade, the exchange is treated as complete.
    public let exchange: ExchangeLifetime.Outcome?
    /// The sizes of the bodies on the wire, if the transport knows them.
    public let sizes: ExchangeLifetime.BodySizes
    /// The failure of the call. The call may fail before the head arrives, while the body is received, or while the value is decoded. `nil`
    /// if the call did not fail, or fails only because of its status.
    public let failure: (any Error)?
    /// Whether the call was cancelled. If true, ``failure`` is a `CancellationError`, or another error that an inner layer threw.
    public let isCancelled: Bool
    /// The refused response; `nil` if the response is accepted, or if no response was received.
    ///
    /// The rule of `validateStatus` decides whether a response is refused. The `validateStatus` may be inside or outside the observer.
    /// Without `validateStatus`, a response with a status code of at least 400 is refused. A middleware can also refuse a response, with
    /// an error of the app.
    public let refusal: Refusal?
    /// The names that layers inside the observer have declared as sensitive (``RequestOptions/sensitivity``).
    package let innerSensitivity: Sensitivity
}

extension CallOutcome {
    /// A refused response, and its errors.
    public struct Refusal: Sendable {
        /// The head of the response.
        public let head: HTTPResponse
        /// The error with which an inner or outer `validateStatus` has refused the response; `nil` if no such middleware has refused the
        /// response.
        ///
        /// For developers, `String(reflecting:)` of this error has the first bytes of the body, without secrets.
        /// ``StatusError/bodyPrefix`` has all bytes that were read.
        ///
        /// An outer `validateStatus` reads the body after the head has arrived. If the client has no envelope, an untyped call ends before
        /// this `validateStatus` creates the error, and `error` is `nil`.
        public let error: StatusError?
        /// The error that the body describes in the client's envelope. `nil` if the body describes no error, or if the call failed before
        /// the body was read.
        public let serviceError: ServiceError?
        /// Whether a layer inside the observer has refused the response. This layer is `validateStatus`, or a middleware that throws an
        /// error of the app: see ``Request/reportRefusal(of:with:)``.
        public let isInner: Bool

        init(_ head: HTTPResponse, error: StatusError? = nil, isInner: Bool, failure: (any Error)?) {
            (self.head, self.error, self.isInner) = (head, error, isInner)
            serviceError = failure == nil ? error?.serviceError : nil
        }

        /// The error with which an inner `validateStatus` has refused the response; `nil` if no such middleware has refused the response.
        package var innerError: StatusError? { isInner ? error : nil }
    }
}

extension CallOutcome.Refusal: CustomStringConvertible, HidesStorage {
    /// The status and the error of the back end, without secrets: `404`.
    public var description: String {
        ["\(head.status.code)", serviceError.map { safeDescription(of: $0) }].compactMap(\.self).joined(separator: ", ")
    }
}

extension CallOutcome: CustomStringConvertible, HidesStorage {
    /// The status and the failure, without secrets: `200, GET https://a.example/: connection lost while reading the body (sent)`.
    public var description: String {
        var parts: [String] = []
        if let response { parts.append("\(response.head.status.code)" + (refusal == nil ? "" : " (refused)")) }
        if isUpgraded { parts.append("upgraded") }
        if let serviceError = refusal?.serviceError { parts.append(safeDescription(of: serviceError)) }
        if response == nil, let refusal { parts.append("status \(refusal.head.status.code)") }
        if let failure { parts.append(safeDescription(of: failure)) } else if let exchange, !isUpgraded { parts.append("\(exchange)") }
        return parts.joined(separator: ", ")
    }
}

extension HTTPSender {
    /// Sends a request, and reports the call to an observer.
    ///
    /// An untyped call ends when the exchange ends on the wire. A typed call ends when the value was decoded, or when decoding failed. If a
    /// response is discarded, the call ends with its exchange. If the call throws, or the protocol is upgraded, the call ends immediately.
    ///
    /// ```swift
    /// try await next.send(request, observedBy: Stopwatch(…))
    /// ```
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - observer: the observer, which observes only this call.
    /// - Returns: the response, with the changes of ``CallObserver/receive(_:isRefused:awaitsReader:)``.
    /// - Throws: any error that sending the request throws.
    public func send(_ request: Request, observedBy observer: some CallObserver) async throws -> Response {
        let call = ObservedCall(observer, inside: request.options.call.observation)
        var observed = request
        observed.options.call.observation = call
        if let sink = observer.eventSink { observed.options.addEventSink(sink) }
        var response: Response
        // This code has no closure, because a closure would copy the request once more.
        do {
            response = try await send(observed)
        } catch {
            let error = error.restoringCall(of: request)
            call.fail(with: error, of: request)
            throw error
        }
        response.request.restoreCall(of: request)
        call.receive(&response, to: request)
        return response
    }
}

extension Request {
    /// Reports a refused response to the observers of this call, so that a log can show the status.
    ///
    /// A middleware calls this function before it throws an error of the app. A ``RequestFailure`` already has its response, and
    /// needs no report. `validate` reports the errors of its validators.
    ///
    /// - Parameters:
    ///   - head: the head of the refused response.
    ///   - error: the error that the middleware throws.
    public func reportRefusal(of head: HTTPResponse, with error: any Error) {
        options.call.observation?.recordRefusal(of: head, with: error)
    }
}
