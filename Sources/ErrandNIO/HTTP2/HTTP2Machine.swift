#if NIO
internal import ErrandCore

/// Decides what one HTTP/2 connection does: a value without channels, tasks and timers.
///
/// Each event is a method that returns what to do about it. The connection's handler calls it on its event loop, and does that. An
/// exchange is a stream with two halves, which end on their own: the upload and the response
/// ([RFC 9113, section 5.1](https://www.rfc-editor.org/rfc/rfc9113#section-5.1)). A stream leaves the table when its exchange ends.
struct HTTP2Machine: Sendable {
    enum Upload: Sendable, Equatable {
        /// The head was not written.
        case waiting
        case awaitingContinue
        case sending
        /// The last byte was handed to the layer of frames, which holds it back until the server's windows have room.
        case written
        /// The end of the request has left that layer.
        case sent
        /// The server has responded, or the exchange has ended, before the request was whole: its rest is never sent.
        case stopped
    }

    enum Download: Sendable, Equatable {
        /// Nothing of the response was received.
        case nothing
        /// An interim response was received.
        case head
        case body
        /// The whole response was received, and the rest of the request is still sent.
        case ended
    }

    struct Stream: Sendable {
        var upload = Upload.waiting
        var download = Download.nothing
        /// How many interim responses were received.
        var interims = 0
        /// How much of the body the server still has to send; `nil` if it did not say.
        var missingBytes: Int64?
        /// How much the server may send before this side allows more.
        var windowBytes: Int
        /// Whether the reader of the response has enough for now.
        var isHeldBack = false
        /// Whether the head has left. It waits while the network takes nothing, and the body must not come before it.
        var isOpen = false
        /// Whether the body waits for that.
        var isUploadWaiting = false
        /// How much the server has allowed to send since the request was complete.
        fileprivate var idleAllowanceBytes = 0
        /// How much of a body in memory was written, and has not left.
        var unsentBytes = 0
        /// Whether a part of the body has left since ``HTTP2Machine/takeProgress(_:)`` was called.
        fileprivate var hasProgress = false
        /// ``HTTP2Machine/framesReceived`` when the exchange began.
        fileprivate let framesBefore: Int
        fileprivate let isFirst: Bool
    }

    private(set) var streams = StreamTable<Stream>()
    /// How many streams the server allows at a time.
    private(set) var streamLimit = HTTP2Limits.firstStreams
    /// How many exchanges have begun.
    private(set) var exchangesStarted = 0
    /// How many frames the server has sent.
    private(set) var framesReceived = 0
    /// Whether no further exchange may begin.
    private(set) var isDraining = false
    private(set) var isClosed = false
    /// How much the server may send on all streams together.
    private(set) var windowBytes = HTTP2Limits.initialWindowBytes
    /// How much the server may send on a new stream. It grows when the server has acknowledged the settings.
    private(set) var streamWindowBytes = HTTP2Limits.initialWindowBytes
    /// The code of the server's last GOAWAY; `nil` if it has sent none.
    private(set) var goAwayCode: HTTP2Code?
    /// 64 bits, because the last identifier is the largest number of 31 bits.
    private var nextStream: Int64
    private var malformedResponses = 0
    private var probe = ResetProbe()

    /// - Parameter firstStream: the first identifier, which is odd.
    init(firstStream: Int32 = 1) { nextStream = Int64(firstStream) }

    // MARK: - The request

    var canStartStream: Bool { !isClosed && !isDraining && streams.count + probe.heldStreams < streamLimit }

    /// Begins an exchange. Returns the identifier of its stream; `nil` if the connection can't take one.
    mutating func startStream() -> Int32? {
        guard canStartStream, let number = Int32(exactly: nextStream) else { return nil }
        streams[number] = Stream(windowBytes: streamWindowBytes, framesBefore: framesReceived, isFirst: exchangesStarted == 0)
        exchangesStarted += 1
        nextStream += 2
        // Identifiers are not used again (RFC 9113, section 5.1.1).
        if nextStream > Int64(Int32.max) { isDraining = true }
        return number
    }

    /// The head is handed to the channel.
    mutating func writeHead(_ number: Int32, _ body: OutgoingBody.Kind) {
        switch body {
        case .none: streams.change(number) { $0.upload = .sent }
        case .present: streams.change(number) { $0.upload = .sending }
        case .afterContinue: streams.change(number) { $0.upload = .awaitingContinue }
        }
    }

    /// The head has left. Returns whether the body waits for that.
    mutating func open(_ number: Int32) -> Bool {
        guard let stream = streams[number] else { return false }
        streams.change(number) { ($0.isOpen, $0.isUploadWaiting) = (true, false) }
        return stream.isUploadWaiting
    }

    /// The body is to be sent. Returns false if it has to wait until the head has left.
    mutating func startUpload(_ number: Int32) -> Bool {
        guard let stream = streams[number] else { return false }
        if !stream.isOpen { streams.change(number) { $0.isUploadWaiting = true } }
        return stream.isOpen
    }

    /// The server sent 100 (Continue), or the wait for it is over. Returns true if the body follows now.
    mutating func continueUpload(_ number: Int32) -> Bool {
        guard streams[number]?.upload == .awaitingContinue else { return false }
        streams.change(number) { $0.upload = .sending }
        return true
    }

    func isAwaitingContinue(_ number: Int32) -> Bool { streams[number]?.upload == .awaitingContinue }

    func isUploading(_ number: Int32) -> Bool {
        switch streams[number]?.upload {
        case .sending?, .awaitingContinue?: true
        default: false
        }
    }

    /// A part of a body in memory is written, or has left.
    mutating func countUnsent(_ number: Int32, _ count: Int) { streams.change(number) { $0.unsentBytes += count } }

    /// The last byte of the request is handed to the channel.
    mutating func finishUpload(_ number: Int32) {
        streams.change(number) { if $0.upload == .sending { $0.upload = .written } }
    }

    /// A part of the body has left, or the end of the request.
    mutating func leave(_ number: Int32, ends: Bool) {
        streams.change(number) {
            $0.hasProgress = true
            if ends, $0.upload == .sending || $0.upload == .written { $0.upload = .sent }
        }
    }

    /// Whether an exchange has the stream.
    func isActive(_ number: Int32) -> Bool { streams.contains(number) }

    /// Whether the whole response was received, and only the rest of the request is missing.
    func isReceived(_ number: Int32) -> Bool { streams[number]?.download == .ended }

    /// Returns whether a part of the body has left since the last call.
    mutating func takeProgress(_ number: Int32) -> Bool {
        let hasProgress = streams[number]?.hasProgress ?? false
        streams.change(number) { $0.hasProgress = false }
        return hasProgress
    }

    /// Whether a callback is taken. One that is stale, because its attempt is over, is not: identifiers of streams are not used again.
    func takes(_ callback: AttemptCallback, of attempt: AttemptID) -> Bool {
        guard let number = Int32(exactly: attempt.number), streams[number] != nil else { return false }
        return !callback.isOfUpload || isUploading(number)
    }

    // MARK: - The response

    mutating func countFrame() { framesReceived += 1 }

    /// HEADERS or DATA were received.
    mutating func countMessageFrame() { probe.allow() }

    /// An interim response (1xx) was received.
    ///
    /// - Parameter limit: ``ResponseLimits/interimResponseCount``.
    mutating func receiveInterim(_ number: Int32, status: Int, ends: Bool, limit: Int) throws(HTTP2ResponseError) {
        guard status != 101 else { throw .switchingProtocols }
        guard !ends else { throw .interimEnds(status) }
        let count = (streams[number]?.interims ?? 0) + 1
        guard count <= limit else { throw .tooManyInterimResponses(limit: limit) }
        streams.change(number) { ($0.interims, $0.download) = (count, .head) }
    }

    /// The head of the final response was received.
    ///
    /// - Parameters:
    ///   - length: how many bytes of the body the server has declared; 0 if there is no body; `nil` if it did not say.
    /// - Returns: whether the upload stops: the server has refused the request, or did not ask for its body.
    mutating func receiveHead(_ number: Int32, status: Int, length: Int64?) -> Bool {
        guard let upload = streams[number]?.upload else { return false }
        let stops = upload == .awaitingContinue || ((upload == .sending || upload == .written) && status >= 300)
        streams.change(number) {
            if stops { $0.upload = .stopped }
            ($0.download, $0.missingBytes) = (.body, length)
        }
        return stops
    }

    mutating func receiveData(_ number: Int32, _ count: Int) throws(HTTP2ResponseError) {
        guard let stream = streams[number] else { return }
        guard stream.download == .body else { throw .dataBeforeHead }
        guard count > 0, let missing = stream.missingBytes else { return }
        guard Int64(count) <= missing else { throw .bodyTooLong }
        streams.change(number) { $0.missingBytes = missing - Int64(count) }
    }

    /// What follows when the whole response was received.
    enum End: Sendable, Equatable {
        /// The exchange is over.
        ///
        /// - Parameter resets: whether the stream must be reset, because the rest of the request does not come.
        case complete(resets: Bool)
        /// The server accepted the request before it was whole: its rest is sent, and then the exchange is over.
        case uploadGoesOn
    }

    /// The last frame of the response was received.
    mutating func receiveEnd(_ number: Int32) throws(HTTP2ResponseError) -> End {
        guard let stream = streams[number] else { return .complete(resets: false) }
        guard stream.download == .body else { throw .dataBeforeHead }
        if let missing = stream.missingBytes, missing > 0 { throw .bodyTooShort(missingBytes: missing) }
        guard stream.upload != .sending, stream.upload != .written else {
            // What has left before is no progress of the rest.
            streams.change(number) { ($0.download, $0.hasProgress) = (.ended, false) }
            return .uploadGoesOn
        }
        streams[number] = nil
        return .complete(resets: stream.upload != .sent)
    }

    /// A response breaks the rules of HTTP. Returns whether there were too many of them: then the connection ends.
    mutating func countMalformedResponse() -> Bool {
        malformedResponses += 1
        return malformedResponses > HTTP2Limits.malformedResponses
    }

    // MARK: - Windows

    /// What the server may still send has changed, because it has sent something.
    ///
    /// - Parameter number: 0 for the connection.
    mutating func receiveWindow(_ number: Int32, bytes: Int) {
        if number == 0 { windowBytes = bytes } else { streams.change(number) { $0.windowBytes = bytes } }
    }

    /// The reader of a response has enough, or wants more.
    mutating func holdBack(_ number: Int32, _ isHeldBack: Bool) { streams.change(number) { $0.isHeldBack = isHeldBack } }

    /// Returns by how much the window of a stream grows now; `nil` if it does not: the reader has not used enough of it.
    mutating func windowUpdate(_ number: Int32) -> Int? {
        guard let stream = streams[number], !stream.isHeldBack, stream.download != .ended else { return nil }
        guard stream.windowBytes <= streamWindowBytes / 2 else { return nil }
        streams.change(number) { [streamWindowBytes] in $0.windowBytes = streamWindowBytes }
        return streamWindowBytes - stream.windowBytes
    }

    /// The server allows more of a request ([RFC 9113, section 6.9](https://www.rfc-editor.org/rfc/rfc9113#section-6.9)). `NIOHTTP2Handler` checks
    /// that for a request that is not complete, and ignores it for one that is.
    ///
    /// - Returns: with which code the stream must be reset: the increment is 0, or the increments together are more than 2^31-1; `nil` if the frame is valid.
    mutating func receiveWindowUpdate(_ number: Int32, _ bytes: Int) -> HTTP2Code? {
        guard let stream = streams[number], stream.upload == .sent else { return nil }
        guard bytes > 0 else { return .protocolError }
        let sum = stream.idleAllowanceBytes + bytes
        streams.change(number) { $0.idleAllowanceBytes = sum }
        return sum > Int(Int32.max) ? .flowControlError : nil
    }

    /// The server has acknowledged the settings, which changes the windows of all streams
    /// ([RFC 9113, section 6.9.2](https://www.rfc-editor.org/rfc/rfc9113#section-6.9.2)).
    mutating func changeStreamWindows(by bytes: Int) {
        streamWindowBytes += bytes
        for number in streams.keys { streams.change(number) { $0.windowBytes += bytes } }
    }

    /// Returns by how much the window of the connection grows now. It does not wait for readers: a reader that waits must not hold back
    /// other streams.
    mutating func connectionWindowUpdate() -> Int? {
        guard windowBytes <= HTTP2Limits.connectionWindowBytes / 2 else { return nil }
        defer { windowBytes = HTTP2Limits.connectionWindowBytes }
        return HTTP2Limits.connectionWindowBytes - windowBytes
    }

    // MARK: - The server's wishes

    /// The server allows another number of streams at a time. Returns how many the connection takes; `nil` if nothing has changed.
    mutating func receiveStreamLimit(_ count: Int) -> Int? {
        let limit = min(max(0, count), HTTP2Limits.mostStreams)
        guard limit != streamLimit else { return nil }
        streamLimit = limit
        return limit
    }

    /// The server has sent GOAWAY ([RFC 9113, section 6.8](https://www.rfc-editor.org/rfc/rfc9113#section-6.8)).
    ///
    /// - Returns: the streams that it has not processed, in their order. The others go on.
    mutating func receiveGoAway(last: Int32, _ code: HTTP2Code) -> [Int32] {
        (isDraining, goAwayCode) = (true, code)
        return streams.keys.filter { $0 > last }
    }

    /// What a RST_STREAM of the server means.
    enum Reset: Sendable, Equatable {
        /// The whole response was received: only the upload stops.
        case complete
        /// The request was not processed ([RFC 9113, section 8.7](https://www.rfc-editor.org/rfc/rfc9113#section-8.7)).
        case unprocessed
        /// The request was not processed, and is to be sent over HTTP/1.1 ([RFC 9113, section 7](https://www.rfc-editor.org/rfc/rfc9113#section-7)).
        case needsHTTP1
        case failed
    }

    /// Returns what it means that the server has reset a stream: the exchange is over.
    func meaning(ofReset code: HTTP2Code, on number: Int32) -> Reset? {
        guard let stream = streams[number] else { return nil }
        if stream.download == .ended { return .complete }
        guard stream.download == .nothing else { return .failed }
        switch code {
        case .refusedStream: return .unprocessed
        case .http11Required: return .needsHTTP1
        default: return .failed
        }
    }

    // MARK: - The end

    /// An exchange ends before its response is complete. Returns whether its stream must be reset.
    mutating func end(_ number: Int32) -> Bool {
        guard let stream = streams.removeValue(forKey: number) else { return false }
        return stream.upload != .waiting && !isClosed
    }

    /// An exchange is canceled: it ends before its response is complete. If the server was silent since it began, the connection may be
    /// lost, or the server may count resets: see ``ResetProbe``.
    mutating func cancel(_ number: Int32) -> ResetProbe.Action {
        guard !isDraining, let stream = streams[number], stream.upload != .waiting, isSilent(since: number) else { return .none }
        return probe.reset(framesReceived)
    }

    /// The server has responded to a ping, or the time for that is over.
    ///
    /// - Returns: how many streams were held until now, and whether the server is silent since the ping was sent.
    mutating func endProbe() -> (heldStreams: Int, isSilent: Bool) { probe.end(framesReceived) }

    /// Whether the server has sent nothing since an exchange began.
    func isSilent(since number: Int32) -> Bool { streams[number]?.framesBefore == framesReceived }

    /// No further exchange begins.
    mutating func drain() { isDraining = true }

    /// The connection ends, whatever the reason.
    mutating func close() { (isClosed, isDraining) = (true, true) }

    func position(of number: Int32) -> ExchangePosition? {
        guard let stream = streams[number] else { return nil }
        let mayBeStale = !stream.isFirst && stream.framesBefore == framesReceived
        return switch (stream.upload, stream.download) {
        case (.waiting, _): ExchangePosition(phase: .send, delivery: .notSent, mayBeStale: mayBeStale)
        case (_, .body), (_, .ended): ExchangePosition(phase: .body, delivery: .sent, mayBeStale: false)
        case (.awaitingContinue, .nothing), (.sending, .nothing), (.written, .nothing):
            ExchangePosition(phase: .send, delivery: .unknown, mayBeStale: mayBeStale)
        case (_, _): ExchangePosition(phase: .response, delivery: .unknown, mayBeStale: mayBeStale)
        }
    }
}
#endif
