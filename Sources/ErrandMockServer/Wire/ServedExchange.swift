#if MockServer
internal import ErrandCore

/// Serves one request: gets the response, then sends the response with its fault. The same code is used for both HTTP versions.
struct ServedExchange: Sendable {
    let core: ServerCore
    let wire: any ExchangeWire
    let inbound: Inbound
    let body: IncomingBody

    private var clock: any Clock<Duration> { core.configuration.clock }

    /// Serves the request.
    ///
    /// - Throws: the error that ended the connection early.
    func run() async throws -> ExchangeEnd {
        let request = IncomingRequest(request: body.request, incoming: body)
        let response: MockResponse
        do {
            response = try await core.response(to: request)
        } catch let error where error is CancellationError || error is BrokenRequestError {
            throw error
        } catch {
            response = .text("the mock server's dispatcher threw: \(error)\n", status: .internalServerError)
        }
        let fault = response.fault
        if fault?.point == .requestStart, let end = try await applyFault(of: response) { return end }
        if fault?.point == .requestBody {
            _ = try await body.next()
            if let end = try await applyFault(of: response) { return end }
        }
        if response.startsEarly {
            if case .echo = response.body.kind { try await body.grantContinue() }
        } else {
            try await readToEnd()
        }
        if response.headDelay > .zero { try await clock.sleep(for: response.headDelay.bounded) }
        if fault?.point == .responseStart, let end = try await applyFault(of: response) { return end }
        for head in response.informational { try await wire.inform(head) }
        let end = try await send(response)
        guard case .done = end else { return end }
        if body.owesContinue {
            // The server can't know whether the client will send its body (RFC 9110, section 10.1.1).
            body.fail("the response was sent before the request body")
            return wire.majorVersion == 1 ? .closeGracefully : .done
        }
        try await readToEnd()
        return response.closesConnection ? .closeGracefully : .done
    }

    private func readToEnd() async throws { while try await body.next() != nil {} }

    // MARK: - The response

    private func send(_ response: MockResponse) async throws -> ExchangeEnd {
        if case .raw(let octets) = response.body.kind {
            try await wire.sendOctets(octets)
            return .closeGracefully
        }
        let plan = try await Plan(response, to: body)
        defer { plan.source.abandon() }
        let (framing, sendsBody) = plan.framing(of: response, to: body.request)
        let point = response.fault?.point
        let hasFault = point == .responseBody || point == .responseEnd
        let endsHere = !sendsBody || (plan.length == 0 && response.trailers == nil && framing != .chunked)
        var head = response.head
        if wire.majorVersion == 1, response.closesConnection || body.owesContinue, head.headerFields[.connection] == nil {
            head.headerFields[.connection] = "close"
        }
        try await wire.start(head, framing: framing, endsHere: endsHere && !hasFault)
        var hasBroken = false
        var sent = 0
        while sendsBody, let chunk = try await plan.source.next() {
            if response.chunkPause > .zero { try await clock.sleep(for: response.chunkPause.bounded) }
            let breakAt = plan.length.map { $0 / 2 } ?? (sent + chunk.count)
            if point == .responseBody, !hasBroken, sent + chunk.count >= breakAt {
                hasBroken = true
                try await send(chunk.prefix(breakAt - sent), limit: response.bytesPerSecond)
                var rest = Data(chunk.dropFirst(breakAt - sent))
                while plan.length != nil, rest.count < 64 * 1024, let more = try await plan.source.next() { rest.append(more) }
                if let end = try await applyFault(of: response, rest: rest) { return end }
                try await send(rest, limit: response.bytesPerSecond)
                sent += rest.count
            } else {
                try await send(chunk, limit: response.bytesPerSecond)
            }
            sent += chunk.count
        }
        if hasFault, !hasBroken, let end = try await applyFault(of: response, rest: Data()) { return end }
        if !endsHere || hasFault { try await wire.end(trailers: response.trailers ?? plan.source.trailers) }
        return framing == .untilClose && wire.majorVersion == 1 ? .closeGracefully : .done
    }

    private func send(_ data: Data, limit bytesPerSecond: Int?) async throws {
        guard let bytesPerSecond else { return try await wire.send(data) }
        var rest = data
        while !rest.isEmpty {
            let piece = rest.prefix(max(1, bytesPerSecond / 20))
            rest = rest.dropFirst(piece.count)
            try await clock.sleep(for: .seconds(Double(piece.count) / Double(bytesPerSecond)))
            try await wire.send(piece)
        }
    }

    // MARK: - Faults

    /// Applies the fault of the response. Returns `nil` if the exchange continues.
    ///
    /// - Parameter rest: the known part of the body that is not sent yet; `nil` before the head of the response.
    private func applyFault(of response: MockResponse, rest: Data? = nil) async throws -> ExchangeEnd? {
        guard let (fault, point) = response.fault else { return nil }
        if rest == nil, case .slowDrip(let bytes, let pause) = fault.kind { body.slowDown(bytes: bytes, pause: pause) }
        if try await continues(after: fault) { return nil }
        body.fail("reading ended because of the fault \(fault) at \(point)")
        let content = rest ?? Plan.bytes(of: response)
        let isHTTP2 = wire.majorVersion == 2
        var head = response.head
        head.headerFields[.contentLength] = nil
        switch fault.kind {
        case .truncatedChunk:
            if rest == nil { try await wire.start(head, framing: .chunked, endsHere: false) }
            if point != .responseEnd || isHTTP2 {
                try await wire.sendTruncated(content.prefix((content.count + 1) / 2), announcedBytes: content.count + 1024)
            }
            return .close
        case .wrongContentLength(let missing):
            if rest == nil {
                try await wire.start(head, framing: .length(max(0, content.count + missing)), endsHere: false)
                try await wire.send(missing > 0 ? content.prefix(content.count / 2) : content)
            } else if missing < 0 {
                try await wire.send(content.isEmpty ? Data(repeating: UInt8(ascii: "+"), count: -missing) : content)
            }
            if isHTTP2 { try await wire.end(trailers: nil) }
            return isHTTP2 ? .done : .close
        case .reset: return .reset
        case .stall: return .hold
        case .halfClose: return .halfClose
        case .garbage(let octets):
            try await wire.sendOctets(octets)
            return .hold
        case .goAway(_, let code) where isHTTP2:
            try await wire.goAway(includesStream: false, code: code)
            return .hold
        case .resetStream(let code) where isHTTP2:
            try await wire.resetStream(code: code)
            return .done
        default: return .close
        }
    }

    /// If a fault does not end the exchange, performs the fault and returns true. Returns false for any other fault.
    private func continues(after fault: Fault) async throws -> Bool {
        switch fault.kind {
        case .slowDrip(let bytes, let pause): wire.slowDown(bytes: bytes, pause: pause)
        case .goAway(let includesStream, let code) where includesStream && wire.majorVersion == 2:
            try await wire.goAway(includesStream: true, code: code)
        default: return false
        }
        return true
    }
}
#endif
