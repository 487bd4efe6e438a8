/// The layer just outside the transport, which every request passes. It checks for cancellation, refuses a request without an authority,
/// adds the priority field, and enforces deadlines and phase limits for transports that can't do it themselves.
struct TransportBoundary<Transport: HTTPTransport>: HTTPSender {
    let transport: Transport

    func send(_ request: Request) async throws -> Response {
        try Task.checkCancellation()
        var request = request
        try request.readTarget()
        // Before the fallback fields, which may include the priority.
        let addsPriority = request.options.priority != .normal && !request.headers.contains(.priority)
        if request.options.hasFallbackHeaders { request.headers = request.completedFields }
        if addsPriority { request.headers[.priority] = request.options.priority.description }
        if request.options.call.isPreparing { try request.endPreparation() }
        // Decided here, because each further function takes its share of a call's time: most requests need nothing of what follows.
        if isPlain(request) { return try await transport.send(request) }
        guard case .use(let timeout) = request.options.attemptTimeout, !request.options.call.hasAttemptDeadline else {
            return try await profiled(request)
        }
        return try await attempted(request, within: timeout)
    }

    /// Whether there is no limit but a deadline that the transport obeys, and no profile.
    private func isPlain(_ request: Request) -> Bool {
        let options = request.options
        guard options.call.profilePosition == nil, !options.hasLimits else { return false }
        guard let deadline = request.deadline else { return true }
        return transport.capabilities.contains(.deadlines) && deadline.continuousInstant != nil && !deadline.hasPassed
    }

    private func attempted(_ request: Request, within timeout: Duration) async throws -> Response {
        var attempt = request
        attempt.deadline = .earlier(request.deadline, Deadline(by: .attemptTimeoutOption, after: timeout))
        do {
            var response = try await profiled(attempt)
            response.restoreCall(of: request)
            return response
        } catch {
            throw error.restoringCall(of: request)
        }
    }

    private func profiled(_ request: Request) async throws -> Response {
        guard let position = request.options.call.profilePosition else { return try await timed(request) }
        return try await position.within(HTTPStack.name(of: transport), request) { request in
            guard let position = request.options.call.profilePosition else { return try await timed(request) }
            let sink = request.options.eventSink
            var profiled = request
            profiled.options.eventSink = EventSinks.together(sink, ExchangeSink(position: position, request: request))
            var response: Response
            do {
                response = try await timed(profiled)
            } catch {
                throw error.restoringCall(of: request)
            }
            response.restoreCall(of: request)
            if let layer = position.layer { position.profile.answered(layer, version: response.metadata.httpVersion) }
            return response
        }
    }

    /// Returns the transport's response, with a limit for each phase if there are any.
    private func timed(_ request: Request) async throws -> Response {
        guard let limits = request.options.effectivePhaseTimeouts, !limits.isEmpty else { return try await sent(request) }
        var limited = request
        limited.options.limitPhases(by: limits)
        do {
            let obeysLimits = transport.capabilities.contains(.phaseTimeouts) && limits.clock is ContinuousClock
            var response = try await obeysLimits ? sent(limited) : watched(limited, by: limits)
            response.request.options.restorePhaseTimeouts(of: request.options)
            return response
        } catch {
            guard var failure = error.restoringCall(of: request, restoresBody: true) as? any RequestFailure else { throw error }
            failure.request?.options.restorePhaseTimeouts(of: request.options)
            throw failure
        }
    }

    /// Returns the transport's response, if it comes before the deadline.
    private func sent(_ request: Request) async throws -> Response {
        guard let deadline = request.deadline else { return try await transport.send(request) }
        if deadline.hasPassed { throw TransportError.timedOut(.queue, after: .zero, request: request, delivery: .notSent) }
        if transport.capabilities.contains(.deadlines), deadline.continuousInstant != nil { return try await transport.send(request) }
        return try await raced(request, by: deadline)
    }

    /// Returns the transport's response, with a limit for each phase.
    private func watched(_ request: Request, by limits: PhaseTimeouts) async throws -> Response {
        let watch = PhaseWatch(limits, reportsPhases: transport.capabilities.contains(.phaseEvents), sink: request.options.eventSink)
        var watched = request
        watched.options.eventSink = watch
        if limits.idleWrite != nil { watched.body = request.body.watched(by: watch) }
        let sent = watched
        var response: Response = try await racing(
            { try await watch.expiry(of: request) }, discard: { $0.body.abandon() }, operation: { try await self.sent(sent) })
        response.request.body = request.body
        response.request.options.eventSink = request.options.eventSink
        guard let limit = limits.idleRead?.bounded else { return response }
        let head = response.head
        let exchange = response.exchange
        response.body = response.body.replacingSource { source in
            RacedBodySource(source, of: exchange) {
                try await limits.clock.sleep(for: limit)
                return .timedOut(
                    .body, after: limit, limits.message("idleRead", limit), request: request,
                    response: head, delivery: .sent)
            }
        }
        return response
    }

    private func raced(_ request: Request, by deadline: Deadline) async throws -> Response {
        let started = deadline.remaining
        let transport = transport
        let response: Response = try await racing(
            deadline, onTimeout: { .timedOut(.response, after: started - deadline.remaining, request: request, delivery: .unknown) },
            discard: { $0.body.abandon() },
            operation: { try await transport.send(request) })
        var bounded = response
        bounded.body = response.body.replacingSource { source in
            RacedBodySource(source, of: response.exchange, deadline: deadline) {
                try await deadline.wait()
                return .timedOut(
                    .body, after: started - deadline.remaining, request: request, response: response.head, delivery: .sent)
            }
        }
        return bounded
    }
}
