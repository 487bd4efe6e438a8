internal import ErrandCore
internal import ErrandFormats

/// The decisions of a download. For each event, the machine returns the next action. ``DownloadRun`` performs the actions.
///
/// The machine has no files, no connections and no clocks. ``DownloadRule`` judges each response, and ``TransferPolicy`` each failure.
struct DownloadMachine: Sendable {
    /// An event of a download.
    enum Event: Sendable {
        /// A request may be sent. The record describes the bytes on the disk.
        case ready(DownloadResumption)
        /// The head of the response has arrived.
        case head(DownloadRule.Head, at: HTTPDate)
        /// Bytes of the body have arrived.
        case bytes(Int)
        /// The body has ended.
        case end
        /// The app has paused the download. The connection is closed.
        case paused
        /// The digest of the file is known; `nil` if the library was built without digests.
        case digest(IntegrityDigest?)
        /// The request, the body, the disk, or an earlier action has failed. `random` is a number from 0 up to, but not including, 1.
        case failure(any Error, random: Double)
    }

    /// The action after an event.
    enum Action: Sendable, Hashable {
        /// Send a request for a part of the content; for the whole content if `nil`. Then report `head`.
        case send(DownloadRange?)
        /// Read the body, and write its bytes from an offset. Report `bytes` and `end`. The parameters are those of
        /// ``DownloadDecision/write(from:to:record:)``.
        case write(from: Int64, to: Int64?, record: DownloadResumption)
        /// Write the bytes that have arrived, and continue with the body.
        case read
        /// Discard the response. Write the journal, wait while the download is paused, and report `ready`.
        case sendAgain
        /// Wait, and then do the same as after `sendAgain`.
        case wait(Duration)
        /// Compare the digest of the first bytes of the file, and report `digest`.
        case verify(IntegrityDigest, bytes: Int64)
        /// Give the file its final name.
        case publish(bytes: Int64)
        /// Report the response as a ``StatusError``, by the event `failure`.
        case refuse
        /// Report that the connection is lost, by the event `failure`.
        case reportLoss(String)
        /// Mark the content as wrong, so that the next run starts from the first byte. Then report the failure.
        case reject(String)
        /// Report a ``TransferError``, by the event `failure`.
        case fail(TransferError.Code, String)
        /// End the call with the reported error.
        case rethrow
    }

    /// A body that is written to the file.
    private struct Body: Sendable {
        let start: Int64
        /// The offset after the last byte; `nil` if the head does not say where the body ends.
        let end: Int64?
        /// The offset after the bytes that have arrived.
        var offset: Int64
    }

    private enum State: Sendable {
        /// No request is in progress.
        case idle
        /// A request for this range was sent.
        case requesting(DownloadRange?)
        case writing(Body)
        case verifying(IntegrityDigest, bytes: Int64)
    }

    private let policy: TransferPolicy
    private let startsAgain: Bool
    private let limitBytes: Int64?
    private var state = State.idle
    private var record: DownloadResumption
    private var budget: TransferBudget
    /// Whether the next request asks for the whole content, although bytes are on the disk.
    private var asksForWhole = false

    /// - Parameters:
    ///   - policy: the conditions under which the download continues after a failure.
    ///   - changedContent: the behavior if the bytes on the disk can't be continued.
    ///   - limitBytes: the largest length of the whole content; `nil` if the length is not limited.
    init(policy: TransferPolicy, changedContent: DownloadOptions.Fallback, limitBytes: Int64?) {
        (self.policy, startsAgain, self.limitBytes) = (policy, changedContent == .startAgain, limitBytes)
        record = DownloadResumption(fileName: "")
        budget = TransferBudget(maxFailures: policy.maxFailures)
    }

    /// Returns the action after an event.
    ///
    /// - Precondition: the last action permits the event.
    mutating func handle(_ event: Event) -> Action {
        switch (state, event) {
        case (_, .ready(let record)): return send(record)
        case (_, .paused):
            state = .idle
            return .sendAgain
        case (_, .failure(let error, let random)): return fail(error, random)
        case (.requesting(let asked), .head(let head, let now)): return judge(head, asked, now)
        case (.writing(let body), .bytes(let count)): return receive(Int64(count), in: body)
        case (.writing(let body), .end): return end(body)
        case (.verifying(let expected, let bytes), .digest(let actual)):
            state = .idle
            if let actual, actual != expected { return .reject("expected \(expected), got \(actual)") }
            return .publish(bytes: bytes)
        default: preconditionFailure("a download must not report \(event) in the state \(state)")
        }
    }

    private mutating func send(_ record: DownloadResumption) -> Action {
        self.record = record
        let range = asksForWhole ? nil : DownloadRule.range(after: record)
        state = .requesting(range)
        return .send(range)
    }

    // MARK: Responses

    private mutating func judge(_ head: DownloadRule.Head, _ asked: DownloadRange?, _ now: HTTPDate) -> Action {
        state = .idle
        switch DownloadRule.decide(head, asked: asked, record: record, now: now) {
        case .write(let start, let end, let record):
            if start == 0, asked != nil, !mayStartAgain() { return .fail(.changed, "the server sent the whole content") }
            if let limitBytes, record.total ?? 0 > limitBytes { return tooLarge(limitBytes) }
            asksForWhole = false
            self.record = record
            state = .writing(Body(start: start, end: end, offset: start))
            return .write(from: start, to: end, record: record)
        case .complete: return finish(record.bytes)
        case .startAgain(let reason):
            guard mayStartAgain() else { return .fail(.changed, reason.rawValue) }
            asksForWhole = true
            return .sendAgain
        case .refuse: return .refuse
        case .fail(let reason): return .fail(.unusablePart, reason.rawValue)
        }
    }

    /// Counts a start from the first byte. Returns whether the options and the budget allow the start.
    private mutating func mayStartAgain() -> Bool { startsAgain && budget.restart() }

    private func tooLarge(_ limitBytes: Int64) -> Action {
        .fail(.tooLarge, "the content has more than \(limitBytes.counted("byte"))")
    }

    // MARK: Bodies

    private mutating func receive(_ count: Int64, in body: Body) -> Action {
        var body = body
        body.offset += count
        if let end = body.end, body.offset > end { return .fail(.unusablePart, "the body is longer than the head of the response says") }
        if let limitBytes, body.offset > limitBytes { return tooLarge(limitBytes) }
        budget.record(count)
        state = .writing(body)
        return .read
    }

    private mutating func end(_ body: Body) -> Action {
        state = .idle
        if let end = body.end, body.offset < end {
            let (got, expected) = (body.offset - body.start, end - body.start)
            return .reportLoss("the body ended after \(got.counted("byte")) of \(expected.counted("byte"))")
        }
        if let total = record.total { return body.offset == total ? finish(total) : .sendAgain }
        // Without a total, the end of a whole body is the end of the content. After a part, the next request shows whether there is more.
        return body.start == 0 ? finish(body.offset) : .sendAgain
    }

    private mutating func finish(_ bytes: Int64) -> Action {
        guard let digest = record.digest else { return .publish(bytes: bytes) }
        state = .verifying(digest, bytes: bytes)
        return .verify(digest, bytes: bytes)
    }

    // MARK: Failures

    private mutating func fail(_ error: any Error, _ random: Double) -> Action {
        state = .idle
        guard !(error is TransferError), budget.fail(),
            let wait = policy.wait(after: error, failures: budget.failures, random: random)
        else { return .rethrow }
        return .wait(wait)
    }
}
