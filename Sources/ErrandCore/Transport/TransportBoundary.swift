/// The layer directly outside the transport, which every request passes. The boundary checks for cancellation, refuses a request
/// without an authority, and adds the priority field. For a transport that can't enforce deadlines and phase limits, the boundary
/// enforces them.
struct TransportBoundary<Transport: HTTPTransport>: HTTPSender {
    let transport: Transport

    func send(_ request: Request) async throws -> Response {
        try Task.checkCancellation()
        var request = request
        request.reportSensitiveNames()
        try request.completeForTransport()
        if let type = request.body.contentType, !HTTPField.isValidValue(type) { try request.checkContentType(type) }
        // The check is made here, because each further function call costs time, and most requests need none of the following steps.
        if isPlain(request) { return try await transport.send(request) }
        return try await request.restoringCall { [request] in try await sendAttempt(request) }
    }

    /// Returns false if the request has a profile or limits. A deadline that the transport itself enforces is allowed.
    private func isPlain(_ request: Request) -> Bool {
        let options = request.options
        guard options.call.profilePosition == nil, !options.hasLimits else { return false }
        guard let deadline = request.deadline else { return true }
        return transport.capabilities.contains(.deadlines) && deadline.continuousInstant != nil && !deadline.hasPassed
    }

    /// Sends the request with the limit of its attempt, if the request has such a limit.
    private func sendAttempt(_ request: Request) async throws -> Response {
        guard case .use(let timeout) = request.options.attemptTimeout, !request.options.call.hasAttemptDeadline else {
            return try await sendProfiling(request)
        }
        var attempt = request
        attempt.deadline = .earlier(request.deadline, Deadline(by: .attemptTimeoutOption, after: timeout))
        return try await sendProfiling(attempt)
    }

    private func sendProfiling(_ request: Request) async throws -> Response {
        guard let position = request.options.call.profilePosition else { return try await sendWatchingPhases(request) }
        return try await position.within(HTTPStack.name(of: transport), request) { request in
            guard let position = request.options.call.profilePosition else { return try await sendWatchingPhases(request) }
            var profiled = request
            profiled.options.eventSink = EventSinks.together(
                request.options.eventSink, ExchangeSink(position: position, request: request))
            let response = try await sendWatchingPhases(profiled)
            if let layer = position.layer { position.profile.recordVersion(response.metadata.httpVersion, in: layer) }
            return response
        }
    }

    /// Sends the request, and limits the time of each phase if the request has phase limits.
    private func sendWatchingPhases(_ request: Request) async throws -> Response {
        guard let limits = request.options.effectivePhaseTimeouts, !limits.isEmpty else { return try await sendWithinDeadline(request) }
        var limited = request
        limited.options.limitPhases(by: limits)
        do {
            let obeysLimits = transport.capabilities.contains(.phaseTimeouts) && limits.clock is ContinuousClock
            var response = try await obeysLimits ? sendWithinDeadline(limited) : sendWatched(limited, by: limits)
            response.request.options.restorePhaseTimeouts(of: request.options)
            return response
        } catch {
            guard var failure = error as? any RequestFailure, failure.request?.id == request.id else { throw error }
            failure.request?.body = request.body
            failure.request?.options.restorePhaseTimeouts(of: request.options)
            throw failure
        }
    }

    /// Sends the request. If no response arrives before the deadline of the request, the call fails.
    private func sendWithinDeadline(_ request: Request) async throws -> Response {
        guard let deadline = request.deadline else { return try await transport.send(request) }
        if deadline.hasPassed { throw TransportError.timedOut(.queue, after: .zero, request: request, delivery: .notSent) }
        if transport.capabilities.contains(.deadlines), deadline.continuousInstant != nil { return try await transport.send(request) }
        return try await sendRacing(request, against: deadline)
    }

    /// Sends the request, and limits the time of each phase.
    private func sendWatched(_ request: Request, by limits: PhaseTimeouts) async throws -> Response {
        let watch = PhaseWatch(limits, reportsPhases: transport.capabilities.contains(.phaseEvents), sink: request.options.eventSink)
        var watched = request
        watched.options.eventSink = watch
        if limits.idleWrite != nil { watched.body = request.body.watched(by: watch) }
        let sent = watched
        var response: Response = try await withExpiry(
            { try await watch.expiry(of: request) }, discard: { $0.body.abandon() }, operation: { try await self.sendWithinDeadline(sent) })
        response.request.body = request.body
        response.request.options.eventSink = request.options.eventSink
        guard let limit = limits.idleRead?.bounded else { return response }
        let head = response.head
        let exchange = response.exchange
        response.body = response.body.replacingSource { source in
            RacedBodySource(source, of: exchange) {
                try await limits.clock.sleep(for: limit)
                return .timedOut(
                    .body, after: limit, limits.message(.idleRead), request: request,
                    response: head, delivery: .sent)
            }
        }
        return response
    }

    private func sendRacing(_ request: Request, against deadline: Deadline) async throws -> Response {
        let started = deadline.remaining
        let transport = transport
        let response: Response = try await request.withinDeadline(
            .response, delivery: .unknown, since: started, discard: { $0.body.abandon() },
            operation: { try await transport.send(request) })
        var bounded = response
        bounded.body = response.body.replacingSource { source in
            RacedBodySource(source, of: response.exchange, deadline: deadline) {
                try await deadline.wait()
                return deadline.timeoutError(in: .body, since: started, request: request, response: response.head, delivery: .sent)
            }
        }
        return bounded
    }
}

extension Request {
    /// Parses the target, and adds the last fields: the fallback fields of the options, and the priority.
    ///
    /// - Throws: ``InvalidURLError`` for a request without a scheme or an authority, or with a URL that can't be sent.
    mutating func completeForTransport() throws {
        try readTarget()
        // The priority is read before the fallback fields are added, because these fields may include a priority.
        let addsPriority = options.priority != .normal && !headers.contains(.priority)
        if options.hasFallbackHeaders { headers = completedFields }
        if addsPriority { headers[.priority] = options.priority.description }
    }
}
