import ErrandCore

@testable import ErrandNIO

// The parser of HTTP/1.1 responses, and what looks at the headers of HTTP/2 frames.

let connectionTargets = [Target("http1-response", http1Response), Target("http2-frames", http2Frames)]

private struct Responses: Equatable {
    var events: [String] = []
    /// The bodies, each as a whole.
    var bodies: [[UInt8]] = []
    /// The kind of error, without the text that it shows.
    var error: String?

    private static let methods: [HTTPRequest.Method] = [.get, .head, .post, .connect]

    init(_ chunks: [[UInt8]], method: UInt8, limits: ResponseLimits) {
        let method = Self.methods[Int(method) % Self.methods.count]
        var parser = ResponseParser(limits: limits)
        var received: [UInt8] = []
        parser.expectResponse(to: method)
        bodies.append([])
        do throws(ResponseParseError) {
            for chunk in chunks {
                received += chunk
                guard try read(&received, &parser, method) else { return }
            }
            if case .end = try parser.endOfInput(pending: received.count) { events.append("end") }
            expect(received.isEmpty, "bytes are left at the end of the connection")
        } catch {
            self.error = kind(of: error)
            expect(thrown { _ = try parser.next(received) } != nil, "an error is not thrown again")
            _ = "\(error)"
        }
    }

    /// Returns false where another protocol begins.
    private mutating func read(
        _ received: inout [UInt8], _ parser: inout ResponseParser, _ method: HTTPRequest.Method
    ) throws(ResponseParseError) -> Bool {
        while true {
            let (event, consumed) = try parser.next(received)
            expect(consumed <= received.count, "more bytes are consumed than there are")
            defer { received.removeFirst(consumed) }
            switch event {
            case .needsMore: return true
            case .interim(let response): events.append("interim \(response.status.code) \(response.headerFields.count)")
            case .head(let head):
                let fields = head.response.headerFields.map { "\($0.name.rawName): \($0.value)" }
                for field in head.response.headerFields { expect(HTTPField.isValidValue(field.value), "an invalid field") }
                events.append("head \(head.response.status) \(fields) \(head.framing) \(head.isPersistent)")
                if head.response.status.code == 101 { return false }
            case .body(let range):
                expect(!range.isEmpty && range.upperBound <= consumed, "a piece of a body that is not among the bytes")
                bodies[bodies.count - 1] += received[range]
            case .end(let trailers):
                events.append("end \(trailers.map { $0.map { "\($0.name.rawName): \($0.value)" } } ?? [])")
                guard events.count < 16 else { return false }
                parser.expectResponse(to: method)
                bodies.append([])
            }
        }
    }
}

extension ResponseParser {
    fileprivate mutating func next(_ bytes: [UInt8]) throws(ResponseParseError) -> (event: Event, consumed: Int) {
        let result: Result<(event: Event, consumed: Int), ResponseParseError> = bytes.withUnsafeBytes { buffer in
            do throws(ResponseParseError) { return .success(try next(in: buffer)) } catch { return .failure(error) }
        }
        return try result.get()
    }
}

/// The name of the case: the text that an error shows depends on how many bytes have arrived.
private func kind(of error: ResponseParseError) -> String {
    Mirror(reflecting: error).children.first?.label ?? "\(error)"
}

private func http1Response(_ input: inout Input) {
    let (seed, method, settings) = (input.byte(), input.byte(), input.byte())
    var limits = ResponseLimits()
    if settings != 0 { (limits.headBytes, limits.fieldCount) = (Int(settings) * 2, 1 + Int(settings & 7)) }
    let bytes = input.bytes()
    let results = divisions(of: bytes, seed: seed).map { Responses($0, method: method, limits: limits) }
    for result in results.dropFirst() { expectEqual(result, results[0], "the responses depend on the chunks") }
    expect(results[0].bodies.reduce(0) { $0 + $1.count } <= bytes.count, "more bytes of bodies than there are")
}

/// The bytes that a splitter passes on, and the frames that it finds.
private struct Frames: Equatable {
    var headers: [FrameHeader] = []
    var excess: FrameAllowance.Excess?
    var verdict = SlowFieldScan.Verdict.quick
    /// The positions where the passed bytes end.
    var ends: [Int] = []
    var passedBytes = 0

    init(_ chunks: [[UInt8]], longestBytes: Int) {
        var splitter = FrameSplitter(longestBytes: longestBytes)
        var allowance = FrameAllowance(
            .init(
                frames: 20, bytes: 4096, framesForEachSent: 1, sentBytesForFrame: 64, time: .seconds(30), spareResets: 2, unreadBytes: 4096,
                unreadBytesForEachLeft: 0))
        var fields = SlowFieldScan()
        var kept: [UInt8] = []
        for chunk in chunks where excess == nil && verdict == .quick {
            kept += chunk
            let step = kept.withUnsafeBytes { bytes in
                splitter.next(in: bytes) { header in
                    headers.append(header)
                    if !header.isOfMessage {
                        excess = allowance.receive(header, at: .zero)
                    } else if header.stream % 4 == 3 {
                        // Nobody reads these streams.
                        excess = allowance.receiveUnread(header, at: .zero)
                    }
                    return excess == nil
                } inspect: { header, payload in
                    if header.hasFields { verdict = fields.read(header.fields(in: payload), isLast: header.endsFields) }
                    return verdict == .quick
                }
            }
            expect(step.consumed <= kept.count, "more bytes are handed on than there are")
            kept.removeFirst(step.consumed)
            passedBytes += step.consumed
            if excess == nil, verdict == .quick {
                expect((step.missing == 0) == kept.isEmpty, "nothing is missing, and bytes are left")
                expect(kept.count < FrameHeader.bytes + longestBytes, "more than one frame is kept")
                ends.append(passedBytes)
            }
        }
    }
}

private func http2Frames(_ input: inout Input) {
    let (seed, longest) = (input.byte(), 1 + Int(input.byte()))
    let bytes = input.bytes()
    let results = divisions(of: bytes, seed: seed).map { Frames($0, longestBytes: longest) }
    // The places where bytes may be handed on: the ends of frames, and everywhere within DATA and frames that are too long.
    var (places, position) = (Set([0]), 0)
    for header in results[0].headers {
        let end = position + FrameHeader.bytes + header.length
        if header.isDivisible || header.length > longest {
            places.formUnion(min(position + FrameHeader.bytes, bytes.count)...min(end, bytes.count))
        }
        position = end
        places.insert(position)
    }
    for result in results {
        expectEqual(result.headers, results[0].headers, "the frames depend on the chunks")
        expectEqual(result.verdict, results[0].verdict, "whether the fields are slow depends on the chunks")
        expectEqual(result.excess, results[0].excess, "the bound depends on the chunks")
        expect(result.ends.allSatisfy(places.contains), "bytes are handed on that end within a frame")
    }
}
