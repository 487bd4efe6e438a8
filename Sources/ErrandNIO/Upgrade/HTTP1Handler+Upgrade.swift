#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore

/// The part of the handler for a changed protocol. The connection keeps its exchange, and its place in the pool, until the connection
/// ends.
extension HTTP1Handler {
    /// Changes the protocol after the server has accepted the change (101).
    ///
    /// - Parameter rest: the bytes after the head, which belong to the new protocol.
    func upgrade(_ head: ResponseHead, _ rest: ByteBuffer) throws {
        guard let current, let connection, let context else { return }
        let exchange = current.exchange
        guard let upgrade = exchange.upgrade else { throw UnexpectedUpgrade.notRequested }
        guard upgrade.isAccepted(by: head.response), machine.upgrade() else {
            throw UnexpectedUpgrade.otherProtocol(requested: upgrade.protocolName)
        }
        exchange.events?.record(.responseHead, response: head.response)
        guard self.current?.exchange === exchange else { return }  // a sink has ended it
        let (input, output) = (ExchangeBodySource(exchange, current.attempt, on: connection), UpgradedOutput())
        let received = ActiveExchange.Head(head, to: exchange.request.method)
        self.current?.upgrade(received, input, output)
        // The end of the server's direction must not end the client's direction. With TLS, this option is not set, because NIOSSL would
        // wait for the rest of a broken connection.
        if !isSecure { try? context.channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true) }
        receiveUpgraded(rest)
        var response = Response(
            head: head.response, body: ResponseBody(), request: exchange.request, exchange: input.lifetime,
            upgrade: UpgradedStream(exchange, on: connection, input, output, head: head.response))
        response.metadata.httpVersion = received.version
        exchange.resume(returning: response)
    }

    // MARK: - Bytes

    func receiveUpgraded(_ buffer: ByteBuffer) {
        let count = buffer.readableBytes
        guard count > 0, let stream = current?.stream, let chunk = buffer.received(at: buffer.readerIndex, count) else { return }
        var batch = [chunk]
        if stream.append(&batch) { isHeldBack = true }
    }

    func writeUpgraded(_ exchange: Exchange) {
        guard let context, current?.exchange === exchange, case .upgraded(let output)? = current?.upload else { return }
        let (chunks, ends) = output.take()
        if !chunks.isEmpty {
            var count = 0
            for chunk in chunks {
                count += chunk.count
                context.write(wrapOutboundOut(ByteBuffer(bytes: chunk)), promise: nil)
            }
            flushUpgraded(exchange, context) { [count] _ in output.window.remove(count) }
        }
        guard ends, current?.exchange === exchange else { return }
        // If the server's direction has ended, the end of the client's direction closes the connection. Therefore, all bytes must be sent
        // first.
        flushUpgraded(exchange, context) { handler in
            output.window.remove(1)
            handler.endOutput(exchange)
        }
    }

    /// Calls `body` when all written bytes were sent, unless the exchange ends earlier.
    private func flushUpgraded(_ exchange: Exchange, _ context: ChannelHandlerContext, _ body: @escaping (HTTP1Handler) -> Void) {
        let promise = context.eventLoop.makePromise(of: Void.self)
        // A failed write closes the connection, which ends the exchange.
        promise.futureResult.assumeIsolated().whenSuccess {
            if self.current?.exchange === exchange { body(self) }
        }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: promise)
    }

    // MARK: - The end

    private func endOutput(_ exchange: Exchange) {
        let isOver = machine.outputEnds()
        guard isOver else {
            context?.close(mode: .output, promise: nil)
            return
        }
        end(exchange, because: nil)
    }

    /// Ends the server's direction of the connection. If the protocol was not changed, closes the connection.
    func inputClosed() {
        guard machine.isUpgraded, let exchange = current?.exchange else { return close() }
        current?.stream?.complete(nil)
        if machine.inputEnds() { end(exchange, because: nil) }
    }

    func closeUpgraded(_ exchange: Exchange) {
        guard let current, current.exchange === exchange, let stream = current.stream else { return }
        exchange.events?.record(.end)
        stream.lifetime.end(.complete, sizes: current.sizes)
        end(exchange, because: nil)
    }

    /// Ends the upgraded exchange after the whole connection has ended or was lost.
    func loseUpgraded(_ error: (any Error)?) {
        guard let current, let position = machine.position else { return close() }
        if error == nil, machine.endsInOrder(isSecure: isSecure) {
            current.stream?.complete(nil)
            end(current.exchange, because: nil)
        } else {
            end(current.exchange, because: failure(of: current, at: position, because: error))
        }
    }
}

extension ActiveExchange {
    /// Ends the upgraded stream of an exchange. Data that was received earlier can still be read.
    func settle(upgraded output: UpgradedOutput, _ error: (any Error)?) {
        guard let stream else { return }
        let isComplete = error == nil && stream.isComplete
        output.close(
            because: error
                ?? exchange.failure(
                    .connectionLost, phase: .send, message: "the connection has ended", response: head?.response, delivery: .sent))
        exchange.events?.record(.end, failure: isComplete ? nil : error ?? CancellationError())
        stream.lifetime.end(isComplete ? .complete : error.map { .failed($0) } ?? .abandoned, sizes: sizes)
        stream.fail(error ?? CancellationError())
    }
}
#endif
