#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore

/// The end of exchanges and of the connection.
extension HTTP1Handler {
    func becomeIdle(for time: Duration) {
        guard current == nil else { return }
        idleDue = .now() + time.timeAmount
        setAlarm()
    }

    func setAlarm() {
        guard let context, let ringAlarm else { return }
        var due = idleDue ?? .distantFuture
        if let current {
            due = min(due, current.due)
        }
        guard due < .distantFuture else { return }
        alarm.set(due, on: context.eventLoop, ringAlarm)
    }

    /// Sets the alarm for a phase limit that may have begun. Does nothing if the exchange has no phase limits.
    func setLimitAlarm() { if current?.exchange.limits != nil { setAlarm() } }

    func alarmRang() {
        alarm.rang()
        let now = NIODeadline.now()
        if let current, let failure = timeout(at: now) { return end(current.exchange, because: failure) }
        if let due = current?.continueDue, due <= now { continueUpload() }
        if let due = current?.rest?.due, due <= now, let current, !restContinues(at: now) { return end(current.exchange, because: nil) }
        if let due = idleDue, due <= now, let connection, pool.removeIfIdle(connection) { return close() }
        setAlarm()
    }

    /// Returns whether the upload of the rest of a request continues after the whole response was received.
    private func restContinues(at now: NIODeadline) -> Bool {
        let (before, taken) = (current?.restProgressBytes, takenBytes)
        current?.restProgressBytes = taken
        return current?.rest?.continues(at: now, hasProgress: taken != before) ?? false
    }

    /// The number of bytes of the upload that the network has taken. With TLS, the value is not exact, but changes whenever bytes are sent.
    var takenBytes: Int64 {
        let waiting = try? context?.channel.syncOptions?.getOption(.bufferedWritableBytes)
        return (current?.sentBytes ?? 0) - Int64(waiting ?? 0)
    }

    // MARK: - The end

    /// Removes the exchange in progress from this handler, and stops its upload.
    ///
    /// - Returns: the exchange in its state before the upload stopped; `nil` if no exchange is in progress. To end an upgraded stream,
    ///   the caller needs this state.
    func takeCurrent() -> ActiveExchange? {
        guard let done = current else { return nil }
        stopUpload()
        current = nil
        connection?.countEnd()
        return done
    }

    /// Removes the connection from the pool, so that no further exchange uses the connection.
    func leavePool() {
        _ = machine.close()
        if let connection { pool.remove(connection) }
    }

    /// Ends an exchange before its response is complete, and closes its connection.
    func end(_ exchange: Exchange, because error: (any Error)?) {
        guard current?.exchange === exchange, let connection, let done = takeCurrent() else { return }
        leavePool()
        done.settle(error, on: connection)
        close()
    }

    func end(_ attempt: AttemptID, because error: (any Error)?) {
        guard let current, machine.takes(.abandoned, of: attempt) else { return }
        end(current.exchange, because: error)
    }

    /// Ends the exchange in progress because the other side breaks the rules of HTTP.
    func refuse(_ error: any Error) {
        guard let current, let position else { return lose(error) }
        let failure =
            current.exchange.mismatch(error, delivery: position.delivery)
            ?? current.failure(
                .invalidResponse, at: position, message: FailureText.of(error) + (remedy(for: error) ?? ""), underlying: error)
        end(current.exchange, because: failure)
    }

    /// Advice for a server that speaks another protocol; `nil` if there is no advice.
    private func remedy(for error: any Error) -> String? {
        guard !isSecure, case .otherProtocol(let other)? = error as? ResponseParseError else { return nil }
        return switch other {
        case .http2 where pool.settings.usesHTTP2WithoutTLS: nil
        case .http2: pool.settings.allowsHTTP2 ? "; set usesHTTP2WithoutTLS" : "; set allowsHTTP2 and usesHTTP2WithoutTLS"
        case .tls: "; use https in the URL"
        case .socks5: nil
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if failure == nil { failure = error }
        context.closeAtOnce()
    }

    func channelInactive(context: ChannelHandlerContext) { lose(failure) }

    /// Ends the use of a lost connection. The exchange in progress completes, fails, or is sent again over another connection.
    func lose(_ error: (any Error)?) {
        if machine.isUpgraded { return loseUpgraded(error) }
        if challengeBytes != nil, current != nil { return sendAgain(.close) }
        if error == nil, endsWithConnection, current?.head != nil {
            machine.recordEndOfConnection()
            if case .end(let trailers)? = try? parser.endOfInput(pending: incoming?.readableBytes ?? 0) {
                return finish(trailers, hasMore: false)
            }
        }
        let position = machine.close()
        guard let connection else { return close() }
        guard let position, let done = takeCurrent() else {
            _ = pool.removeIfIdle(connection)
            return close()
        }
        pool.remove(connection)
        if position.mayBeStale, done.exchange.moveOn(after: position.delivery) {
            done.exchange.events?.beginAgain(after: failure(of: done, at: position, because: error))
            pool.send(done.exchange, isFresh: true)
        } else {
            done.settle(failure(of: done, at: position, because: error), on: connection)
        }
        close()
    }

    /// Sends the request again, if possible, after the server has refused the request as misdirected (421).
    ///
    /// - Returns: whether the request is sent again. If the request is sent again, this connection is closed.
    func moveOnAsMisdirected() -> Bool { moveOn { $0.moveOnAsMisdirected() } }

    /// Sends the request again without `Expect`, if possible, after the server has refused the expectation (417). The body of the request
    /// was not sent.
    ///
    /// - Returns: whether the request is sent again. If the request is sent again, this connection is closed, because the server may still
    ///   read the next bytes as the body.
    func moveOnWithoutExpect() -> Bool { moveOn { $0.moveOnWithoutExpect() } }

    private func moveOn(_ mayMoveOn: (Exchange) -> Bool) -> Bool {
        guard let exchange = current?.exchange else { return false }
        // The upload stops first, so that its task can no longer open the body for this connection. Even if the request is not sent
        // again, the rest of its body is not needed.
        stopUpload()
        guard mayMoveOn(exchange), takeCurrent() != nil else { return false }
        leavePool()
        exchange.events?.beginAgain(after: CancellationError())
        close()
        pool.send(exchange, isFresh: true)
        return true
    }

    func failure(of done: ActiveExchange, at position: ExchangePosition, because error: (any Error)?) -> TransportError {
        let isForwarded = done.exchange.route.isForwarded
        var message = error.map { FailureText.of($0) } ?? "connection closed by the \(isForwarded ? "proxy" : "server")"
        // If an HTTP proxy has closed an idle connection, advice to check the proxy would be wrong.
        if error == nil, isForwarded, !parser.hasBegun, !position.mayBeStale {
            message += " without a response; check that it is an HTTP proxy"
        }
        if error == nil, position.delivery == .sent {
            do { _ = try parser.endOfInput(pending: incoming?.readableBytes ?? 0) } catch { message = FailureText.of(error) }
        }
        return done.failure(FailureText.isOfTLS(error) ? .tls : .connectionLost, at: position, message: message, underlying: error)
    }

    func shutDown() {
        guard let current else { return close() }
        end(current.exchange, because: current.failure(.shutDown, at: position))
    }

    func close() {
        alarm.cancel()
        context?.closeAtOnce()
    }
}
#endif
