#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore
internal import NIOFoundationEssentialsCompat
internal import NIOHTTP2

/// The part of the handler that receives frames and errors.
extension HTTP2Handler {
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        isReading = true
        machine.countFrame()
        let frame = unwrapInboundIn(data)
        let number = Int32(frame.streamID)
        switch frame.payload {
        case .headers(let headers):
            machine.countMessageFrame()
            receive(headers, number)
        case .data(let data):
            machine.countMessageFrame()
            receive(data, number)
        case .ping(_, ack: true): endProbe()
        case .rstStream(let code): receive(reset: HTTP2Code(code), number)
        case .goAway(let last, let code, _): receive(goAway: HTTP2Code(code), last: Int32(last))
        case .settings(.settings(let values)): receive(values)
        case .windowUpdate(let bytes):
            if let code = machine.receiveWindowUpdate(number, bytes) { fail(number, .windowUpdate(code), code: code) }
        case .pushPromise: breakConnection(.protocolError, HTTP2ConnectionError.push)
        default: break
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case let event as NIOHTTP2WindowUpdatedEvent:
            if let bytes = event.inboundWindowSize { machine.receiveWindow(Int32(event.streamID), bytes: bytes) }
        case let event as NIOHTTP2StreamCreatedEvent:
            if machine.open(Int32(event.streamID)) { flushLater() }
        case let event as StreamClosedEvent:
            if machine.receiveClose(Int32(event.streamID)) { flushLater() }
        case let event as NIOHTTP2BulkStreamWindowChangeEvent: machine.changeStreamWindows(by: event.delta)
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    /// Delivers the data received in this turn, once for each stream, and then allows the server to send more.
    func channelReadComplete(context: ChannelHandlerContext) {
        performEffects(hasRead: true)
        isReading = false
        flushNow()
        context.fireChannelReadComplete()
    }

    /// Performs the effects of this turn of the loop. Effects may cause further effects.
    func performEffects(hasRead: Bool) {
        if hasRead { growConnectionWindow() }
        while let effect = machine.nextEffect(hasRead: hasRead) {
            switch effect {
            case .deliver(let streams):
                for number in streams where active[number] != nil {
                    deliver(number)
                    growWindow(number)
                }
            case .fail(let number): fail(number, .streamError("the server broke the rules of HTTP/2 on the stream"))
            case .startUpload(let number): startUpload(number)
            case .complete(let number):
                _ = machine.end(number)
                complete(number)
            }
        }
    }

    // MARK: - The head

    private func receive(_ headers: HTTP2Frame.FramePayload.Headers, _ number: Int32) {
        guard let current = active[number] else { return }
        let exchange = current.exchange
        do throws(HTTP2ResponseError) {
            if current.head != nil {
                guard headers.endStream else { throw .fieldsInBody }
                return try finish(number, HTTP2ResponseFields.trailers(headers.headers, pool.settings.responseLimits))
            }
            let head = try HTTP2ResponseFields.head(headers.headers, pool.settings.responseLimits)
            let response = head.response
            let status = response.status.code
            if status < 200 {
                try machine.receiveInterim(
                    number, status: status, ends: headers.endStream, limit: pool.settings.responseLimits.interimResponseCount)
                exchange.events?.record(.informationalResponse, response: response)
                if status == 100 { continueUpload(number) }
                return
            }
            let method = exchange.request.method
            let expects = machine.isAwaitingContinue(number)
            let stopsUpload = machine.receiveHead(number, status: status, length: head.bodyLength(to: method))
            exchange.events?.record(.responseHead, response: response)
            guard isActive(exchange, number) else { return }  // a sink has ended it
            if status == 421, moveOnAsMisdirected(number) { return }
            if status == 417, expects, moveOnWithoutExpect(number) { return }
            if head.hasAlternatives { pool.alternatives.receive(response, from: exchange.origin, at: Pool.now()) }
            let known = ActiveExchange.Head(
                response: response, version: .http2, expectedLength: head.expectedLength(to: method, ends: headers.endStream))
            active.change(number) {
                $0.head = known
                $0.endLimit()
            }
            if stopsUpload { stopUpload(of: AttemptID(number)) }
            if headers.endStream { try finish(number, nil) } else { machine.touch(number) }
        } catch {
            refuse(number, error)
        }
    }

    // MARK: - The body

    private func receive(_ data: HTTP2Frame.FramePayload.Data, _ number: Int32) {
        guard let exchange = active[number]?.exchange, case .byteBuffer(let buffer) = data.data else { return }
        let count = buffer.readableBytes
        do throws(HTTP2ResponseError) {
            try machine.receiveData(number, count)
            if count > 0, let chunk = buffer.received(at: buffer.readerIndex, count) {
                active.change(number) { $0.receive(chunk) }
                if exchange.events != nil {
                    active[number]?.reportReceived()
                    guard isActive(exchange, number) else { return }  // a sink has ended it
                }
            }
            if data.endStream { try finish(number, nil) } else { machine.touch(number) }
        } catch {
            refuse(number, error)
        }
    }

    /// Delivers the head, if the caller does not have the head yet, and the received part of the body.
    private func deliver(_ number: Int32) {
        guard let connection, let exchange = active[number]?.exchange else { return }
        guard let (response, mustWait) = active.change(number, { $0.deliver(on: connection) }) else { return }
        if mustWait { machine.holdBack(number, true) }
        setLimitAlarm(of: number)
        if let response { exchange.resume(returning: response) }
    }

    func readOn(_ attempt: AttemptID) {
        guard machine.takes(.readOn, of: attempt) else { return }
        let number = attempt.stream
        machine.holdBack(number, false)
        growWindow(number)
    }

    private func growWindow(_ number: Int32) {
        if let increment = machine.windowUpdate(number) { write(.windowUpdate(windowSizeIncrement: increment), on: number) }
    }

    func growConnectionWindow() {
        if let increment = machine.connectionWindowUpdate() { write(.windowUpdate(windowSizeIncrement: increment), on: 0) }
    }

    // MARK: - The end of a response

    private func finish(_ number: Int32, _ trailers: HTTPFields?) throws(HTTP2ResponseError) {
        switch try machine.receiveEnd(number) {
        case .uploadContinues:
            // The reader has the whole response. The exchange continues with the upload.
            deliver(number)
            active[number]?.stream?.complete(trailers)
            active.change(number) {
                $0.endLimit()
                $0.rest = RestLimit(pool.settings.restTimes, from: .now())
            }
            setAlarm(of: number)
        case .complete(let resets):
            if resets { reset(number, .cancel) }
            complete(number, trailers)
        }
    }

    /// Completes an exchange, and starts the next exchange.
    func complete(_ number: Int32, _ trailers: HTTPFields? = nil) {
        guard let connection, var done = remove(number) else { return }
        // The connection is released first, because the waiting task may send the next request immediately.
        let release = pool.release(connection, idleTime: pool.settings.idleTimeout)
        done.complete(trailers)
        done.takeUpload().stop()
        perform(release, on: connection)
    }

    // MARK: - The connection

    private func receive(_ values: HTTP2Settings) {
        // A server may set SETTINGS_ENABLE_PUSH only to 0 (RFC 9113, section 6.5.2).
        if values.contains(where: { $0.parameter == .enablePush && $0.value != 0 }) {
            return breakConnection(.protocolError, .pushSetting)
        }
        // The values are processed in order, so the last value applies (RFC 9113, section 6.5.3).
        guard let limit = values.last(where: { $0.parameter == .maxConcurrentStreams })?.value else { return }
        if let count = machine.receiveStreamLimit(limit), let connection { pool.setStreams(of: connection, to: count) }
    }

    private func receive(goAway code: HTTP2Code, last: Int32) {
        let unprocessed = machine.receiveGoAway(last: last, code)
        guard let connection else { return }
        // The pool drains the connection first, so that no repeated request uses this connection.
        pool.drain(connection)
        for number in unprocessed { moveOn(number, .notProcessed(code)) }
    }

    private func receive(reset code: HTTP2Code, _ number: Int32) {
        switch machine.meaning(ofReset: code, on: number) {
        case .complete?:
            _ = machine.end(number)
            complete(number)
        case .unprocessed?, .needsHTTP1?: moveOn(number, .reset(code))
        case .failed?:
            guard let current = active[number] else { return }
            let failure = current.failure(
                .connectionLost, at: machine.position(of: number), message: "\(HTTP2ConnectionError.reset(code))",
                underlying: HTTP2ConnectionError.reset(code))
            settle(number, failure, code: nil)
        case nil: break
        }
    }
}
#endif
