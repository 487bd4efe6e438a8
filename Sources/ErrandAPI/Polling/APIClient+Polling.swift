internal import ErrandCore
internal import ErrandFormats

extension APIClient {
    /// Repeats a call until the server has done the work of the call, and returns the last response.
    ///
    /// ```swift
    /// let job = try await client.poll(Endpoint<Job>.get("/jobs/\(id, "id")")) { $0.value.state == .done }
    ///
    /// // A request that starts work: the response is 202 with a Location to poll.
    /// let report = try await client.poll(Endpoint<Report>.post("/reports", body: .json(query)))
    /// ```
    ///
    /// - The status 202 means that the work is not done, unless the body is in the client's envelope and describes an error. The next
    ///   request is a GET for the `Location` of the response ([RFC 9110, section
    ///   15.3.3](https://www.rfc-editor.org/rfc/rfc9110#section-15.3.3)). If the response has no `Location`, the last request is sent again
    ///   if it was a GET or HEAD. After any other method, the call fails with a ``PollingError``.
    /// - For a 202, the condition is not called, and the body is not decoded: a progress in such a body is not shown. To show that
    ///   progress, call ``response(_:)`` in a loop of your own: the function decodes the body of a 202 too.
    /// - Any other response is decoded, and `isDone` decides whether the work is done.
    /// - The next request is sent after the time in `Retry-After`. If `Retry-After` is missing, the request is sent after the backoff. If
    ///   the timeout would pass before the next request, the call fails immediately.
    /// - If a response with the status 200 has an `ETag`, the next request has `If-None-Match`. A response to this request with the status
    ///   304 means that the earlier response is still current.
    /// - Some failures are tolerated, so that polling continues: lost connections, timeouts, the statuses 408, 425, 429, 500, 502, 503 and
    ///   504, and refusals by `rateLimit` or `circuitBreaker`. If the first request is not idempotent, the request is repeated only if the
    ///   server certainly has not processed the request.
    ///
    /// With `retry` in the stack, each of these requests is a call that makes up to `maxAttempts` attempts.
    ///
    /// - Parameters:
    ///   - endpoint: the call; its output is decoded from every response whose status is neither 202 nor 304.
    ///   - policy: the waiting times and the timeout. Default: ``PollingPolicy/standard``.
    ///   - isDone: a closure that returns whether the work is done. The closure runs on the caller's actor, so a caller on the main actor
    ///     can update a model in the closure. If the work has failed, throw an error: the call fails with that error. Default: the first
    ///     response with a status other than 202 ends the polling.
    ///   - clock: the clock that measures the waiting times and the timeout.
    ///   - random: a closure that returns the random number for the jitter: at least 0 and less than 1.
    /// - Throws: ``PollingError``; the errors of ``value(_:)``; `CancellationError`.
    public func poll<Output>(
        _ endpoint: Endpoint<Output>, policy: PollingPolicy = .standard,
        until isDone: (TypedResponse<Output>) async throws -> Bool = { _ in true },
        clock: any Clock<Duration> = ContinuousClock(), random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) async throws -> TypedResponse<Output> {
        var poll = Poll(method: endpoint.method)
        let elapsed = makeStopwatch(on: clock)
        while true {
            var request = try poll.request(from: await encodedRequest(for: endpoint))
            if let timeout = policy.timeout { request.deadline = Deadline(after: timeout - elapsed(), clock: clock) }
            let outcome: PollOutcome<Output>
            do {
                outcome = try await self.outcome(of: request, as: endpoint.decoding, in: envelopeReader(for: endpoint), clock)
            } catch let error as StatusError where error.status == .notModified && poll.isConditional {
                outcome = .unchanged(error.head)
            } catch {
                let isLate = policy.timeout.map { elapsed() >= $0 } ?? false
                guard poll.recordFailure(error, policy, isLate: isLate) else { throw mapped(error, of: request) }
                outcome = .failure(error)
            }
            let wait: Duration?
            switch outcome {
            case .value(let response):
                if try await isDone(response) { return response }
                try poll.recordResponse(response.head, request: response.request, policy)
                wait = response.headers.retryAfter
            case .accepted(let response):
                try poll.recordResponse(response.head, request: response.request, policy)
                wait = response.headers.retryAfter
            case .unchanged(let head):
                poll.recordUnchanged(head)
                wait = head.headerFields.retryAfter
            case .failure(let error):
                wait = TemporaryFailure(error)?.retryAfter
            }
            let pause = policy.delay(afterAttempt: poll.count, retryAfter: wait, random: random())
            if let timeout = policy.timeout, elapsed() + pause >= timeout {
                let message =
                    "not done after \(elapsed().inWords) and \(poll.count.counted("request"))"
                    + (elapsed() < timeout ? ", and the timeout of \(timeout.inWords) would pass before the next request" : "")
                // The request of the last failure has the base URL, which the request of the call may lack.
                let sent = poll.sent ?? (poll.failure as? any RequestFailure)?.request ?? request
                throw PollingError(.timedOut, message, request: sent, poll.head, underlying: poll.failure)
            }
            try await clock.sleep(for: pause)
        }
    }

    /// Returns the request of the call. A large body is not encoded on the caller's actor.
    @concurrent private func encodedRequest<Output>(for endpoint: Endpoint<Output>) async throws -> Request { try request(for: endpoint) }

    @concurrent private func outcome<Output>(
        of request: Request, as decoding: ResponseDecoding<Output>, in envelope: EnvelopeReader?, _ clock: any Clock<Duration>
    ) async throws -> PollOutcome<Output> {
        try await unmappedCall(request, in: envelope) { response in
            if response.status == .accepted {
                // The body is read for two reasons. The connection can be reused only after the end of the body, and an envelope in the
                // body can report an error.
                var response = response
                try await response.bufferBody(within: .seconds(1), on: clock)
                if let body = response.body.bufferedData, let failure = envelope?.failure(inOutput: body, response.head) {
                    throw failure.completed(by: response)
                }
                response.discard()
                return .accepted(TypedResponse(value: (), response: response))
            }
            return .value(TypedResponse(value: try await decode(response, as: decoding), response: response))
        }
    }
}

/// The outcome of one request.
private enum PollOutcome<Output: Sendable>: Sendable {
    case value(TypedResponse<Output>)
    /// The status 202: the work is not done.
    case accepted(TypedResponse<Void>)
    /// The status 304: the response is unchanged.
    case unchanged(HTTPResponse)
    /// A tolerated failure.
    case failure(any Error)
}
