#if SWIFT_NIO
internal import ErrandCore
internal import ErrandFormats
internal import NIOCore
internal import NIOHTTP2

/// The end of exchanges and of the connection.
extension HTTP2Handler {
    func becomeIdle(for time: Duration) {
        guard active.isEmpty else { return }
        idleDue = .now() + time.timeAmount
        setAlarm(at: idleDue)
    }

    // MARK: - The alarm

    func setAlarm(of number: Int32) { setAlarm(at: active[number]?.due) }

    /// Sets the alarm for a phase limit that may have begun. Does nothing if the exchange has no phase limits.
    func setLimitAlarm(of number: Int32) { if active[number]?.exchange.limits != nil { setAlarm(of: number) } }

    func alarmRang() {
        alarm.rang()
        if isClosing {
            context?.closeAtOnce()
            return
        }
        let now = NIODeadline.now()
        var next = NIODeadline.distantFuture
        for number in active.keys {
            if let current = active[number], current.due <= now { timePassed(number, current.exchange, now) }
        }
        if let due = probeDue, due <= now { endProbe() }
        guard !isClosing else { return }
        if let action = pings?.check(machine.framesReceived, at: now) {
            switch action {
            case .none: break
            case .ping: ping()
            case .lost(let time): return lose(HTTP2ConnectionError.noPong(after: time))
            }
        }
        if let due = idleDue, due <= now, active.isEmpty, let connection, pool.removeIfIdle(connection) { return close() }
        for number in active.keys { next = min(next, active[number]?.due ?? .distantFuture) }
        setAlarm(at: min(next, idleDue ?? .distantFuture, pings?.due ?? .distantFuture, probeDue ?? .distantFuture))
    }

    private func timePassed(_ number: Int32, _ exchange: Exchange, _ now: NIODeadline) {
        guard isActive(exchange, number) else { return }
        let position = machine.position(of: number)
        if let failure = active.change(number, { $0.timeout(at: now, position) }) ?? nil {
            // The connection may be lost. The next exchange must not also wait for this connection.
            if machine.isSilent(since: number), let connection {
                machine.drain()
                pool.drain(connection)
            }
            settle(number, failure, code: .cancel)
        } else if let due = active[number]?.continueDue, due <= now {
            continueUpload(number)
        } else if let due = active[number]?.rest?.due, due <= now {
            let hasProgress = machine.takeProgress(number)
            let continues = active.change(number) { $0.rest?.continues(at: now, hasProgress: hasProgress) ?? false } ?? false
            if !continues { settle(number, nil, code: .cancel) }
        }
    }

    // MARK: - Pings

    private func ping() { write(.ping(HTTP2PingData(withInteger: UInt64(machine.framesReceived)), ack: false), on: 0) }

    /// Ends the wait for the response to a ping, because the server has responded, or because the time has passed.
    func endProbe() {
        guard probeDue != nil, let connection else { return }
        probeDue = nil
        let (heldStreams, isSilent) = machine.endProbe()
        if isSilent {
            machine.drain()
            pool.drain(connection)
        }
        for _ in 0..<heldStreams { release(connection) }
    }

    // MARK: - The end of an exchange

    func end(_ exchange: Exchange, because error: (any Error)?) {
        if let number = numbers[ObjectIdentifier(exchange)] { cancel(number, because: error) }
    }

    func end(_ attempt: AttemptID, because error: (any Error)?) {
        if machine.takes(.abandoned, of: attempt) { cancel(attempt.stream, because: error) }
    }

    private func cancel(_ number: Int32, because error: (any Error)?) {
        // With an idle timeout of zero, the connection closes after its exchange, and no ping is needed to check the connection.
        let probe = pool.settings.idleTimeout > .zero ? machine.cancel(number) : .none
        settle(number, error, code: .cancel, probe)
    }

    /// Ends an exchange before its response is complete. The other exchanges continue.
    ///
    /// - Parameter code: the code of the RST_STREAM; `nil` if no RST_STREAM is sent.
    func settle(_ number: Int32, _ error: (any Error)?, code: HTTP2Code?, _ probe: ResetProbe.Action = .none) {
        guard let connection, var done = remove(number) else { return }
        if leave(number), let code { reset(number, code) }
        if probe == .ping {
            ping()
            probeDue = .now() + HTTP2Limits.probeTimeout.timeAmount
            setAlarm(at: probeDue)
        }
        done.takeUpload().stop()
        done.settle(error, on: connection)
        if probe == .none { release(connection) }
    }

    /// Ends a stream before its response is complete. Returns whether the stream must be reset.
    private func leave(_ number: Int32) -> Bool {
        frameGuard?.countLeft()
        return machine.end(number)
    }

    /// Ends an exchange whose head `NIOHTTP2Handler` has refused to write.
    func headHasNotLeft(_ number: Int32, _ error: any Error) {
        guard let current = active[number] else { return }
        let position = ExchangePosition(.unsent, .nothing)
        settle(number, current.failure(.connectionLost, at: position, message: HTTP2ErrorText.of(error), underlying: error), code: nil)
    }

    /// Sends a request again if the server has not processed the request, at most once for each reason.
    func moveOn(_ number: Int32, _ error: HTTP2ConnectionError) {
        guard let current = active[number] else { return }
        let phase = machine.position(of: number)?.phase ?? .response
        // If a part of the response was received, the server has processed the request, even if the frame reports the opposite.
        let delivery: Delivery = current.head == nil ? .notSent : .sent
        let failure = current.failure(
            .connectionLost, at: ExchangePosition(phase: phase, delivery: delivery), message: "\(error)", underlying: error)
        let isRepeated = repeatElsewhere(number, after: failure, code: nil) { exchange, _ in
            current.head == nil && (error.needsHTTP1 ? exchange.moveOnToHTTP1() : exchange.moveOnAsUnprocessed())
        }
        if !isRepeated { settle(number, failure, code: nil) }
    }

    /// Sends the request again, if possible, after the server has refused the request as misdirected (421).
    ///
    /// - Returns: whether the request is sent again. If the request is sent again, the connection takes no further exchange with this
    ///   origin. If the connection was opened for this origin, the connection takes no further exchange at all. The other exchanges in
    ///   progress continue.
    func moveOnAsMisdirected(_ number: Int32) -> Bool {
        repeatElsewhere(number, isFresh: true) { exchange, connection in
            let isGuest = exchange.origin != connection.origin
            if isGuest { pool.keepApart(exchange.route) }
            guard exchange.moveOnAsMisdirected() else { return false }
            if !isGuest {
                machine.drain()
                pool.drain(connection)
            }
            return true
        }
    }

    /// Sends the request again without `Expect`, if possible, after the server has refused the expectation (417). The body of the request
    /// was not sent.
    ///
    /// - Returns: whether the request is sent again.
    func moveOnWithoutExpect(_ number: Int32) -> Bool { repeatElsewhere(number) { exchange, _ in exchange.moveOnWithoutExpect() } }

    /// Sends a request again, on another stream or another connection.
    ///
    /// - Parameters:
    ///   - failure: the failure of the attempt, for the events of the exchange.
    ///   - isFresh: whether the request needs a new connection.
    ///   - code: the code of the RST_STREAM; `nil` if no RST_STREAM is sent.
    ///   - mayMoveOn: the closure that returns whether the request may be sent again.
    private func repeatElsewhere(
        _ number: Int32, after failure: any Error = CancellationError(), isFresh: Bool = false, code: HTTP2Code? = .cancel,
        _ mayMoveOn: (Exchange, Connection) -> Bool
    ) -> Bool {
        guard let connection, let exchange = active[number]?.exchange else { return false }
        // The upload stops first, so that its task can no longer open the body for this connection. Even if the request is not sent
        // again, the rest of its body is not needed.
        stopUpload(of: AttemptID(number))
        guard mayMoveOn(exchange, connection) else { return false }
        _ = remove(number)
        if leave(number), let code { reset(number, code) }
        exchange.events?.beginAgain(after: failure)
        release(connection)
        pool.send(exchange, isFresh: isFresh)
        return true
    }

    /// Ends an exchange whose response breaks the rules of HTTP.
    func refuse(_ number: Int32, _ error: HTTP2ResponseError) {
        guard active[number] != nil else { return }
        if machine.countMalformedResponse() {
            let failure = HTTP2ConnectionError.tooManyMalformedResponses(limit: HTTP2Limits.malformedResponses)
            return breakConnection(.enhanceYourCalm, failure)
        }
        fail(number, error, code: .protocolError)
    }

    /// - Parameter code: the code of the RST_STREAM; `nil` if no RST_STREAM is sent.
    func fail(_ number: Int32, _ error: HTTP2ResponseError, code: HTTP2Code? = nil) {
        guard let current = active[number] else { return }
        let failure = current.failure(.invalidResponse, at: machine.position(of: number), message: "\(error)", underlying: error)
        settle(number, failure, code: code)
    }

    // MARK: - The end of the connection

    /// Closes the connection because the server breaks the rules of HTTP/2.
    func breakConnection(_ code: HTTP2Code, _ error: HTTP2ConnectionError) {
        goAway(code)
        lose(error)
    }

    private func goAway(_ code: HTTP2Code) {
        guard sentGoAway == nil, context?.channel.isActive == true else { return }
        write(.goAway(lastStreamID: 0, errorCode: code.frameCode, opaqueData: nil), on: 0)
        flushNow()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let error = error as? HTTP2ConnectionError, let code = error.codeOfGuard {
            // A closing connection waits for the end of the server's side. An error of ``FrameGuard`` ends this wait.
            if isClosing { context.closeAtOnce() } else { breakConnection(code, error) }
            return
        }
        // For an error of the connection, `NIOHTTP2Handler` first sends a GOAWAY and then reports the error.
        if sentGoAway == nil, !isClosing {
            if keepHeadError(error) { return }
            let streamError = error as? NIOHTTP2Errors.StreamError
            if let number = machine.takeBroken() { return fail(number, .streamError(HTTP2ErrorText.of(streamError?.baseError ?? error))) }
            // The error belongs to a stream whose exchange is over, or to a write after a reset.
            if streamError != nil || error is any NIOHTTP2Error && isReading { return }
            if error is NIOHTTP2Errors.StreamClosed || error is NIOHTTP2Errors.NoSuchStream { return }
        }
        if failure == nil { failure = error }
        lose(failure)
    }

    func channelInactive(context: ChannelHandlerContext) {
        lose(failure)
        context.fireChannelInactive()
    }

    /// Ends the use of a lost connection. Each exchange in progress fails, or is sent again over another connection.
    func lose(_ error: (any Error)?) {
        guard let connection, !machine.isClosed || !active.isEmpty else { return close() }
        let error = error.map { reason(of: $0) }
        let ended = active.keys.map { ($0, machine.position(of: $0)) }
        machine.close()
        if ended.isEmpty {
            // A connection with held streams is not idle for the pool. Therefore `removeIfIdle` would keep the connection.
            if machine.endProbe().heldStreams > 0 { pool.remove(connection) } else { _ = pool.removeIfIdle(connection) }
            return close()
        }
        pool.remove(connection)
        for (number, position) in ended {
            guard let position, var done = remove(number) else { continue }
            done.takeUpload().stop()
            let failure = failure(of: done, at: position, because: error)
            if position.mayBeStale, done.exchange.moveOn(after: position.delivery) {
                done.exchange.events?.beginAgain(after: failure)
                pool.send(done.exchange, isFresh: true)
            } else {
                done.settle(failure, on: connection)
            }
        }
        // This call comes last, because the delivery of a response sets the alarm.
        close()
    }

    /// Returns the error in words if the server has broken the rules; otherwise the error itself.
    private func reason(of error: any Error) -> any Error {
        guard let code = sentGoAway, !(error is HTTP2ConnectionError) else { return error }
        var text = HTTP2ErrorText.of(error, code)
        if code == .compressionError || error is NIOHTTP2Errors.ExcessivelyLargeHeaderBlock {
            text = "the fields of a response can't be read, or are longer than \(pool.settings.responseLimits.headBytes.counted("byte"))"
        }
        text += hint
        return HTTP2ConnectionError.closed(code, text: text)
    }

    /// A hint for a connection on which no frame was received. Without TLS, no handshake has shown that the server knows
    /// HTTP/2.
    private var hint: String {
        machine.framesReceived == 0 && connection?.origin.scheme.isExactly("http") == true ? "; the server may not know HTTP/2" : ""
    }

    private func failure(of done: ActiveExchange, at position: ExchangePosition, because error: (any Error)?) -> TransportError {
        var error = error
        if error == nil, let code = machine.goAwayCode { error = HTTP2ConnectionError.goAway(code) }
        let message = error.map { FailureText.of($0) } ?? "connection closed by the server" + hint
        let code: TransportError.Code =
            switch error {
            case .some(HTTP2ConnectionError.goAway), .some(HTTP2ConnectionError.noPong): .connectionLost
            case .some(is HTTP2ConnectionError): .invalidResponse
            default: FailureText.isOfTLS(error) ? .tls : .connectionLost
            }
        return done.failure(code, at: position, message: message, underlying: error)
    }

    func shutDown() {
        for number in active.keys {
            guard let current = active[number] else { continue }
            settle(number, current.failure(.shutDown, at: machine.position(of: number)), code: .cancel)
        }
        close()
    }

    /// Closes the connection. Unless the transport is shut down, the channel of a TLS connection continues to read for a short time. See
    /// ``HTTP2Limits/closeTimeout``.
    func close() {
        machine.close()
        let isUrgent = pool.isShutDown
        if isClosing {
            if isUrgent { context?.closeAtOnce() }
            return
        }
        isClosing = true
        goAway(.noError)
        alarm.cancel()
        guard !isUrgent else {
            context?.closeAtOnce()
            return
        }
        context?.close(promise: nil)
        setAlarm(at: .now() + HTTP2Limits.closeTimeout.timeAmount)
    }
}
#endif
