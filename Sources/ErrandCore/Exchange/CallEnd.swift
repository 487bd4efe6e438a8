internal import Synchronization

/// The end of a typed call, for its observers: when its value has been decoded, or decoding has failed.
///
/// The code that decodes sets `request.options.call.awaitsDecoding`, sends the request, and calls ``end(_:)`` of the response's
/// `metadata.callEnd`. The first observer that asks for the end (``Response/onCallEnd(of:mark:_:)``) creates it; without one, nothing is allocated. A response that
/// is discarded on the way, such as that of an attempt that is retried, ends when it is discarded, at the latest when its last copy goes away.
package final class CallEnd: Sendable {
    package enum Outcome: Sendable {
        /// There is a value.
        case decoded
        /// There is no value: decoding failed, or reading the body failed.
        case failed(any Error)
        /// The status was refused, and the body says why in the envelope of the client.
        case refused(ServiceError)
        /// Nobody decodes this response.
        case discarded
    }

    /// Nil once the end has been reported.
    private let handlers = Mutex<[@Sendable (Outcome) -> Void]?>([])

    package init() {}

    fileprivate func onEnd(_ handler: @escaping @Sendable (Outcome) -> Void) {
        let isOver = handlers.withLock { handlers in
            handlers?.append(handler)
            return handlers == nil
        }
        if isOver { handler(.discarded) }
    }

    /// Ends the call; the first end counts. Observers are notified in the order in which they asked, the innermost first.
    package func end(_ outcome: Outcome) {
        let waiting = handlers.withLock { handlers in
            defer { handlers = nil }
            return handlers
        }
        for handler in waiting ?? [] { handler(outcome) }
    }

    deinit { end(.discarded) }
}

/// How a response ended, for an observer.
package struct CallReport<Mark: Sendable>: Sendable {
    /// Of the exchange, on the wire.
    package let exchange: ExchangeLifetime.Outcome
    package let sizes: ExchangeLifetime.BodySizes
    /// The failure of decoding, or of reading the body for it; `nil` if the call has its value, or if nothing was to be decoded.
    package let decodingFailure: (any Error)?
    /// The error that the body of a refused response describes in the envelope of the client; `nil` for any other response. The
    /// failure of the call is the status, not this error.
    package let refusal: ServiceError?
    /// What the observer noted at the end.
    package let mark: Mark

    package init(
        exchange: ExchangeLifetime.Outcome, sizes: ExchangeLifetime.BodySizes, decodingFailure: (any Error)? = nil,
        refusal: ServiceError? = nil, mark: Mark
    ) {
        (self.exchange, self.sizes, self.decodingFailure, self.refusal, self.mark) = (exchange, sizes, decodingFailure, refusal, mark)
    }

    /// The failure of the call after the head of the response had come; `nil` if it did not fail.
    package var failure: (any Error)? {
        if let decodingFailure { return decodingFailure }
        if case .failed(let error) = exchange { return error }
        return nil
    }
}

extension Response {
    /// Calls `handler` once, at the end of the call: when the exchange is over on the wire, and for a typed call also decoding.
    ///
    /// An exchange that fails is the end in either case. A response that is discarded ended with its exchange.
    ///
    /// - Parameters:
    ///   - request: the request as the observer received it, which says whether the response will be decoded.
    ///   - awaitsRefusal: whether a layer outside of the observer refuses the response, and so ends the call: see ``StatusError``.
    ///   - mark: what to note at the end, such as the time. Handlers run where the end is reported, and must not block.
    package mutating func onCallEnd<Mark: Sendable>(
        of request: Request, awaitsRefusal: Bool = false, mark: @escaping @Sendable () -> Mark,
        _ handler: @escaping @Sendable (CallReport<Mark>) -> Void
    ) {
        guard request.options.call.awaitsDecoding || awaitsRefusal, upgrade == nil else {
            exchange.onEnd { handler(CallReport(exchange: $0, sizes: $1, mark: mark())) }
            return
        }
        let end = metadata.callEnd ?? CallEnd()
        metadata.callEnd = end
        let observer = CallObserver(mark: mark, handler)
        exchange.onEnd { observer.exchangeEnded($0, $1) }
        end.onEnd { observer.callEnded($0) }
    }
}

/// Waits for both ends of a typed call, that of the exchange and that of decoding, and reports once.
private final class CallObserver<Mark: Sendable>: Sendable {
    private struct State {
        var exchange: (end: ExchangeLifetime.Outcome, sizes: ExchangeLifetime.BodySizes, mark: Mark)?
        var outcome: CallEnd.Outcome?
        var isOver = false

        /// Nil while one of the ends is missing, and after the report was made.
        mutating func report(_ now: Mark) -> CallReport<Mark>? {
            guard !isOver, let exchange else { return nil }
            var failure: (any Error)?
            var refusal: ServiceError?
            var mark = now
            switch (exchange.end, outcome) {
            case (.failed, _): break
            case (_, nil): return nil
            case (_, .refused(let error)): (refusal, mark) = (error, exchange.mark)
            case (_, .discarded): mark = exchange.mark
            case (_, .decoded): break
            case (_, .failed(let error)): failure = error
            }
            isOver = true
            return CallReport(exchange: exchange.end, sizes: exchange.sizes, decodingFailure: failure, refusal: refusal, mark: mark)
        }
    }

    private let mark: @Sendable () -> Mark
    private let handler: @Sendable (CallReport<Mark>) -> Void
    private let state = Mutex(State())

    init(mark: @escaping @Sendable () -> Mark, _ handler: @escaping @Sendable (CallReport<Mark>) -> Void) {
        (self.mark, self.handler) = (mark, handler)
    }

    func exchangeEnded(_ end: ExchangeLifetime.Outcome, _ sizes: ExchangeLifetime.BodySizes) {
        let now = mark()
        let report = state.withLock { state in
            state.exchange = (end, sizes, now)
            return state.report(now)
        }
        if let report { handler(report) }
    }

    func callEnded(_ outcome: CallEnd.Outcome) {
        let now = mark()
        let report = state.withLock { state in
            state.outcome = outcome
            return state.report(now)
        }
        if let report { handler(report) }
    }
}
