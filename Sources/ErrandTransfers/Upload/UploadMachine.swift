internal import ErrandCore

/// The decisions of an upload. For each event, the machine returns the next action. ``UploadRun`` performs the actions.
///
/// The machine has no files, no connections and no clocks. An ``UploadRule`` judges each response, and ``TransferPolicy`` each failure.
struct UploadMachine: Sendable {
    /// An event of an upload.
    enum Event: Sendable {
        /// A request may be sent.
        case ready
        /// The body of the request was read to its end.
        case bodyEnd
        /// Informational responses have arrived.
        case information(Information)
        /// The final response has arrived.
        case head(UploadHead)
        /// The app has paused the upload. The connection is closed.
        case paused
        /// The request, the content or an earlier action has failed. `random` is a number from 0 up to, but not including, 1.
        case failure(any Error, random: Double)
    }

    /// The content of informational responses.
    struct Information: Sendable {
        var limits: UploadLimits
        /// The number of bytes that the server has confirmed; `nil` if the responses do not say a number.
        var offset: Int64?
        /// The URL of the upload; `nil` if the responses do not name the URL.
        var url: HTTPURL?
        /// The origin of the request that created the upload.
        var origin: Origin?
        /// The reason why the responses can't be used; `nil` if they can.
        var problem: UploadDecision.Reason?
    }

    /// The action after an event.
    enum Action: Sendable, Hashable {
        /// Send a request. Then report `head`.
        case send(UploadAction)
        /// Continue with the request.
        case read
        /// Write the journal, and continue with the request.
        case keep
        /// Discard the response. Write the journal, wait while the upload is paused, and report `ready`.
        case sendAgain
        /// Discard the response. Remove the journal, and do the same as after `sendAgain`.
        case startAgain
        /// Wait, and then do the same as after `sendAgain`.
        case wait(Duration)
        /// End the call with the response.
        case finish
        /// Report the response as a `StatusError`, by the event `failure`. If the parameter is true, remove the journal first.
        case refuse(forgets: Bool)
        /// Report a ``TransferError``, by the event `failure`.
        case fail(UploadDecision.Reason)
        /// Remove the journal, and report a ``TransferError``, by the event `failure`.
        case forget(UploadDecision.Reason)
        /// Cancel the upload at the server, and do the same as after `forget`.
        case cancel(UploadDecision.Reason)
        /// End the call with the reported error.
        case rethrow
    }

    private let rule: any UploadRule
    private let options: UploadOptions
    private let policy: TransferPolicy
    private let seesInformation: Bool
    private let isIdempotent: Bool
    /// The description of the upload.
    private(set) var record: UploadResumption
    /// The limits that the server has sent.
    private(set) var limits = UploadLimits()
    private var budget: TransferBudget
    /// The request in progress; `nil` if no request is in progress.
    private var action: UploadAction?
    /// Whether the record has the present number of bytes at the server. False after each failure.
    private var knowsOffset = false
    /// The largest number of bytes that the server has confirmed.
    private var confirmed: Int64
    /// Whether the body of the request in progress was read to its end.
    private var wasSent = false
    /// Whether the rules, and not the policy, decide about the failure that will be reported.
    private var waits = false
    /// Whether the response to the whole upload is an error, so that no further request is sent.
    private var isOver = false

    /// - Parameters:
    ///   - record: the description of the content, and of the upload of an earlier run.
    ///   - seesInformation: whether the transport reports informational responses.
    ///   - isIdempotent: whether the method of the app's request is idempotent.
    init(
        _ record: UploadResumption, policy: TransferPolicy, options: UploadOptions, seesInformation: Bool, isIdempotent: Bool
    ) {
        (self.record, self.policy, self.options) = (record, policy, options)
        (self.seesInformation, self.isIdempotent, confirmed) = (seesInformation, isIdempotent, record.bytes)
        rule = record.uploadProtocol.rule
        budget = TransferBudget(maxFailures: policy.maxFailures)
    }

    /// Returns the action after an event.
    mutating func handle(_ event: Event) -> Action {
        switch event {
        case .ready: return send()
        case .bodyEnd:
            wasSent = true
            return .read
        case .information(let information): return note(information)
        case .head(let head): return judge(head)
        case .paused:
            leave()
            return .sendAgain
        case .failure(let error, let random): return fail(error, random)
        }
    }

    private mutating func send() -> Action {
        let next: UploadAction
        if record.url == nil {
            next = .create(rule.firstPart(total: record.total, options: options, seesInformation: seesInformation))
        } else if !knowsOffset {
            next = .askOffset
        } else {
            next = .append(rule.part(from: record.bytes, of: record.total, options: options, limits: limits))
        }
        (action, wasSent, waits) = (next, next.part?.count == 0, false)
        return .send(next)
    }

    /// Ends the request in progress, without a response.
    private mutating func leave() {
        // If all bytes were sent, and the response is lost, the upload may be complete.
        if action?.part?.isLast == true, wasSent { record.mayBeComplete = true }
        (action, knowsOffset) = (nil, false)
    }

    // MARK: Responses

    private mutating func note(_ information: Information) -> Action {
        limits = information.limits
        if let offset = information.offset, offset <= record.total { record.bytes = max(record.bytes, offset) }
        guard case .create = action else { return .read }
        if let problem = information.problem { return .fail(problem) }
        guard let url = information.url else { return .read }
        let isNew = record.url != url
        (record.url, record.origin) = (url, information.origin)
        if let maxSize = limits.maxSize, maxSize < record.total { return .cancel(.tooLarge) }
        return isNew ? .keep : .read
    }

    private mutating func judge(_ head: UploadHead) -> Action {
        guard let action else { return .rethrow }
        var head = head
        limits = ResumableRule.limits(in: head.fields, or: limits)
        (head.limits, head.isIdempotent) = (limits, isIdempotent)
        switch rule.decide(head, after: action, of: record) {
        case .complete:
            // With tus, the URL identifies the content, also if the creation completes the upload.
            if case .create = action, record.uploadProtocol == .tus, case .success(let url) = head.location() { record.url = url }
            return .finish
        case .append(let record): return accept(record, after: action)
        case .askOffset(let record):
            (self.record, knowsOffset) = (record, false)
            if case .append = action, !budget.fail() { return .fail(.noOffset) }
            return .sendAgain
        case .wait(let reason):
            waits = true
            return head.isSuccess ? .fail(reason) : .refuse(forgets: false)
        case .refuse(let isFinal):
            if isFinal {
                isOver = true
                forget()
            }
            return .refuse(forgets: isFinal)
        case .startAgain(let reason):
            guard budget.restart() else { return .fail(reason) }
            forget()
            return .startAgain
        case .cancel(let record, let reason):
            self.record = record
            return .cancel(reason)
        case .fail(let reason):
            guard reason == .mayBeComplete else { return .fail(reason) }
            forget()
            return .forget(reason)
        }
    }

    /// Continues after the bytes that the server has.
    private mutating func accept(_ record: UploadResumption, after action: UploadAction) -> Action {
        let new = record.bytes - confirmed
        (self.record, knowsOffset) = (record, true)
        if new > 0 {
            budget.record(new)
            confirmed = record.bytes
        } else if case .append = action, !budget.fail() {
            // A server that never makes progress ends the call.
            return .fail(.noProgress)
        }
        return .sendAgain
    }

    /// Forgets the upload at the server.
    mutating func forget() {
        record = record.startingAgain
        (action, knowsOffset, confirmed) = (nil, false, 0)
    }

    // MARK: Failures

    private mutating func fail(_ error: any Error, _ random: Double) -> Action {
        let mayRepeat = mayRepeat(after: error)
        // A proxy may respond with 5xx although the server has processed the request.
        let hasResponse = error is TransferError || (error as? StatusError).map { $0.status.kind != .serverError } ?? false
        if !hasResponse { leave() }
        (action, knowsOffset) = (nil, false)
        guard mayRepeat, !isOver, budget.fail(), let wait = wait(after: error, random) else { return .rethrow }
        return .wait(wait)
    }

    private func wait(after error: any Error, _ random: Double) -> Duration? {
        guard waits else { return error is TransferError ? nil : policy.wait(after: error, failures: budget.failures, random: random) }
        let asked = (error as? StatusError)?.retryAfter ?? .zero
        guard asked <= policy.maxRetryAfter else { return nil }
        return max(asked, policy.jitter.applied(to: policy.backoff.delay(afterAttempt: budget.failures), random: random))
    }

    /// Returns whether a failed request may be sent again without the risk that the server processes the content twice.
    private func mayRepeat(after error: any Error) -> Bool {
        guard case .create(let part)? = action, part.isLast, record.uploadProtocol != .tus, record.url == nil else { return true }
        if isIdempotent || !wasSent || !error.mayHaveBeenProcessed { return true }
        return (error as? StatusError)?.saysNotProcessed == true
    }
}
