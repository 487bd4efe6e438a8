internal import Synchronization

/// The reports that the layers of a call make to the observers in the outer layers.
protocol CallObservation: AnyObject, Sendable {
    /// Reports that a response is refused with an error that does not have the response's head.
    func recordRefusal(of head: HTTPResponse, with error: any Error)
    /// Reports that the request is sent again. Therefore an earlier refusal was not the end of the call.
    func recordResend()
    /// Reports the names that an inner layer declares as sensitive.
    func recordSensitivity(_ names: Sensitivity)
}

/// A call and one of its observers. Only this class knows all ways in which a call can end, and decides once how the call has ended.
///
/// The class is not generic over its observer: observers are types of other modules, for which the compiler could not specialize a
/// generic class.
final class ObservedCall: CallObservation {
    /// The part of a response that is kept: everything except the body and the object that ends the call.
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

        consuming func response(ending exchange: ExchangeLifetime) -> Response {
            var response = Response(head: head, body: ResponseBody(), request: request, exchange: exchange)
            response.metadata = metadata
            return response
        }
    }

    /// A response that an inner middleware has refused with an error of the app.
    private struct ReportedRefusal {
        let head: HTTPResponse
        let error: any Error.Type
    }

    private struct EndedExchange {
        let end: ExchangeLifetime.Outcome
        let sizes: ExchangeLifetime.BodySizes
    }

    /// The end of a call, for its observer. The type is noncopyable, because an outcome is large.
    private struct Ending: ~Copyable {
        let outcome: CallOutcome
        /// For a refused or discarded response: the observer's mark from the end of the exchange, if the exchange ended first. `nil` if the
        /// call ends now.
        let mark: (any Sendable)?

        func report<Observer: CallObserver>(to observer: Observer, now: Observer.Mark) {
            guard let mark, let mark = mark as? Observer.Mark else { return observer.end(outcome, at: now) }
            observer.end(outcome, at: mark)
        }
    }

    private struct State {
        var head: Head?
        var (isRefused, isUpgraded) = (false, false)
        /// Whether a `validateStatus` inside the observer has refused the response.
        var isRefusedInside = false
        var refusal: ReportedRefusal?
        /// The names that inner layers have declared as sensitive.
        var sensitivity = Sensitivity.standard
        var exchange: EndedExchange?
        /// The observer's mark at the end of the exchange, if reading ends later.
        var exchangeMark: (any Sendable)?
        /// The outcome of reading the response; `nil` while the call waits for the reader of the response.
        var reading: CallEnd.Outcome?
        var isOver = false

        /// Returns the end of the call; `nil` while the exchange or the reading has not ended, and after the end was reported.
        mutating func end() -> Ending? {
            guard !isOver, let exchange else { return nil }
            var (failure, error, mark): ((any Error)?, StatusError?, (any Sendable)?) = (nil, nil, nil)
            if case .refused(let refused)? = reading { error = refused }
            switch (exchange.end, reading) {
            case (.failed(let error), _): failure = error
            case (_, nil): return nil
            case (_, .refused), (_, .discarded): mark = exchangeMark
            case (_, .decoded): break
            case (_, .failed(let error)): failure = error
            }
            guard let head = head.take() else { return nil }
            let refusal =
                isRefused || error != nil
                ? CallOutcome.Refusal(head.head, error: error, isInner: isRefusedInside, failure: failure) : nil
            let outcome = CallOutcome(
                response: head.response(ending: ExchangeLifetime(outcome: exchange.end, sizes: exchange.sizes)),
                isUpgraded: isUpgraded, exchange: exchange.end, sizes: exchange.sizes, failure: failure,
                isCancelled: failure is CancellationError, refusal: refusal, innerSensitivity: sensitivity)
            // The state is released, because the response of a status error refers to the observers of its call, and thus to
            // this object.
            self = State()
            isOver = true
            return Ending(outcome: outcome, mark: mark)
        }
    }

    private let observer: any CallObserver
    /// The observation of the next outer observer.
    private let outer: (any CallObservation)?
    private let state = Mutex(State())

    init(_ observer: any CallObserver, inside outer: (any CallObservation)?) { (self.observer, self.outer) = (observer, outer) }

    // MARK: The end

    /// Receives the head of the response.
    ///
    /// - Parameter request: the request as the observer got it.
    func receive(_ response: inout Response, to request: Request) {
        let (isRefused, isUpgraded) = (request.refuses(response), response.upgrade != nil)
        let awaitsReader = !isUpgraded && request.options.call.awaitsReader(ofRefused: isRefused)
        observer.receive(&response, isRefused: isRefused, awaitsReader: awaitsReader)
        state.withLock { state in
            state.head = Head(response)
            state.isRefused = isRefused
            state.isUpgraded = isUpgraded
            if !awaitsReader { state.reading = .decoded }
        }
        // After an upgrade, the exchange ends with the head, because the bytes after the head belong to the new protocol.
        if isUpgraded { return endExchange(.complete, ExchangeLifetime.BodySizes()) }
        response.exchange.onEnd { self.endExchange($0, $1) }
        if awaitsReader {
            let end = response.metadata.callEnd ?? CallEnd()
            response.metadata.callEnd = end
            end.onEnd { self.endReading($0) }
        }
    }

    /// Receives the error that the call has thrown.
    ///
    /// - Parameter request: the request as the observer got it.
    func fail(with error: any Error, of request: Request) {
        if let error = error as? StatusError, error.request?.id == request.id { return receiveRefusal(by: error) }
        let isCancelled = error is CancellationError || Task.isCancelled
        let (reported, sensitivity) = state.withLock { ($0.refusal.take(), $0.sensitivity) }
        let refusal = reported.flatMap { reported in
            error is any RequestFailure || reported.error != type(of: error)
                ? nil : CallOutcome.Refusal(reported.head, isInner: true, failure: error)
        }
        let outcome = CallOutcome(
            response: nil, isUpgraded: false, exchange: nil, sizes: ExchangeLifetime.BodySizes(), failure: error, isCancelled: isCancelled,
            refusal: refusal, innerSensitivity: sensitivity)
        end(outcome, observer)
    }

    /// Ends the call with the response of a status error. The observer gets the response even if an inner `validateStatus` has thrown the
    /// error. The body of the response was already read or abandoned.
    private func receiveRefusal(by error: StatusError) {
        state.withLock { state in
            state.head = Head(error.refused)
            state.isRefused = true
            state.isRefusedInside = true
            state.reading = .refused(error)
        }
        let end = error.refused.exchange.result
        endExchange(end?.outcome ?? (error.bodyIsWhole ? .complete : .abandoned), end?.sizes ?? ExchangeLifetime.BodySizes())
    }

    private func endExchange(_ end: ExchangeLifetime.Outcome, _ sizes: ExchangeLifetime.BodySizes) {
        report { state, now in
            state.exchange = EndedExchange(end: end, sizes: sizes)
            if state.reading == nil { state.exchangeMark = now }
        }
    }

    private func endReading(_ outcome: CallEnd.Outcome) { report { state, _ in state.reading = outcome } }

    private func report(after change: (inout State, _ now: any Sendable) -> Void) {
        func report(to observer: some CallObserver) {
            let now = observer.mark()
            if let ending = update({ change(&$0, now) }) { ending.report(to: observer, now: now) }
        }
        report(to: observer)
    }

    /// Changes the state under the lock. This function has no generic parameter, so that the compiler specializes the lock.
    private func update(_ change: (inout State) -> Void) -> Ending? {
        state.withLock { state in
            if state.isOver { return nil }
            change(&state)
            return state.end()
        }
    }

    private func end(_ outcome: CallOutcome, _ observer: some CallObserver) { observer.end(outcome, at: observer.mark()) }

    // MARK: Reports of inner layers

    func recordRefusal(of head: HTTPResponse, with error: any Error) {
        state.withLock { $0.refusal = ReportedRefusal(head: head, error: type(of: error)) }
        outer?.recordRefusal(of: head, with: error)
    }

    func recordResend() {
        state.withLock { $0.refusal = nil }
        outer?.recordResend()
    }

    func recordSensitivity(_ names: Sensitivity) {
        state.withLock { $0.sensitivity.formUnion(names) }
        outer?.recordSensitivity(names)
    }
}

extension CallState {
    /// Returns whether the call ends later than its exchange.
    ///
    /// If true, the call ends when its value was decoded. A call with a refused response may also end when an outer
    /// `validateStatus` has searched the body for the back end's error.
    fileprivate func awaitsReader(ofRefused isRefused: Bool) -> Bool {
        awaitsDecoding || (isRefused && passedStatusRule != nil && serviceErrors != nil)
    }
}
