#if MockServer
internal import ErrandCore
internal import ErrandFormats
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTP2

/// Serves the requests of one HTTP/1.1 connection, one after the other.
struct HTTP1Connection: Sendable {
    let core: ServerCore
    let connection: Connection
    let inbound: Inbound

    /// Returns when the connection is closed.
    func run() async {
        await connection.serve(untilClosed: connection.channel) { await finish(by: serve()) }
    }

    private func serve() async -> ExchangeEnd {
        var index = 0
        while true {
            do {
                guard case .head(let head, let version)? = try await inbound.next() else { return .done }
                let end = await exchange(head, version: version, index: index)
                guard case .done = end, !Self.isLast(head, version: version) else {
                    if case .done = end { return .closeGracefully }
                    return end
                }
                index += 1
            } catch let error as HTTPParserError {
                core.connectionFailed(error)
                let refusal = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                try? await connection.channel.writeAndFlush(ByteBuffer(string: refusal)).get()
                return .closeGracefully
            } catch {
                return .close
            }
        }
    }

    private func exchange(_ head: HTTPRequest, version: ErrandCore.HTTPVersion, index: Int) async -> ExchangeEnd {
        let request = MockRequest(
            head: head, httpVersion: version, connectionIndex: connection.index, exchangeIndex: index, serverName: connection.serverName,
            negotiatedProtocol: connection.negotiatedProtocol)
        let wire = HTTP1Wire(connection.channel, clock: core.configuration.clock, isLast: Self.isLast(head, version: version))
        let body = IncomingBody(request, inbound: inbound, core: core, wire: wire)
        do {
            let end = try await ServedExchange(core: core, wire: wire, inbound: inbound, body: body).run()
            await body.close("the request was not read to its end")
            return end
        } catch {
            await body.close("\(error)")
            return .close
        }
    }

    /// Returns whether the connection ends after this request. The connection ends if the client sends no further request, or
    /// if the parser can't continue.
    private static func isLast(_ head: HTTPRequest, version: ErrandCore.HTTPVersion) -> Bool {
        let closes = head.headerFields[values: .connection].flatMap(\.listMembers).contains { $0.isExactlyIgnoringCase("close") }
        return version == .http1_0 || closes || head.headerFields[.upgrade] != nil || head.method == .connect
    }

    private func finish(by end: ExchangeEnd) async {
        switch end {
        case .done: connection.channel.close(promise: nil)
        case .closeGracefully: await closeGracefully()
        case .close: connection.close()
        case .reset: await connection.reset()
        case .hold: inbound.hold()
        case .halfClose:
            connection.closeOutput()
            await readOn()
        }
    }

    private func readOn() async { while (try? await inbound.next()) != nil {} }

    /// Reads the client's remaining bytes for at most one second. If bytes stayed unread, the operating system would reset the connection,
    /// and the client could lose the response.
    private func closeGracefully() async {
        // Over TLS, the closing alert already ends the connection in order.
        if !connection.isTLS {
            connection.closeOutput()
            try? await withLimit(.seconds(1), on: ContinuousClock()) { await readOn() }
        }
        connection.channel.close(promise: nil)
    }
}

/// Serves the request of one HTTP/2 stream.
struct HTTP2Stream: Sendable {
    let core: ServerCore
    let connection: Connection
    let stream: any Channel
    let id: HTTP2StreamID
    let inbound: Inbound

    /// Returns when the stream is closed.
    func run() async {
        await connection.serve(untilClosed: stream) { await serve() }
    }

    private func serve() async {
        guard case .head(let head, let version)? = try? await inbound.next() else { return stream.close(promise: nil) }
        // The streams that clients open have odd numbers ([RFC 9113, section 5.1.1](https://www.rfc-editor.org/rfc/rfc9113#section-5.1.1)).
        let request = MockRequest(
            head: head, httpVersion: version, connectionIndex: connection.index, exchangeIndex: (Int(id) - 1) / 2,
            serverName: connection.serverName, negotiatedProtocol: connection.negotiatedProtocol)
        let wire = HTTP2Wire(stream, id: id, on: connection.channel, clock: core.configuration.clock)
        let body = IncomingBody(request, inbound: inbound, core: core, wire: wire)
        do {
            let end = try await ServedExchange(core: core, wire: wire, inbound: inbound, body: body).run()
            await body.close("the request was not read to its end")
            await finish(by: end, wire: wire)
        } catch {
            await body.close("\(error)")
            try? await wire.resetStream(code: 2)  // INTERNAL_ERROR
            stream.close(promise: nil)
        }
    }

    private func finish(by end: ExchangeEnd, wire: HTTP2Wire) async {
        switch end {
        case .done: stream.close(promise: nil)
        case .closeGracefully:
            try? await wire.goAway(includesStream: true, code: 0)
            stream.close(promise: nil)
        case .close: connection.close()
        case .reset: await connection.reset()
        case .hold: inbound.hold()
        case .halfClose:
            connection.closeOutput()
            inbound.hold()
        }
    }
}
#endif
