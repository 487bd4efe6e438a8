internal import ErrandCore
internal import ErrandFormats
internal import Synchronization

/// One exchange while it is recorded, with its secrets. An entry made from the exchange has no secrets.
final class RecordedExchange: EventSink {
    /// The progress of the exchange.
    enum Stage: Sendable {
        /// No head was received yet.
        case begun
        /// The body is being read.
        case open
        case complete
        /// The body was abandoned.
        case abandoned
        /// The exchange failed, before the head or in the body.
        case failed(HARFailure, String)
        /// The exchange is not recorded.
        case dropped
    }

    private struct State {
        var stage = Stage.begun
        var requestBody: BodyCapture
        var response: HARResponse?
        /// The cache status and the fields of the response; `nil` if the stack has no cache.
        var cache: (status: WatchedCacheStatus, fields: HTTPFields)?
        var body: BodyCapture
        /// The reported steps of the last exchange that the transport has begun.
        var steps: ExchangeTimings
        var exchange: Int?
        /// The time at which the head was received.
        var wait: Duration?
        var end: Duration?
    }

    private let head: HTTPRequest
    private let requestLength: Int64?
    private let sensitivity: Sensitivity
    private let started: Date
    private let elapsed: @Sendable () -> Duration
    private let limitBytes: Int
    private let keepsCodedBodies: Bool
    private let keepsUnknownText: Bool
    /// The steps at the beginning of an exchange.
    private let noSteps: ExchangeTimings
    private let state: Mutex<State>

    init(
        _ request: Request, limitBytes: Int, keepsCodedBodies: Bool, keepsUnknownText: Bool, started: Date,
        elapsed: @escaping @Sendable () -> Duration
    ) {
        head = request.headWithFallbacks
        requestLength = request.body.length
        (sensitivity, self.started, self.elapsed) = (request.wholeSensitivity, started, elapsed)
        (self.limitBytes, self.keepsCodedBodies, self.keepsUnknownText) = (limitBytes, keepsCodedBodies, keepsUnknownText)
        var body = BodyCapture(limitBytes: limitBytes)
        if let bytes = request.body.bufferedData {
            body.append(bytes)
            body.isWhole = true
        }
        noSteps = ExchangeTimings(request, at: .zero)
        state = Mutex(State(requestBody: body, body: BodyCapture(limitBytes: limitBytes), steps: noSteps))
    }

    // MARK: Events

    /// Records an event of the transport. A new exchange replaces the previous exchange, for example after a lost connection.
    func record(_ event: ExchangeEvent) {
        guard let exchange = event.exchange, event.kind != .requestBytesSent, event.kind != .responseBytesReceived else { return }
        let now = elapsed()
        state.withLock { state in
            if event.kind == .start {
                (state.exchange, state.steps) = (exchange, noSteps)
            } else if state.exchange == exchange {
                state.steps.record(event, at: now)
            }
        }
    }

    func beginRequestBody(at offset: Int64) { state.withLock { $0.requestBody.restart(at: offset) } }

    func send(_ chunk: Data) {
        state.withLock { state in
            state.requestBody.append(chunk)
            // If a transport knows the length, it may stop reading before the end of the body.
            if let requestLength, state.requestBody.totalBytes >= requestLength { state.requestBody.isWhole = true }
        }
    }

    func endRequestBody() { state.withLock { $0.requestBody.isWhole = true } }

    func receive(_ response: Response) {
        let wait = elapsed()
        let version = response.metadata.httpVersion?.rawValue ?? "unknown"
        let fields = response.head.headerFields
        var recorded = HARResponse(
            status: response.head.status.code, statusText: response.head.status.reasonPhrase, httpVersion: version,
            headers: [HARField](fields), content: HARContent(size: 0, mimeType: fields.single(.contentType) ?? ""))
        recorded.redirectURL = fields.single(.location) ?? ""
        recorded.contentCoding = response.metadata.contentCoding
        let data = response.body.bufferedData
        if let trailers = response.body.bufferedTrailers { recorded.trailers = [HARField](trailers) }
        state.withLock { state in
            (state.wait, state.response) = (wait, recorded)
            state.cache = response.metadata.watchedCacheStatus.map { ($0, fields) }
            guard let data else {
                state.stage = .open
                return
            }
            state.body.append(data)
            (state.stage, state.end, state.body.isWhole) = (.complete, wait, true)
        }
    }

    func receive(_ chunk: Data) {
        let now = elapsed()
        state.withLock { $0.body.append(chunk, at: now - ($0.wait ?? .zero)) }
    }

    func end(_ stage: Stage, trailers: HTTPFields? = nil) {
        let now = elapsed()
        state.withLock { state in
            guard state.end == nil else { return }
            (state.stage, state.end) = (stage, now)
            if case .complete = stage { state.body.isWhole = true }
            if let trailers { state.response?.trailers = [HARField](trailers) }
        }
    }

    /// Returns the stage for an error. A cancelled exchange gives no information about the server.
    static func stage(after error: any Error, inBody: Bool) -> Stage {
        switch error {
        case is CancellationError, is BodyAlreadyUsedError: return inBody ? .abandoned : .dropped
        case is InvalidURLError: return .dropped
        case let error as TransportError:
            return .failed(
                HARFailure(code: error.code.description, phase: error.phase.description, delivery: error.delivery.rawValue),
                error.recordedDescription)
        case let error as any RequestFailure:
            return .failed(
                HARFailure(code: "\(type(of: error))", phase: error.phase.description, delivery: error.delivery.rawValue), error.description
            )
        default:
            let phase = inBody ? ExchangePhase.body : .response
            let sent = inBody ? Delivery.sent : .unknown
            // The text of an unknown error may contain secrets. The type of the error contains no secrets.
            return .failed(HARFailure(code: "\(type(of: error))", phase: phase.description, delivery: sent.rawValue), "\(type(of: error))")
        }
    }

    // MARK: The entry

    /// Returns the entry, without secrets; `nil` if the exchange is not recorded, or has neither a response nor a failure yet.
    func entry() -> HAREntry? {
        let (state, now) = (state.withLock { $0 }, elapsed())
        var response: HARResponse
        switch state.stage {
        case .begun, .dropped: return nil
        case .open, .complete, .abandoned:
            guard let received = state.response else { return nil }
            response = received
        case .failed(let failure, let text):
            response = state.response ?? HARResponse(status: 0, content: HARContent(size: 0, mimeType: ""))
            (response.failure, response.error) = (failure, text)
        }
        fill(&response, with: state)
        let timings = HARTimings(state.steps, head: state.wait, end: state.end ?? now)
        var entry = HAREntry(
            startedDateTime: Date.ISO8601FormatStyle(includingFractionalSeconds: true).format(started), time: timings.total,
            request: request(body: state.requestBody, version: response.httpVersion), response: response, timings: timings)
        entry.serverIPAddress = state.steps.connection?.peerAddress
        entry.connection = state.steps.connection.map { "\($0.number)" }
        if let (status, fields) = state.cache { entry.add(status.current, fields: fields, at: started) }
        return EntryRedaction.redacted(entry, by: sensitivity, keepsUnknownText: keepsUnknownText)
    }

    private func fill(_ response: inout HARResponse, with state: State) {
        let isStreamed = state.body.isWhole ? state.body.isStreamed : true
        response.content.size = state.body.totalBytes
        if response.contentCoding == nil, case .complete = state.stage { response.bodySize = state.body.totalBytes }
        if let coding = response.contentCoding { response.content.comment = "decoded from \(coding.shownSafely())" }
        if isUnreadable(response.headers), state.body.totalBytes > 0 {
            response.incomplete = .coded
            return
        }
        response.content.bytes = Array(state.body.bytes)
        if isStreamed, state.response != nil { response.chunks = state.body.chunks }
        switch state.stage {
        case _ where state.body.isTruncated: response.incomplete = .truncated
        case .open, .abandoned: response.incomplete = .unfinished
        default: break
        }
    }

    private func request(body: BodyCapture, version: String) -> HARRequest {
        var request = HARRequest(head, version: version)
        request.bodySize = body.isWhole ? body.totalBytes : -1
        guard !body.isWhole || body.totalBytes > 0 else { return request }
        var data = HARPostData(mimeType: head.headerFields.single(.contentType) ?? "")
        if isUnreadable(request.headers) {
            data.incomplete = .coded
        } else {
            data.bytes = Array(body.bytes)
            data.incomplete = body.isTruncated ? .truncated : body.isWhole ? nil : .unfinished
        }
        request.postData = data
        return request
    }

    private func isUnreadable(_ fields: [HARField]) -> Bool {
        guard !keepsCodedBodies, let coding = fields[.contentEncoding] else { return false }
        return !coding.isEmpty && !coding.isExactlyIgnoringCase("identity")
    }
}

/// The recorded part of a body.
struct BodyCapture: Sendable {
    private static let mostChunks = 65_536

    private var prefix: BodyPrefix
    private(set) var chunks: [HARChunk] = []
    private(set) var isStreamed = false
    /// Whether the body has ended.
    var isWhole = false

    init(limitBytes: Int) { prefix = BodyPrefix(limitBytes: limitBytes) }

    var bytes: Data { prefix.bytes }
    var totalBytes: Int { prefix.totalBytes }
    var isTruncated: Bool { prefix.isTruncated }

    /// - Parameter time: the time at which the chunk arrived; `nil` for a body in one piece.
    mutating func append(_ chunk: Data, at time: Duration? = nil) {
        let count = prefix.append(chunk)
        guard let time, count > 0 else { return }
        isStreamed = true
        if chunks.count < Self.mostChunks {
            chunks.append(HARChunk(bytes: count, time: time.milliseconds))
        } else {
            chunks[chunks.count - 1].bytes += count
        }
    }

    /// Restarts the body, which is sent again from `offset`.
    mutating func restart(at offset: Int64) {
        isWhole = false
        prefix.restart(at: Int(offset))
    }
}

extension TransportError {
    /// The description. For an error of the request's body, which the app provides, only the type is recorded, because the text
    /// may contain secrets.
    fileprivate var recordedDescription: String {
        guard code == .requestBody, let underlying, !(underlying is any RequestFailure) else { return description }
        var copy = self
        copy.message = "\(type(of: underlying))"
        return copy.description
    }
}

extension Request {
    /// The names of all secrets in this exchange. The file can't store which fields have the never-index flag. Therefore, the names of
    /// these fields are added.
    var wholeSensitivity: Sensitivity {
        var sensitivity = options.sensitivity
        sensitivity.formUnion(Sensitivity(fields: head.headerFields.filter(sensitivity.isSensitive).map(\.name)))
        return sensitivity
    }
}

extension HARRequest {
    /// Creates a request with its secrets.
    init(_ head: HTTPRequest, version: String) {
        self.init(
            method: head.method.rawValue, url: "\(head.scheme ?? "http")://\(head.authority ?? "")\(head.path ?? "/")",
            httpVersion: version,
            headers: [HARField](head.headerFields.withOneCookie))
    }
}
