public import ErrandCore

/// Records exchanges in a ``Recording``, and returns responses from it. The mode of the recording decides which requests are sent and
/// recorded, and which are replayed.
///
/// ```swift
/// let recording = try Recording(atPath: "Fixtures/users.har", mode: .once, secrets: [apiKey])
/// let stack = transport.record(on: recording).retry()
/// // …
/// try recording.save()
/// ```
///
/// **Place:** innermost, next to the transport, so that each attempt and each hop of a redirect is a separate exchange. Only `decompress`
/// is further inside, because secrets can't be found in encoded bodies. A stack that sorts its layers puts `record` at this place. In any
/// other stack, the middleware records the requests and responses at the position where you add the middleware. In a replay, the outer
/// layers work as with a real server.
///
/// Each chunk of a body is recorded with its time when the chunk passes the middleware. The recording neither delays a body nor reads
/// ahead. A failed exchange is recorded, and fails again in a replay. An exchange that is cancelled before its head, an invalid request and
/// an upgraded connection are not recorded.
///
/// **Per request:** with `request.options.record = .off`, the request is sent, but is neither recorded nor replayed.
public struct RecordMiddleware: HTTPMiddleware {
    /// The recording.
    public let recording: Recording
    private let timing: ReplayTransport.Timing

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - recording: the recording in which exchanges are recorded, and from which they are replayed.
    ///   - timing: the duration of a replay. Default: ``ReplayTransport/Timing/none``, which takes no time.
    public init(_ recording: Recording, timing: ReplayTransport.Timing = .none) { (self.recording, self.timing) = (recording, timing) }

    public var place: MiddlewarePlace { .record }
    public var label: String { "record(\(recording))" }
    /// False, because a prepared request is neither recorded nor given a recorded response.
    public var appliesToPreparedRequests: Bool { false }
    /// True, because a replay does not send the request.
    public var mayBypassInnerLayers: Bool { true }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard !request.options.record.isOff, request.head.authority != nil else { return try await next.send(request) }
        switch recording.mode {
        case .all: return try await record(request, to: next)
        case .once where !recording.isReplayOnly: return try await record(request, to: next)
        case .once, .none:
            let (recording, timing) = (recording, timing)
            return try await RecordedResponseTransport { try await recording.replay($0, timing: timing) }.sendWithinCall(request)
        case .newEpisodes:
            // Matching may read a one-shot body. If no entry matches, the sent body begins with the bytes that matching has read.
            let read = try await recording.read(request.body)
            let entry: HAREntry
            do {
                entry = try recording.take(for: request, body: read.bytes)
            } catch {
                var request = request
                request.body = read.body
                return try await record(request, to: next)
            }
            read.abandon()
            let (recording, timing) = (recording, timing)
            return try await RecordedResponseTransport { try await recording.response(entry, to: $0, timing: timing) }
                .sendWithinCall(request)
        }
    }

    private func record(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard request.options.upgrade == nil else { return try await next.send(request) }
        let exchange = recording.begin(request)
        var sent = request
        sent.body = request.body.recorded(by: exchange)
        sent.options.addEventSink(exchange)
        do {
            var response = try await next.send(sent)
            exchange.receive(response)
            response.body = response.body.recorded(by: exchange)
            if request.body.bufferedData == nil { response.request.body = request.body }
            return response
        } catch {
            exchange.end(RecordedExchange.stage(after: error, inBody: false))
            guard request.body.bufferedData == nil, var failure = error as? any RequestFailure, failure.request?.id == request.id
            else { throw error }
            failure.request?.body = request.body
            throw failure
        }
    }
}

/// A transport that returns a response from the file, so that the deadline and the checks of a transport also apply to this response.
private struct RecordedResponseTransport: HTTPTransport {
    let respond: @Sendable (Request) async throws -> Response

    var capabilities: TransportCapabilities { [] }

    func sendWithinCall(_ request: Request) async throws -> Response { try await HTTPStack(self).sendWithinCall(request) }

    func send(_ request: Request) async throws -> Response { try await respond(request) }
    func shutdown() async throws {}
}

private enum RecordingOptionKey: SwitchOptionKey {}

extension RequestOptions {
    /// Whether recording applies to this request. `.off`: the request is neither recorded nor replayed.
    public var record: OptionOverride<Never> {
        get { self[RecordingOptionKey.self] }
        set { self[RecordingOptionKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Records exchanges in a recording, and returns responses from it. See ``RecordMiddleware``.
    ///
    /// - Parameters:
    ///   - recording: the recording in which exchanges are recorded, and from which they are replayed.
    ///   - timing: the duration of a replay. Default: ``ReplayTransport/Timing/none``, which takes no time.
    public func record(on recording: Recording, timing: ReplayTransport.Timing = .none) -> HTTPStack {
        wrapped(by: RecordMiddleware(recording, timing: timing))
    }
}
