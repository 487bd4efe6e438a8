internal import ErrandCore
internal import ErrandFormats
internal import ErrandMiddleware

extension APIClient {
    /// Makes a call again and again until its work is done, and returns the response that says so.
    ///
    /// ```swift
    /// let job = try await client.poll(Endpoint<Job>.get("/jobs/\(id, "id")")) { $0.value.state == .done }
    ///
    /// // A request that begins work: 202, and a Location to look at.
    /// let report = try await client.poll(Endpoint<Report>.post("/reports", body: .json(query)))
    /// ```
    ///
    /// - A response with the status 202 says that the work is not done, whatever its body is. Its `Location` is requested next, by GET
    ///   ([RFC 9110, section 15.3.3](https://www.rfc-editor.org/rfc/rfc9110#section-15.3.3)); without one, a GET or HEAD is made again.
    /// - Any other response is decoded, and `isDone` decides.
    /// - The next request comes after `Retry-After`, or else after the backoff. If it would come after the timeout, the call fails at once.
    /// - If the response had an `ETag`, the next request has `If-None-Match`, and 304 means that nothing has changed.
    /// - Lost connections, timeouts, and the statuses 408, 429 and 5xx are waited out, but not for a first request that is not idempotent.
    ///
    /// - Parameters:
    ///   - endpoint: the call; its output is what a response that is not 202 has.
    ///   - policy: how often, and for how long; ``PollingPolicy/standard`` by default.
    ///   - isDone: whether the work is done; by default, the first response that is not 202 ends it. An error ends the polling with it.
    ///   - clock: measures the waits and the timeout.
    ///   - random: a number from 0 up to, but not including, 1: the jitter.
    /// - Throws: ``PollingError``; what ``value(_:)`` throws; `CancellationError`.
    @concurrent public func poll<Output>(
        _ endpoint: Endpoint<Output>, policy: PollingPolicy = .standard,
        until isDone: @escaping @Sendable (TypedResponse<Output>) throws -> Bool = { _ in true },
        clock: any Clock<Duration> = ContinuousClock(), random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) async throws -> TypedResponse<Output> {
        var poll = Poll(method: endpoint.method)
        let timer = Timer(clock)
        while true {
            let call = try request(for: endpoint)
            var request = try poll.request(from: call)
            if let timeout = policy.timeout {
                let remaining = timeout - timer.elapsed
                if request.deadline.map({ $0.remaining > remaining }) ?? true {
                    request.deadline = Deadline(after: remaining, clock: clock)
                }
            }
            let outcome: PollOutcome<Output>
            do {
                outcome = try await self.outcome(of: request, as: endpoint.decoding)
            } catch let error as StatusError where error.status == .notModified && poll.isConditional {
                outcome = .unchanged(error.head)
            } catch  where poll.waitsOut(error, for: call, policy, isLate: policy.timeout.map { timer.elapsed >= $0 } ?? false) {
                outcome = .failure(error)
            } catch {
                throw mapped(error, of: request, ignoresEnvelope: endpoint.decoding.ignoresEnvelope)
            }
            let wait: Duration?
            switch outcome {
            case .value(let response):
                if try isDone(response) { return response }
                try poll.noteResponse(response.head, request: response.request, policy)
                wait = response.headers.retryAfter
            case .accepted(let response):
                try poll.noteResponse(response.head, request: response.request, policy)
                wait = response.headers.retryAfter
            case .unchanged(let head):
                poll.noteUnchanged(head)
                wait = head.headerFields.retryAfter
            case .failure(let error):
                wait = (error as? StatusError)?.retryAfter
            }
            let pause = policy.wait(afterAttempt: poll.count, retryAfter: wait, random: random())
            if let timeout = policy.timeout, timer.elapsed + pause >= timeout {
                let message =
                    "not done after \(timer.elapsed.inWords) and \(poll.count) \(poll.count == 1 ? "request" : "requests")"
                    + (timer.elapsed < timeout ? ", and the next one would come after the timeout of \(timeout.inWords)" : "")
                throw PollingError(.timedOut, message, request: poll.sent ?? request, poll.head, underlying: poll.failure)
            }
            try await clock.sleep(for: pause)
        }
    }

    private func outcome<Output>(of request: Request, as decoding: ResponseDecoding<Output>) async throws -> PollOutcome<Output> {
        try await unmappedCall(request) { response in
            if response.status == .accepted {
                try await response.body.drain()
                return .accepted(TypedResponse(value: (), response: response))
            }
            return .value(TypedResponse(value: try await decode(response, as: decoding), response: response))
        }
    }
}

/// What came of one request.
private enum PollOutcome<Output: Sendable>: Sendable {
    case value(TypedResponse<Output>)
    /// 202: the work is not done.
    case accepted(TypedResponse<Void>)
    /// 304: the same as before.
    case unchanged(HTTPResponse)
    /// A failure that is waited out.
    case failure(any Error)
}

/// Measures time by any clock.
private struct Timer {
    private let measure: () -> Duration

    init(_ clock: some Clock<Duration>) {
        let start = clock.now
        measure = { start.duration(to: clock.now) }
    }

    var elapsed: Duration { measure() }
}

/// What is requested next, and what has come so far: a value without a clock and without a task.
struct Poll: Sendable {
    /// The number of requests that were made.
    private(set) var count = 0
    /// The last request as it was sent; `nil` before the first response.
    private(set) var sent: Request?
    /// The head of the last response; `nil` before the first.
    private(set) var head: HTTPResponse?
    /// The failure of the last request, which was waited out.
    private(set) var failure: (any Error)?
    private var failures = 0
    private let method: HTTPRequest.Method
    /// Where the last `Location` leads.
    private var place: HTTPURL?
    /// The origin of the call, which alone gets its credentials; `nil` if a redirect led to another one at once.
    private var home: Origin?
    /// The `ETag` of the last response that had one.
    private var tag: String?
    /// Whether a response was received: the work has begun.
    private var hasBegun = false

    init(method: HTTPRequest.Method) { self.method = method }

    /// Whether the last request had `If-None-Match` of this polling.
    private(set) var isConditional = false

    /// The next request.
    ///
    /// - Parameter call: the request of the call, new each time.
    mutating func request(from call: Request) throws(InvalidURLError) -> Request {
        var request = call
        if let place {
            request.becomeGET()
            // What is said of the first resource is not said of this one.
            for name in Self.conditions { request.head.headerFields[name] = nil }
            request.options.urlTemplate = nil
            try request.move(to: place, from: home)
        }
        isConditional = tag != nil && request.head.headerFields[.ifNoneMatch] == nil
        if isConditional { request.head.headerFields[.ifNoneMatch] = tag }
        return request
    }

    private static let conditions: [HTTPField.Name] = [.ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange, .range]

    /// A response that does not end the polling.
    ///
    /// - Throws: ``PollingError`` if there is no place to poll.
    mutating func noteResponse(_ head: HTTPResponse, request sent: Request, _ policy: PollingPolicy) throws {
        if !hasBegun { home = sent.originOfCall }
        (self.head, self.sent, failure, failures, hasBegun) = (head, sent, nil, 0, true)
        count += 1
        if head.status == .accepted, let location = head.headerFields[.location] {
            place = try self.place(location, from: sent, head, policy)
            tag = nil
        } else if place == nil, ![.get, .head].contains(method) {
            let reason = head.status == .accepted ? ", and there is no Location" : ", and only a GET or HEAD can be made again"
            throw PollingError(.noLocation, "the status is \(head.status.code)\(reason)", request: sent, head)
        }
        if head.status == .ok { tag = head.headerFields[.eTag] }
    }

    /// The response is the same as before (304).
    mutating func noteUnchanged(_ head: HTTPResponse) {
        (self.head, failure, failures) = (head, nil, 0)
        count += 1
    }

    /// Whether a failure is waited out. Counts it.
    ///
    /// - Parameters:
    ///   - request: the request of the call, without the limit of the policy.
    ///   - isLate: whether the time of the policy is over, and the failure is the last one.
    mutating func waitsOut(_ error: any Error, for request: Request, _ policy: PollingPolicy, isLate: Bool) -> Bool {
        let status = (error as? StatusError)?.status
        let isPassing =
            error.isConnectivityError || error.isTimeout || status.map { [408, 429].contains($0.code) || $0.kind == .serverError } ?? false
        // Its own deadline is that of the next request, too.
        guard isPassing, request.deadline?.hasPassed != true else { return false }
        guard isLate || ((hasBegun || request.method.isIdempotent) && failures < policy.maxFailures) else { return false }
        (failure, failures) = (error, failures + 1)
        head = (error as? StatusError)?.head ?? head
        count += 1
        return true
    }

    private func place(_ location: String, from sent: Request, _ head: HTTPResponse, _ policy: PollingPolicy) throws -> HTTPURL {
        let url: HTTPURL
        do {
            let reference = try URLReference(location)
            url = try HTTPURL(sent.url.map { reference.resolved(against: URLReference($0)) } ?? reference)
        } catch {
            throw PollingError(.invalidLocation, error.description, request: sent, head)
        }
        guard [sent.origin, home].contains(url.origin) || policy.allowedOrigins.contains(url.origin) else {
            throw PollingError(.foreignOrigin, "\(url.origin)", request: sent, head)
        }
        return url
    }
}
