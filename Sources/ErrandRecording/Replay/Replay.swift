internal import ErrandCore
internal import ErrandFormats
internal import Synchronization

extension Recording {
    /// Returns the recorded response to `request`.
    func replay(_ request: Request, timing: ReplayTransport.Timing) async throws -> Response {
        try Task.checkCancellation()
        let read = try await read(request.body)
        defer { read.abandon() }
        let entry = try take(for: request, body: read.bytes)
        return try await response(entry, to: request, timing: timing)
    }

    /// Reads the body of a request, if matching needs it.
    func read(_ body: RequestBody) async throws -> ReadRequestBody {
        matcher.body == .ignored ? ReadRequestBody(unread: body) : try await ReadRequestBody(body, limitBytes: bodyLimitBytes)
    }

    func response(_ entry: HAREntry, to request: Request, timing: ReplayTransport.Timing) async throws -> Response {
        let pace = Pace(clock, isKept: timing == .recorded)
        try await pace.wait(until: entry.timings.beforeHead)
        let recorded = entry.response
        let failure = recorded.failure.map { failure in
            TransportError(
                .init(failure.code), phase: ExchangePhase(failure.phase), message: "as recorded", request: request,
                response: recorded.status == 0 ? nil : recorded.head, delivery: Delivery(rawValue: failure.delivery) ?? .unknown)
        }
        if recorded.status == 0, let failure { throw failure }
        let head = recorded.head(decoded: isForeign)
        var response: Response
        let bytes = Data(recorded.content.bytes)
        if recorded.chunks == nil, recorded.trailers == nil, failure == nil, recorded.incomplete == nil {
            response = Response(head: head, data: bytes, request: request)
        } else {
            let end =
                failure
                ?? recorded.incomplete.map {
                    TransportError(
                        .connectionLost, phase: .body, message: "when this was recorded, \($0)", request: request, response: head,
                        delivery: .sent)
                }
            let lifetime = ExchangeLifetime()
            let source = ReplayedBodySource(
                bytes, chunks: recorded.chunks ?? [HARChunk(bytes: bytes.count, time: 0)], trailers: recorded.trailers?.fields,
                failure: end, endTime: entry.timings.receive, pace: Pace(clock, isKept: timing == .recorded), lifetime: lifetime)
            let length = request.method == .head ? nil : head.headerFields[.contentLength].flatMap { Int64($0) }
            response = Response(
                head: head, body: ResponseBody(source, expectedLength: length, request: request), request: request, exchange: lifetime)
        }
        response.metadata.contentCoding = recorded.contentCoding
        response.metadata.httpVersion = HTTPVersion(rawValue: recorded.httpVersion)
        return response
    }
}

extension HARResponse {
    fileprivate var head: HTTPResponse { head(decoded: false) }

    /// - Parameter decoded: whether the bodies in the file are decoded, although their fields describe the encoded bodies. Files of
    ///   browsers have this form.
    fileprivate func head(decoded: Bool) -> HTTPResponse {
        var fields = headers.fields
        if decoded, fields[.contentEncoding] != nil {
            fields[.contentEncoding] = nil
            fields[.contentLength] = nil
        }
        let phrase = statusText.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F } ? statusText : ""
        return HTTPResponse(status: .init(code: (100...999).contains(status) ? status : 599, reasonPhrase: phrase), headerFields: fields)
    }
}

/// Waits for the recorded times, which are measured from the creation of this value. With the timing `.none`, each wait ends immediately.
struct Pace: Sendable {
    private let sleep: (@Sendable (Duration) async throws -> Void)?

    init(_ clock: any Clock<Duration>, isKept: Bool) { sleep = isKept ? Self.sleeper(clock) : nil }

    private static func sleeper(_ clock: some Clock<Duration>) -> @Sendable (Duration) async throws -> Void {
        let start = clock.now
        return { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) }
    }

    func wait(until milliseconds: Double) async throws {
        // A file may contain any number. The longest wait is about 100 years.
        if let sleep, milliseconds > 0 { try await sleep(.milliseconds(min(milliseconds, 3.2e12))) }
    }
}

/// A recorded body, in its original chunks.
private final class ReplayedBodySource: BodySource {
    private struct State {
        var rest: Data
        var chunks: ArraySlice<HARChunk>
        var trailers: HTTPFields?
        var isOver = false
    }

    private let state: Mutex<State>
    private let allTrailers: HTTPFields?
    private let failure: TransportError?
    private let endTime: Double
    private let pace: Pace
    private let lifetime: ExchangeLifetime

    init(
        _ bytes: Data, chunks: [HARChunk], trailers: HTTPFields?, failure: TransportError?, endTime: Double, pace: Pace,
        lifetime: ExchangeLifetime
    ) {
        // If the chunks are shorter than the body, as in a file that was edited by hand, the missing bytes become one more chunk.
        let counted = chunks.reduce(0) { $0 &+ max(0, $1.bytes) }
        let extra = counted < bytes.count ? [HARChunk(bytes: bytes.count - counted, time: chunks.last?.time ?? 0)] : []
        state = Mutex(State(rest: bytes, chunks: (chunks + extra)[...]))
        allTrailers = trailers
        self.failure = failure
        self.endTime = endTime
        self.pace = pace
        self.lifetime = lifetime
    }

    var trailers: HTTPFields? { state.withLock(\.trailers) }

    func next() async throws -> Data? {
        do {
            try Task.checkCancellation()
            while let chunk = state.withLock({ $0.isOver ? nil : $0.chunks.popFirst() }) {
                try await pace.wait(until: chunk.time)
                let data = state.withLock { state in
                    let data = state.rest.prefix(max(0, chunk.bytes))
                    state.rest = state.rest.dropFirst(data.count)
                    return data
                }
                if !data.isEmpty { return Data(data) }
            }
            try await pace.wait(until: endTime)
            if let failure { throw failure }
        } catch {
            end(.failed(error))
            throw error
        }
        state.withLock { $0.trailers = allTrailers }
        end(.complete)
        return nil
    }

    func abandon() { end(.abandoned) }

    private func end(_ end: ExchangeLifetime.Outcome) {
        state.withLock { state in
            state.isOver = true
            state.rest = Data()
        }
        lifetime.end(end)
    }
}
