internal import Synchronization

/// What the layers of a call report to the observers outside of them.
protocol CallObservation: AnyObject, Sendable {
    /// A response is refused with an error that does not have its head.
    func refused(_ head: HTTPResponse, with error: any Error)
    /// The request is sent again: an earlier refusal was not the end.
    func sentAgain()
}

/// A call and one of its observers. Decides once how the call has ended: here alone, each kind of end is known.
final class ObservedCall<Observer: CallObserver>: CallObservation {
    /// A response as far as it is kept: neither its body, nor what the end of the call depends on.
    private struct Head {
        let head: HTTPResponse
        let request: Request
        let metadata: ResponseMetadata

        init(_ response: Response) {
            (head, request) = (response.head, response.request)
            var metadata = response.metadata
            metadata.callEnd = nil
            self.metadata = metadata
        }

        func response(ending exchange: ExchangeLifetime) -> Response {
            var response = Response(head: head, body: ResponseBody(), request: request, exchange: exchange)
            response.metadata = metadata
            return response
        }
    }

    private struct State {
        var head: Head?
        var (isRefused, isUpgraded) = (false, false)
        var statusError: StatusError?
        var refusal: (head: HTTPResponse, error: any Error.Type)?
        var exchange: (end: ExchangeLifetime.Outcome, sizes: ExchangeLifetime.BodySizes, mark: Observer.Mark)?
        /// The end of reading; `nil` while somebody reads the response to end the call.
        var reading: CallEnd.Outcome?
        var isOver = false

        /// Nil while one of the ends is missing, and after the end was reported.
        mutating func end(_ now: Observer.Mark) -> (outcome: CallOutcome, mark: Observer.Mark)? {
            guard !isOver, let exchange, let head else { return nil }
            var (failure, service, mark): ((any Error)?, ServiceError?, Observer.Mark) = (nil, nil, now)
            switch (exchange.end, reading) {
            case (.failed(let error), _): failure = error
            case (_, nil): return nil
            case (_, .refused(let error)): (service, mark) = (error, exchange.mark)
            case (_, .discarded): mark = exchange.mark
            case (_, .decoded): break
            case (_, .failed(let error)): failure = error
            }
            isOver = true
            self.head = nil
            let outcome = CallOutcome(
                response: head.response(ending: ExchangeLifetime(outcome: exchange.end, sizes: exchange.sizes)), isRefused: isRefused,
                isUpgraded: isUpgraded, exchange: exchange.end, sizes: exchange.sizes, failure: failure,
                isCancelled: failure is CancellationError, statusError: statusError, serviceError: service, refusedHead: nil)
            return (outcome, mark)
        }
    }

    private let request: Request
    private let observer: Observer
    /// The observation outside of this one.
    private let outer: (any CallObservation)?
    private let state = Mutex(State())

    init(_ request: Request, _ observer: Observer) {
        (self.request, self.observer, outer) = (request, observer, request.options.call.observation)
    }

    // MARK: The end

    /// The head of the response has come.
    func received(_ response: inout Response) {
        let call = request.options.call
        let (isRefused, isUpgraded) = (request.refuses(response), response.upgrade != nil)
        // Who reads a refused response is a `validateStatus` outside of the observer, if it looks for an error of the back end.
        let awaitsRefusal = isRefused && call.passedStatusRule != nil && call.serviceErrors != nil
        let awaitsReader = (call.awaitsDecoding || awaitsRefusal) && !isUpgraded
        observer.received(&response, isRefused: isRefused, awaitsReader: awaitsReader)
        state.withLock { state in
            (state.head, state.isRefused, state.isUpgraded) = (Head(response), isRefused, isUpgraded)
            if !awaitsReader { state.reading = .decoded }
        }
        // What follows belongs to the other protocol.
        if isUpgraded { return exchangeEnded(.complete, ExchangeLifetime.BodySizes()) }
        response.exchange.onEnd { self.exchangeEnded($0, $1) }
        if awaitsReader {
            let end = response.metadata.callEnd ?? CallEnd()
            response.metadata.callEnd = end
            end.onEnd { self.readingEnded($0) }
        }
    }

    /// The call has thrown an error.
    func failed(_ error: any Error) {
        if let error = error as? StatusError, error.request?.id == request.id { return refused(by: error) }
        let isCancelled = error is CancellationError || Task.isCancelled
        let refusal = state.withLock(\.refusal)
        let outcome = CallOutcome(
            response: nil, isRefused: false, isUpgraded: false, exchange: nil, sizes: ExchangeLifetime.BodySizes(), failure: error,
            isCancelled: isCancelled, statusError: nil, serviceError: nil,
            refusedHead: refusal.flatMap { error is any RequestFailure || $0.error != type(of: error) ? nil : $0.head })
        observer.ended(outcome, at: observer.mark())
    }

    /// This is also a response: `validateStatus` may be on either side. Its body was read or abandoned.
    private func refused(by error: StatusError) {
        var response = error.refused
        (response.metadata.attempts, response.metadata.retryStop) = (error.attempts, error.retryStop)
        state.withLock { state in
            (state.head, state.isRefused, state.statusError) = (Head(response), true, error)
            state.reading = error.serviceError.map { .refused($0) } ?? .decoded
        }
        let end = error.refused.exchange.result
        exchangeEnded(end?.outcome ?? (error.bodyIsWhole ? .complete : .abandoned), end?.sizes ?? ExchangeLifetime.BodySizes())
    }

    private func exchangeEnded(_ end: ExchangeLifetime.Outcome, _ sizes: ExchangeLifetime.BodySizes) {
        let now = observer.mark()
        report(now) { $0.exchange = (end, sizes, now) }
    }

    private func readingEnded(_ outcome: CallEnd.Outcome) { report(observer.mark()) { $0.reading = outcome } }

    private func report(_ now: Observer.Mark, after change: (inout State) -> Void) {
        let end = state.withLock { state in
            change(&state)
            return state.end(now)
        }
        if let end { observer.ended(end.outcome, at: end.mark) }
    }

    // MARK: What inner layers report

    func refused(_ head: HTTPResponse, with error: any Error) {
        state.withLock { $0.refusal = (head, type(of: error)) }
        outer?.refused(head, with: error)
    }

    func sentAgain() {
        state.withLock { $0.refusal = nil }
        outer?.sentAgain()
    }
}
