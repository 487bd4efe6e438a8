#if NIO
internal import ErrandCore
internal import NIOCore

/// How exchanges and the connection end.
extension HTTP1Handler {
    func becomeIdle(for time: Duration) {
        guard current == nil else { return }
        idleDue = .now() + time.timeAmount
        setAlarm()
    }

    /// The exchange enters a phase.
    ///
    /// - Parameter limit: `nil`: its time is not limited.
    func enter(_ name: String, _ limit: Duration?) {
        guard current?.exchange.limits != nil else { return }
        current?.limit = PhaseLimit(name, limit)
        if limit != nil { setAlarm() }
    }

    func setAlarm() {
        guard let context else { return }
        var due = idleDue ?? .distantFuture
        if let current {
            due = min(due, current.deadline ?? .distantFuture, current.continueDue ?? .distantFuture)
            due = min(due, current.limit?.due ?? .distantFuture, current.writeLimit?.due ?? .distantFuture)
        }
        guard due < .distantFuture else { return }
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        alarm.set(due, on: context.eventLoop) { bound.value.alarmRang() }
    }

    func alarmRang() {
        alarm.rang()
        let now = NIODeadline.now()
        if let current, let due = current.deadline, due <= now {
            let position = machine.position
            let failure = current.exchange.deadlinePassed(
                position?.phase ?? .response, response: current.head?.response, delivery: position?.delivery ?? .unknown)
            return end(current.exchange, because: failure)
        }
        if let current, let limit = current.limit, limit.due <= now {
            // A reader that does not wait has all the time it wants.
            let since = current.head == nil ? nil : current.stream?.waitingSince ?? now
            if since.map({ $0 + limit.duration.timeAmount <= now }) ?? true {
                let position = machine.position
                let failure = current.exchange.limitPassed(
                    limit, position?.phase ?? .response, response: current.head?.response, delivery: position?.delivery ?? .unknown)
                return end(current.exchange, because: failure)
            }
            self.current?.limit?.due = (since ?? now) + limit.duration.timeAmount
        }
        if let current, let limit = current.writeLimit, limit.due <= now {
            let failure = current.exchange.limitPassed(
                limit, .send, response: current.head?.response, delivery: machine.position?.delivery ?? .unknown)
            return end(current.exchange, because: failure)
        }
        if let due = current?.continueDue, due <= now { continueUpload() }
        if let due = idleDue, due <= now, let connection, pool.retire(connection) { return close() }
        setAlarm()
    }

    // MARK: - The end

    /// An exchange ends before its response is complete, and its connection with it.
    ///
    /// - Parameter error: `nil` if the rest of the response is not wanted.
    func end(_ exchange: Exchange, because error: (any Error)?) {
        guard let done = current, done.exchange === exchange, let connection else { return }
        stopUpload()
        current = nil
        connection.countEnd()
        _ = machine.close()
        pool.spent(connection)
        settle(done, error)
        close()
    }

    /// Gives the exchange its end, and what was received before it.
    func settle(_ ended: Current, _ error: (any Error)?) {
        if case .upgraded(let output) = ended.upload { return settle(ended, upgraded: output, error) }
        var done = ended
        let exchange = done.exchange
        guard done.head != nil else { return exchange.resume(throwing: error ?? CancellationError()) }
        if done.stream == nil, error != nil {
            // The head was received in the same turn, and not delivered yet.
            current = done
            deliver()
            done = current ?? done
            current = nil
        }
        guard let stream = done.stream else { return exchange.resume(throwing: error ?? CancellationError()) }
        if stream.isComplete {
            // Only the rest of the request was not sent, which the server did not want to wait for.
            exchange.events?.record(.end)
            return stream.lifetime.end(.complete, sizes: done.sizes)
        }
        _ = done.fill(stream)
        exchange.events?.record(.end, failure: error ?? CancellationError())
        stream.lifetime.end(error.map { .failed($0) } ?? .abandoned, sizes: done.sizes)
        stream.fail(error ?? CancellationError())
    }

    /// The other side breaks the rules of HTTP.
    func refuse(_ error: any Error) {
        guard let exchange = current?.exchange, let position = machine.position else { return lose(error) }
        let failure = exchange.failure(
            .invalidResponse, phase: position.phase, message: FailureText.of(error), underlying: error,
            response: current?.head?.response, delivery: position.delivery)
        end(exchange, because: failure)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if failure == nil { failure = error }
        failReady(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        failReady(failure ?? ChannelError.eof)
        lose(failure)
    }

    /// The connection is lost.
    func lose(_ error: (any Error)?) {
        if machine.isUpgraded { return loseUpgraded(error) }
        if error == nil, let head = current?.head, head.framing == .untilClose {
            machine.connectionEnds()
            if case .end(let trailers)? = try? parser.endOfInput(pending: incoming?.readableBytes ?? 0) {
                return finish(trailers, hasMore: false)
            }
        }
        let position = machine.close()
        guard let connection else { return close() }
        guard let done = current, let position else {
            _ = pool.retire(connection)
            return close()
        }
        stopUpload()
        current = nil
        connection.countEnd()
        pool.spent(connection)
        if position.mayBeStale, done.exchange.moveOn(after: position.delivery) {
            done.exchange.events?.beginAgain(after: failure(of: done, at: position, because: error))
            pool.send(done.exchange, isFresh: true)
        } else {
            settle(done, failure(of: done, at: position, because: error))
        }
        // Last, because a response that is delivered now sets the alarm.
        close()
    }

    /// The server has refused the request as misdirected (421). Returns whether it is sent again: then this connection is closed.
    func moveOnAsMisdirected() -> Bool {
        guard let done = current, let connection else { return false }
        // First, so that the task that sends the body can't open it for this connection any more. The rest is not wanted in either case.
        stopUpload()
        guard done.exchange.moveOnAsMisdirected() else { return false }
        current = nil
        connection.countEnd()
        _ = machine.close()
        pool.spent(connection)
        done.exchange.events?.beginAgain(after: CancellationError())
        close()
        pool.send(done.exchange, isFresh: true)
        return true
    }

    func failure(of done: Current, at position: HTTP1Machine.Position, because error: (any Error)?) -> TransportError {
        var message = error.map { FailureText.of($0) } ?? "connection closed by the server"
        if error == nil, position.delivery == .sent {
            do { _ = try parser.endOfInput(pending: incoming?.readableBytes ?? 0) } catch { message = FailureText.of(error) }
        }
        return done.exchange.failure(
            FailureText.isOfTLS(error) ? .tls : .connectionLost, phase: position.phase, message: message, underlying: error,
            response: done.head?.response, delivery: position.delivery)
    }

    func shutDown() {
        if let current {
            let failure = current.exchange.failure(
                .shutDown, phase: machine.position?.phase ?? .response, response: current.head?.response,
                delivery: machine.position?.delivery ?? .unknown)
            end(current.exchange, because: failure)
        } else {
            close()
        }
    }

    func close() {
        alarm.cancel()
        context?.close(promise: nil)
    }
}
#endif
