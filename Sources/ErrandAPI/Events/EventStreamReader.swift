internal import ErrandCore
internal import ErrandFormats

/// Opens and reads the connections of one iterator, one after the other. An ``EventStreamMachine`` decides about each connection.
struct EventStreamReader: Sendable {
    private let stream: EventStream
    private let request: Request
    private let observer: EventStreamObserver?
    private var machine: EventStreamMachine
    /// The body of the current connection; `nil` between connections.
    private var body: ResponseBody.SharedIterator?
    private var parser = EventStreamParser()
    /// The last response.
    private(set) var response: Response?
    /// The request of the last response. Before the first response, the value is the request that is being sent.
    var sentRequest: Request { response?.request ?? request }
    /// Whether the last response has the status 204.
    private(set) var hasNoContent = false

    init(_ stream: EventStream, _ request: Request, _ observer: EventStreamObserver?) {
        (self.stream, self.request, self.observer) = (stream, request, observer)
        // The request may already have the field `Last-Event-ID`.
        let lastEventID = stream.lastEventID ?? request.headers[.lastEventID] ?? ""
        machine = EventStreamMachine(stream.policy, isIdempotent: request.method.isIdempotent, lastEventID: lastEventID)
    }

    var lastEventID: String { machine.lastEventID }

    mutating func disconnect() { body = nil }

    /// Returns the next event; `nil` at the end of the sequence.
    mutating func next() async throws -> ServerSentEvent? {
        while true {
            let end: EventStreamMachine.End
            var failure: (any Error)?
            do {
                if let event = try await read() {
                    machine.deliver()
                    return event
                }
                end = hasNoContent ? .noContent : .complete
            } catch {
                if Task.isCancelled || error is CancellationError { throw CancellationError() }
                (end, failure) = (stream.end(by: error, hasReceived: machine.hasReceived), error)
            }
            disconnect()
            let random = stream.random()
            switch machine.endConnection(end, canReplay: request.body.canBeSent, random: random) {
            case .connect(let wait):
                if let deadline = request.deadline, RetryStop.reason(delay: wait, remaining: deadline.remaining) != nil {
                    if let failure { throw stream.client.mapped(failure, of: request) }
                    throw deadline.timeoutError(
                        in: .backoff, since: nil, "before the stream connects again", request: sentRequest, delivery: .sent)
                }
                observer?.report(.waiting(wait, after: failure))
                if wait > .zero { try await stream.clock.sleep(for: wait) }
                try Task.checkCancellation()
            case .fail:
                if let failure { throw stream.client.mapped(failure, of: request) }
                throw EventStreamError.endedTooOften(machine.reconnects, request: sentRequest, response?.head)
            case .finish: return nil
            }
        }
    }

    /// Reads the next event. Opens a connection if no connection is open. Returns `nil` at the end of the connection.
    private mutating func read() async throws -> ServerSentEvent? {
        if body == nil { body = try await connect() }
        guard let body else { return nil }
        while true {
            let item: EventStreamParser.Item?
            do throws(EventTooLargeError) {
                item = try parser.next()
            } catch {
                throw TransportError.bodyTooLarge(error.excessDescription, request: response?.request)
            }
            machine.record(lastEventID: parser.lastEventID, reconnectionTime: parser.reconnectionTime)
            switch item {
            case .event(let event): return event
            case .comment(let text):
                stream.onComment?(text)
                continue
            case nil: break
            }
            guard let chunk = try await checkSilence(discard: { _ in }, { try await body.next() }) else { return nil }
            machine.receive()
            parser.append(chunk)
        }
    }

    /// Opens a connection. Returns `nil` for a response with the status 204.
    private mutating func connect() async throws -> ResponseBody.SharedIterator? {
        observer?.report(.connecting)
        response = nil
        var request = request
        // A value of more than `FieldLimits.valueBytes` bytes is not sent, because most servers refuse longer values.
        let isSent = !machine.lastEventID.isEmpty && machine.lastEventID.utf8.count <= FieldLimits.valueBytes
        request.headers[.lastEventID] = isSent ? machine.lastEventID : nil
        let (client, sent) = (stream.client, request)
        let response = try await checkSilence(
            discard: { $0.body.abandon() }, { try await client.unmappedResponse(to: sent, in: client.envelopeReader) })
        self.response = response
        hasNoContent = response.status == .noContent
        if hasNoContent {
            response.body.abandon()
            return nil
        }
        // A stack without `validateStatus` returns responses with any status. Therefore, this code checks the status, and throws the same
        // error as `validateStatus`.
        if response.status.code >= 300 { throw try await StatusError(reading: response) }
        if let error = EventStreamError(checking: response) {
            response.body.abandon()
            throw error
        }
        parser = EventStreamParser(
            eventLimitBytes: stream.policy.eventLimitBytes, reportsComments: stream.onComment != nil, lastEventID: machine.lastEventID)
        observer?.report(.open)
        return response.body.makeSharedIterator()
    }

    /// Returns the result of `operation`.
    ///
    /// - Throws: ``EventStreamError`` if the operation takes longer than the silence timeout.
    private func checkSilence<Result: Sendable>(
        discard: @escaping @Sendable (Result) -> Void, _ operation: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        guard let limit = stream.policy.silenceTimeout?.bounded else { return try await operation() }
        let (clock, request, head, isFromStart) = (stream.clock, sentRequest, response?.head, !machine.hasReceived)
        return try await withExpiry(
            {
                try await clock.sleep(for: limit)
                throw EventStreamError.silent(for: limit, fromStart: isFromStart, request: request, head)
            }, discard: discard, operation: operation)
    }
}

extension HTTPField.Name {
    /// The field `Last-Event-ID`
    /// ([HTML, section 9.2.4](https://html.spec.whatwg.org/multipage/server-sent-events.html#the-last-event-id-header)).
    fileprivate static let lastEventID = HTTPField.Name.known("Last-Event-ID")
}

extension EventStream {
    /// Returns the request with the fields that a stream sends on each connection.
    func request() throws -> Request {
        var request = try makeRequest()
        if request.headers[.accept] == nil { request.headers[.accept] = EventStreamError.mediaType }
        if request.headers[.cacheControl] == nil { request.headers[.cacheControl] = "no-cache" }
        // Some servers and proxies compress the stream even if the request asks for `identity`. Browsers decode a compressed stream, as the
        // Fetch standard requires.
        request.options.call.decodesUnrequestedCodings = request.headers[.acceptEncoding] == nil
        // If a proxy compresses a stream, the proxy may delay the events until a buffer is full or the stream ends.
        request.prepareForLongCall()
        request.options.turnOffRepetitionUnlessSet()
        return request
    }

    /// Returns the kind of end of a connection that has failed with an error.
    ///
    /// - Parameter hasReceived: whether a byte arrived on an earlier connection.
    fileprivate func end(by error: any Error, hasReceived: Bool) -> EventStreamMachine.End {
        if let error = error as? EventStreamError { return error.code == .silent ? .silent : .permanent }
        return TemporaryFailure(error, statuses: policy.statuses, afterSuccess: hasReceived)
            .map { .failed(mayBeProcessed: !$0.isUnprocessed, retryAfter: $0.retryAfter) } ?? .permanent
    }
}
