public import ErrandCore

/// Records exchanges on a ``Recording``, or answers them from it, as its mode says.
///
/// **Place:** innermost, directly around the transport, so that each attempt and each hop of a redirect is an exchange of its own; but
/// outside of what decodes bodies, as no secret can be seen in a coded one. It has no place in the canonical order: wherever it
/// stands, it records what passes there, and what is outside of it works the same on a replay.
///
/// Bodies are recorded while they pass, chunk by chunk, with their times; nothing is held up, read ahead or read on. A failed exchange
/// is recorded and fails again; a cancelled one without a head, an invalid request and an upgraded connection are not recorded.
///
/// **Per request:** `request.options.record = .off` passes it on, neither recorded nor answered.
public struct RecordMiddleware: HTTPMiddleware {
    public let recording: Recording
    private let timing: ReplayTransport.Timing

    /// - Parameter timing: whether a replay takes its time.
    public init(_ recording: Recording, timing: ReplayTransport.Timing = .none) { (self.recording, self.timing) = (recording, timing) }

    public var label: String { "record(\(recording))" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard !request.options.record.isOff, request.head.authority != nil else { return try await next.send(request) }
        switch recording.mode {
        case .all: return try await record(request, to: next)
        case .once where !recording.isReplayOnly: return try await record(request, to: next)
        case .once, .none:
            let (recording, timing) = (recording, timing)
            return try await Answer { try await recording.replay($0, timing: timing) }.send(inCallOf: request)
        case .newEpisodes:
            // Matching may use up a body that can be read once only: what is sent after a miss begins with what was read.
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
            return try await Answer { try await recording.response(entry, to: $0, timing: timing) }.send(inCallOf: request)
        }
    }

    private func record(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard request.options.upgrade == nil else { return try await next.send(request) }
        let exchange = recording.begin(request)
        var sent = request
        sent.body = request.body.recorded(by: exchange)
        do {
            var response = try await next.send(sent)
            exchange.answered(response)
            response.body = response.body.recorded(by: exchange)
            if request.body.bytes == nil { response.request.body = request.body }
            return response
        } catch {
            exchange.ended(RecordedExchange.end(by: error, inBody: false))
            throw error.restoringCall(of: request, restoresBody: request.body.bytes == nil)
        }
    }
}

/// An answer from the file, in a transport's place: what a transport's boundary sees to, such as the deadline, holds for it too.
private struct Answer: HTTPTransport {
    let answer: @Sendable (Request) async throws -> Response

    var capabilities: Capabilities { [] }

    func send(inCallOf request: Request) async throws -> Response { try await HTTPStack(self).send(inCallOf: request) }

    func send(_ request: Request) async throws -> Response { try await answer(request) }
    func shutdown() async throws {}
}

private enum RecordingOptionKey: OptionKey {
    static var defaultValue: OptionOverride<Never> { .inherited }
    static var crossesOrigins: Bool { true }
}

extension RequestOptions {
    /// `.off` neither records this request nor answers it from a recording.
    public var record: OptionOverride<Never> {
        get { self[RecordingOptionKey.self] }
        set { self[RecordingOptionKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Records exchanges, or answers them from what was recorded. See ``RecordMiddleware``.
    ///
    /// - Parameter timing: whether a replay takes its time.
    public func record(on recording: Recording, timing: ReplayTransport.Timing = .none) -> HTTPStack {
        wrapped(by: RecordMiddleware(recording, timing: timing))
    }
}
