#if SWIFT_NIO
internal import ErrandCore

/// The decisions of one HTTP/2 connection, as a value without channels, tasks and timers.
///
/// For each event, a method returns the handler's next step. The connection's handler calls the method on its event loop, and performs
/// the step. An exchange is a stream with two halves, which end independently: the upload and the response ([RFC 9113, section
/// 5.1](https://www.rfc-editor.org/rfc/rfc9113#section-5.1)). A stream leaves the table when its exchange ends.
struct HTTP2Machine: Sendable {
    enum Upload: Sendable, Equatable {
        /// The head was not written.
        case waiting
        case awaitingContinue
        case sending
        /// The last byte was handed to `NIOHTTP2Handler`, which holds DATA back until the flow-control windows of the server
        /// allow the bytes.
        case written
        /// `NIOHTTP2Handler` has sent the end of the request.
        case sent
        /// The server has responded, or the exchange has ended, before the request was complete. The rest of the request is never sent.
        case stopped
    }

    enum Download: Sendable, Equatable {
        /// No byte of the response was received.
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
        /// The number of interim responses received.
        var interims = 0
        /// The number of bytes of the body that the server still has to send; `nil` if the server did not declare the length.
        var missingBytes: Int64?
        /// The number of bytes that the server may send before this side allows more bytes.
        var windowBytes: Int
        /// Whether the stream's window must not grow until the reader has read more of the response.
        var isHeldBack = false
        /// Whether the head was sent. While the network takes no bytes, the head waits. The body must not be sent before the head.
        var isOpen = false
        /// Whether the body waits until the head was sent.
        var isUploadWaiting = false
        /// The number of bytes by which the server has raised the window of the request since the request was complete.
        var idleAllowanceBytes = 0
        /// The number of bytes of a body in memory that were written and not yet sent.
        var unsentBytes = 0
        /// Whether a part of the body was sent since the last call of ``HTTP2Machine/takeProgress(_:)``.
        fileprivate var hasProgress = false
        /// The value of ``HTTP2Machine/framesReceived`` when the exchange began.
        fileprivate let framesBefore: Int
        fileprivate let isFirst: Bool
    }

    /// The work for the end of a turn of the loop.
    struct Turn: Sendable {
        enum Effect: Sendable, Equatable {
            /// Delivers the data that these streams have received, and allows the server to send more data. A stream may be
            /// listed twice.
            case deliver([Int32])
            /// Fails a stream that `NIOHTTP2Handler` has reset because of an error, without a report of this error.
            case fail(Int32)
            /// Starts the upload of a stream whose head has been sent.
            case startUpload(Int32)
            /// Completes an exchange, because the rest of the request has been sent after the whole response was received.
            case complete(Int32)
        }

        fileprivate var touched: [Int32] = []
        fileprivate var opened: [Int32] = []
        fileprivate var broken: [Int32] = []
        fileprivate var finished: [Int32] = []
    }

    private var turn = Turn()
    var streams = StreamTable<Stream>()
    /// The number of streams that the server allows at a time.
    private(set) var streamLimit = HTTP2Limits.firstStreams
    /// The number of exchanges that have begun.
    private(set) var exchangesStarted = 0
    /// The number of frames that the server has sent.
    private(set) var framesReceived = 0
    /// Whether no further exchange may begin.
    private(set) var isDraining = false
    private(set) var isClosed = false
    /// The number of bytes that the server may send on all streams together.
    var windowBytes = HTTP2Limits.initialWindowBytes
    /// The number of bytes that the server may send on a new stream. The number grows when the server has acknowledged the settings.
    var streamWindowBytes = HTTP2Limits.initialWindowBytes
    /// The code of the server's last GOAWAY; `nil` if the server has sent no GOAWAY.
    private(set) var goAwayCode: HTTP2Code?
    /// The identifier of the next stream. The property has 64 bits, because the number after the last valid identifier does not
    /// fit into `Int32`.
    private var nextStream: Int64
    private var malformedResponses = 0
    private var probe = ResetProbe()

    /// - Parameter firstStream: the first identifier, which is odd.
    init(firstStream: Int32 = 1) { nextStream = Int64(firstStream) }

    // MARK: - The request

    var canStartStream: Bool { !isClosed && !isDraining && streams.count + probe.heldStreams < streamLimit }

    /// Begins an exchange. Returns the identifier of its stream; `nil` if the connection can't take an exchange.
    mutating func startStream() -> Int32? {
        guard canStartStream, let number = Int32(exactly: nextStream) else { return nil }
        streams[number] = Stream(windowBytes: streamWindowBytes, framesBefore: framesReceived, isFirst: exchangesStarted == 0)
        exchangesStarted += 1
        nextStream += 2
        // Identifiers are never reused (RFC 9113, section 5.1.1).
        if nextStream > Int64(Int32.max) { isDraining = true }
        return number
    }

    /// Records that the head is handed to the channel.
    mutating func writeHead(_ number: Int32, _ body: OutgoingBody.Kind) {
        switch body {
        case .none: streams.change(number) { $0.upload = .sent }
        case .present: streams.change(number) { $0.upload = .sending }
        case .afterContinue: streams.change(number) { $0.upload = .awaitingContinue }
        }
    }

    /// Records that the head has been sent. Returns whether the body has waited for the head. A body that has waited follows at the end of
    /// the turn.
    mutating func open(_ number: Int32) -> Bool {
        guard let stream = streams[number] else { return false }
        streams.change(number) { ($0.isOpen, $0.isUploadWaiting) = (true, false) }
        if stream.isUploadWaiting { turn.opened.append(number) }
        return stream.isUploadWaiting
    }

    /// Starts the upload. Returns false if the body must wait until the head was sent.
    mutating func startUpload(_ number: Int32) -> Bool {
        guard let stream = streams[number] else { return false }
        if !stream.isOpen { streams.change(number) { $0.isUploadWaiting = true } }
        return stream.isOpen
    }

    /// Ends the wait for 100 (Continue). Returns true if the body follows now.
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

    /// Counts written bytes of a body in memory. A negative count subtracts sent bytes.
    mutating func countUnsent(_ number: Int32, _ count: Int) { streams.change(number) { $0.unsentBytes += count } }

    /// Records that the last byte of the request is handed to the channel.
    mutating func finishUpload(_ number: Int32) {
        streams.change(number) { if $0.upload == .sending { $0.upload = .written } }
    }

    /// Records that a part of the body, or the end of the request, was sent.
    mutating func leave(_ number: Int32, ends: Bool) {
        streams.change(number) {
            $0.hasProgress = true
            if ends, $0.upload == .sending || $0.upload == .written { $0.upload = .sent }
        }
    }

    /// Returns whether the stream has an exchange in progress.
    func isActive(_ number: Int32) -> Bool { streams.contains(number) }

    /// Returns whether the whole response was received, but a part of the request is not sent yet.
    func isReceived(_ number: Int32) -> Bool { streams[number]?.download == .ended }

    /// Returns whether a part of the body was sent since the last call.
    mutating func takeProgress(_ number: Int32) -> Bool {
        let hasProgress = streams[number]?.hasProgress ?? false
        streams.change(number) { $0.hasProgress = false }
        return hasProgress
    }

    /// Returns whether the handler acts on a callback. If the attempt of a callback is over, the callback is stale, because identifiers of
    /// streams are never reused.
    func takes(_ callback: AttemptCallback, of attempt: AttemptID) -> Bool {
        guard let number = Int32(exactly: attempt.number), streams[number] != nil else { return false }
        return !callback.isOfUpload || isUploading(number)
    }

    // MARK: - The response

    mutating func countFrame() { framesReceived += 1 }

    /// Records that HEADERS or DATA were received.
    mutating func countMessageFrame() { probe.allow() }

    /// Records that an interim response (1xx) was received.
    ///
    /// - Parameter limit: ``ResponseLimits/interimResponseCount``.
    mutating func receiveInterim(_ number: Int32, status: Int, ends: Bool, limit: Int) throws(HTTP2ResponseError) {
        guard status != 101 else { throw .switchingProtocols }
        guard !ends else { throw .interimEnds(status) }
        let count = (streams[number]?.interims ?? 0) + 1
        guard count <= limit else { throw .tooManyInterimResponses(limit: limit) }
        streams.change(number) { ($0.interims, $0.download) = (count, .head) }
    }

    /// Records that the head of the final response was received.
    ///
    /// - Parameters:
    ///   - length: the declared length of the body, in bytes; 0 if there is no body; `nil` if the server did not declare the length.
    /// - Returns: whether the upload stops, because the server has refused the request, or did not ask for the body.
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

    /// The end of an exchange whose whole response was received.
    enum End: Sendable, Equatable {
        /// The exchange is over.
        ///
        /// - Parameter resets: whether the stream must be reset, because the rest of the request is not sent.
        case complete(resets: Bool)
        /// The server accepted the request before the request was complete. After the rest of the request is sent, the exchange
        /// is over.
        case uploadContinues
    }

    /// Records that the last frame of the response was received.
    mutating func receiveEnd(_ number: Int32) throws(HTTP2ResponseError) -> End {
        guard let stream = streams[number] else { return .complete(resets: false) }
        guard stream.download == .body else { throw .dataBeforeHead }
        if let missing = stream.missingBytes, missing > 0 { throw .bodyTooShort(missingBytes: missing) }
        guard stream.upload != .sending, stream.upload != .written else {
            // From now on, only newly sent bytes count as progress in sending the rest of the request.
            streams.change(number) { ($0.download, $0.hasProgress) = (.ended, false) }
            return .uploadContinues
        }
        streams[number] = nil
        return .complete(resets: stream.upload != .sent)
    }

    /// Counts a response that breaks the rules of HTTP. If the result is true, there were too many malformed responses, and the caller must
    /// end the connection.
    mutating func countMalformedResponse() -> Bool {
        malformedResponses += 1
        return malformedResponses > HTTP2Limits.malformedResponses
    }

    // MARK: - The end of a turn

    /// Records that a stream has received a part of its response.
    mutating func touch(_ number: Int32) { if turn.touched.last != number { turn.touched.append(number) } }

    /// Records that `NIOHTTP2Handler` has closed a stream. Either the rest of the request was sent after the response, or
    /// `NIOHTTP2Handler` has found an error and reports this error later. Returns whether the exchange is complete at the end of the
    /// turn.
    mutating func receiveClose(_ number: Int32) -> Bool {
        guard let stream = streams[number] else { return false }
        if stream.download == .ended { turn.finished.append(number) } else { turn.broken.append(number) }
        return stream.download == .ended
    }

    /// Returns the stream whose error `NIOHTTP2Handler` reports now; `nil` if no stream with an unreported error has an exchange in
    /// progress.
    mutating func takeBroken() -> Int32? {
        while let number = turn.broken.popLast() { if streams.contains(number) { return number } }
        return nil
    }

    /// Returns the next effect at the end of a turn; `nil` if no work is left.
    ///
    /// - Parameter hasRead: whether frames were received in the turn.
    mutating func nextEffect(hasRead: Bool) -> Turn.Effect? {
        if hasRead, !turn.touched.isEmpty {
            defer { turn.touched = [] }
            return .deliver(turn.touched)
        }
        if hasRead, let number = takeBroken() { return .fail(number) }
        if let number = turn.opened.popLast() { return .startUpload(number) }
        while let number = turn.finished.popLast() { if isReceived(number) { return .complete(number) } }
        return nil
    }

    // MARK: - The server's limits

    /// Sets the number of streams that the server allows at a time. Returns the number of streams that the connection takes; `nil` if
    /// the number has not changed.
    mutating func receiveStreamLimit(_ count: Int) -> Int? {
        let limit = min(max(0, count), HTTP2Limits.mostStreams)
        guard limit != streamLimit else { return nil }
        streamLimit = limit
        return limit
    }

    /// Records a GOAWAY of the server ([RFC 9113, section 6.8](https://www.rfc-editor.org/rfc/rfc9113#section-6.8)).
    ///
    /// - Returns: the streams that the server has not processed, in the order of their identifiers. The other streams continue.
    mutating func receiveGoAway(last: Int32, _ code: HTTP2Code) -> [Int32] {
        (isDraining, goAwayCode) = (true, code)
        return streams.keys.filter { $0 > last }
    }

    /// The meaning of a RST_STREAM of the server.
    enum Reset: Sendable, Equatable {
        /// The whole response was received, so only the upload stops.
        case complete
        /// The request was not processed ([RFC 9113, section 8.7](https://www.rfc-editor.org/rfc/rfc9113#section-8.7)).
        case unprocessed
        /// The request was not processed, and must be sent over HTTP/1.1
        /// ([RFC 9113, section 7](https://www.rfc-editor.org/rfc/rfc9113#section-7)).
        case needsHTTP1
        case failed
    }

    /// Returns the meaning of a reset by the server; `nil` if the stream has no exchange. The reset ends the exchange.
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

    /// Ends an exchange before its response is complete. Returns whether its stream must be reset.
    mutating func end(_ number: Int32) -> Bool {
        guard let stream = streams.removeValue(forKey: number) else { return false }
        return stream.upload != .waiting && !isClosed
    }

    /// Cancels an exchange before its response is complete. If the server was silent since the exchange began, the connection may be
    /// lost. The server may also limit the number of resets. See ``ResetProbe``.
    mutating func cancel(_ number: Int32) -> ResetProbe.Action {
        guard !isDraining, let stream = streams[number], stream.upload != .waiting, isSilent(since: number) else { return .none }
        return probe.reset(framesReceived)
    }

    /// Ends the wait for the response to a ping, because the server has responded, or because the time has passed.
    ///
    /// - Returns: the number of reset streams that counted toward the limit until now, and whether the server has been silent since the
    ///   ping was sent.
    mutating func endProbe() -> (heldStreams: Int, isSilent: Bool) { probe.end(framesReceived) }

    /// Returns whether the server has sent nothing since an exchange began.
    func isSilent(since number: Int32) -> Bool { streams[number]?.framesBefore == framesReceived }

    /// Refuses further exchanges.
    mutating func drain() { isDraining = true }

    /// Closes the connection, for any reason.
    mutating func close() { (isClosed, isDraining) = (true, true) }

    func position(of number: Int32) -> ExchangePosition? {
        guard let stream = streams[number] else { return nil }
        let request: ExchangePosition.RequestProgress =
            switch stream.upload {
            case .waiting: .unsent
            case .awaitingContinue, .sending, .written: .inProgress
            case .sent, .stopped: .over
            }
        let response: ExchangePosition.ResponseProgress =
            switch stream.download {
            case .nothing: .nothing
            case .head: .begun
            case .body, .ended: .body
            }
        return ExchangePosition(request, response, mayBeStale: !stream.isFirst && stream.framesBefore == framesReceived)
    }
}
#endif
