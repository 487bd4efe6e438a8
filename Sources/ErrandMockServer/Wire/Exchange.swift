#if MockServer
internal import ErrandCore

/// Handles one request: gets the response, then sends the response with its fault. The same code is used for both HTTP versions.
struct Exchange: Sendable {
    let core: ServerCore
    let wire: any ExchangeWire
    let inbound: Inbound
    let body: IncomingBody

    private var clock: any Clock<Duration> { core.configuration.clock }

    /// Handles the request.
    ///
    /// - Throws: the error that ended the connection early.
    func run() async throws -> ExchangeEnd {
        let request = IncomingRequest(request: body.request, incoming: body)
        let response: MockResponse
        do {
            response = try await core.answer(request)
        } catch let error where error is CancellationError || error is BrokenRequestError {
            throw error
        } catch {
            response = .text("the mock server's dispatcher threw: \(error)\n", status: .internalServerError)
        }
        let fault = response.fault
        if fault?.point == .requestStart, let end = try await breakBeforeHead(response) { return end }
        if fault?.point == .requestBody {
            _ = try await body.next()
            if let end = try await breakBeforeHead(response) { return end }
        }
        if response.startsEarly {
            if case .echo = response.body.kind { try await body.grantContinue() }
        } else {
            try await readToEnd()
        }
        if response.headDelay > .zero { try await clock.sleep(for: response.headDelay.bounded) }
        if fault?.point == .responseStart, let end = try await breakBeforeHead(response) { return end }
        for head in response.informational { try await wire.inform(head) }
        let end = try await send(response)
        guard case .done = end else { return end }
        if body.owesContinue {
            // The server can't know whether the client now sends its body (RFC 9110, section 10.1.1).
            body.fail("the response was sent before the request body")
            return wire.majorVersion == 1 ? .closeOrderly : .done
        }
        try await readToEnd()
        return response.closesConnection ? .closeOrderly : .done
    }

    private func readToEnd() async throws { while try await body.next() != nil {} }

    // MARK: - The response

    private func send(_ response: MockResponse) async throws -> ExchangeEnd {
        if case .raw(let octets) = response.body.kind {
            try await wire.sendOctets(octets)
            return .closeOrderly
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
                if let end = try await breakBehindHead(response, rest: rest) { return end }
                try await send(rest, limit: response.bytesPerSecond)
                sent += rest.count
            } else {
                try await send(chunk, limit: response.bytesPerSecond)
            }
            sent += chunk.count
        }
        if hasFault, !hasBroken, let end = try await breakBehindHead(response, rest: Data()) { return end }
        if !endsHere || hasFault { try await wire.end(trailers: response.trailers ?? plan.source.trailers) }
        return framing == .untilClose && wire.majorVersion == 1 ? .closeOrderly : .done
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

    /// Applies a fault before the head of the response. Returns `nil` if the exchange continues.
    private func breakBeforeHead(_ response: MockResponse) async throws -> ExchangeEnd? {
        guard let (fault, point) = response.fault else { return nil }
        if case .slowDrip(let bytes, let pause) = fault.kind { body.slowDown(bytes: bytes, pause: pause) }
        if try await goesOn(after: fault) { return nil }
        var head = response.head
        body.fail("reading ended because of the fault \(fault) at \(point)")
        let content = Plan.bytes(of: response)
        switch fault.kind {
        case .truncatedChunk:
            head.headerFields[.contentLength] = nil
            try await wire.start(head, framing: .chunked, endsHere: false)
            try await wire.sendTruncated(content.prefix((content.count + 1) / 2), announcedBytes: content.count + 1024)
            return .close
        case .wrongContentLength(let missing):
            head.headerFields[.contentLength] = nil
            try await wire.start(head, framing: .length(max(0, content.count + missing)), endsHere: false)
            try await wire.send(missing > 0 ? content.prefix(content.count / 2) : content)
            if wire.majorVersion == 2 { try await wire.end(trailers: nil) }
            return wire.majorVersion == 2 ? .done : .close
        default: return try await breakHere(fault)
        }
    }

    /// Applies a fault after the head of the response. Returns `nil` if the exchange continues. `rest` is the known part of the
    /// body that is not sent yet.
    private func breakBehindHead(_ response: MockResponse, rest: Data) async throws -> ExchangeEnd? {
        guard let (fault, point) = response.fault else { return nil }
        if try await goesOn(after: fault) { return nil }
        body.fail("reading ended because of the fault \(fault) at \(point)")
        switch fault.kind {
        case .truncatedChunk:
            if point == .responseBody || wire.majorVersion == 2 {
                try await wire.sendTruncated(rest.prefix((rest.count + 1) / 2), announcedBytes: rest.count + 1024)
            }
            return .close
        case .wrongContentLength(let missing):
            if missing < 0 { try await wire.send(rest.isEmpty ? Data(repeating: UInt8(ascii: "+"), count: -missing) : rest) }
            if wire.majorVersion == 2 { try await wire.end(trailers: nil) }
            return wire.majorVersion == 2 ? .done : .close
        default: return try await breakHere(fault)
        }
    }

    /// Performs a fault that does not end the exchange. Returns whether the exchange continues.
    private func goesOn(after fault: Fault) async throws -> Bool {
        switch fault.kind {
        case .slowDrip(let bytes, let pause): wire.slowDown(bytes: bytes, pause: pause)
        case .goAway(let includesStream, let code) where includesStream && wire.majorVersion == 2:
            try await wire.goAway(includesStream: true, code: code)
        default: return false
        }
        return true
    }

    private func breakHere(_ fault: Fault) async throws -> ExchangeEnd {
        switch fault.kind {
        case .reset: return .reset
        case .stall: return .hold
        case .halfClose: return .halfClose
        case .garbage(let octets):
            try await wire.sendOctets(octets)
            return .hold
        case .goAway(_, let code) where wire.majorVersion == 2:
            try await wire.goAway(includesStream: false, code: code)
            return .hold
        case .resetStream(let code) where wire.majorVersion == 2:
            try await wire.resetStream(code: code)
            return .done
        default: return .close
        }
    }
}
#endif
