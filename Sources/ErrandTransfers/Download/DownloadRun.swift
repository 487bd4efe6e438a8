internal import ErrandCore
internal import ErrandFormats
internal import Synchronization

/// One call of ``Download/file()``: sends requests until the file is complete. ``DownloadRule`` decides about each response.
final class DownloadRun: Sendable {
    /// The result of one request.
    private enum Step: Sendable {
        /// The file is complete.
        case complete(Response)
        /// The file is incomplete. Another request is needed.
        case incomplete
    }

    private struct State {
        var budget: TransferBudget
        /// Whether the next request asks for the whole content, although bytes are on the disk.
        var asksForWhole = false
    }

    /// The number of bytes that are collected before they are written.
    private static let writeBytes = 256 * 1024
    /// The interval of the checkpoints.
    private static let checkpointInterval: Duration = .seconds(1)

    private let download: Download
    private let files: DownloadFiles
    private let url: URL
    private let state: Mutex<State>

    private var limitBytes: Int64? { settings.options.file.limitBytes.map { Int64($0) } }
    private var meter: TransferMeter { download.meter }
    private var settings: Download.Settings { download.settings }

    init(_ download: Download, _ files: DownloadFiles, _ url: URL) {
        (self.download, self.files, self.url) = (download, files, url)
        state = Mutex(State(budget: TransferBudget(maxFailures: download.settings.policy.maxFailures)))
    }

    /// Returns the finished file.
    func perform() async throws -> DownloadedFile {
        meter.set(files.record.bytes, total: files.record.total)
        while true {
            try await download.control.waitWhilePaused { meter.enter(.paused) }
            do {
                if case .complete(let response)? = try await download.control.untilPaused({ try await self.request() }) {
                    return try await finish(response)
                }
                try await keepBytes()
            } catch {
                try? await keepBytes()
                try Task.checkCancellation()
                try await waitAfter(error)
            }
        }
    }

    /// Writes the journal for all written bytes, even if the task is cancelled.
    private func keepBytes() async throws {
        try await files.checkpoint()
        download.keep(files.record)
    }

    /// Waits before the next request, or throws the error if no further request is sent.
    private func waitAfter(_ error: any Error) async throws {
        let failures = state.withLock { state in state.budget.fail() ? state.budget.failures : nil }
        guard !(error is TransferError), let failures,
            let wait = settings.policy.wait(after: error, failures: failures, random: settings.random())
        else { throw error }
        meter.enter(.waiting(wait, after: error))
        let clock = settings.clock
        _ = try await download.control.untilPaused { try await clock.sleep(for: wait) }
    }

    // MARK: A request

    private func request() async throws -> Step {
        let record = files.record
        let range = state.withLock { $0.asksForWhole } ? nil : DownloadRule.range(after: record)
        meter.enter(.connecting)
        var request = try await settings.makeRequest(range == nil ? nil : record)
        try prepare(&request, range)
        let response = try await settings.sender.send(request)
        let head = DownloadRule.Head(
            response: response.head, bodyLength: response.body.expectedLength,
            isDecoded: response.metadata.contentCoding != nil || !response.metadata.encodedFields.isEmpty,
            isAccepted: response.metadata.isStatusAccepted || response.head.status.kind == .successful)
        switch DownloadRule.decide(head, asked: range, record: record, now: HTTPDate(settings.now())) {
        case .write(let start, let end, let record):
            if start == 0, range != nil { try startAgain("the server sent the whole content", response) }
            state.withLock { $0.asksForWhole = false }
            return try await write(response, from: start, to: end, record: record)
        case .complete:
            response.discard()
            return .complete(response)
        case .startAgain(let reason):
            response.discard()
            try startAgain(reason.rawValue, response)
            state.withLock { $0.asksForWhole = true }
            return .incomplete
        case .refuse: throw try await StatusError(reading: response)
        case .fail(let reason):
            response.discard()
            throw error(.unusablePart, reason.rawValue, response)
        }
    }

    /// Adds the request and the response to an error about the disk.
    private func naming(_ response: Response, _ work: () async throws -> Void) async throws {
        do {
            try await work()
        } catch var error as TransferError {
            (error.request, error.response) = (response.request, response.head)
            throw error
        }
    }

    private func error(_ code: TransferError.Code, _ message: String, _ response: Response) -> TransferError {
        TransferError(code, message, resumption: .download(files.record), request: response.request, response: response.head)
    }

    /// Counts a start from the first byte.
    ///
    /// - Throws: ``TransferError`` if the options forbid the start, or the download has started again too often.
    private func startAgain(_ reason: String, _ response: Response) throws {
        guard settings.options.changedContent == .startAgain, state.withLock({ $0.budget.restart() }) else {
            response.discard()
            throw error(.changed, reason, response)
        }
    }

    private func prepare(_ request: inout Request, _ range: DownloadRange?) throws {
        guard request.method == .get else {
            throw TransferError(
                .invalidRequest, "the method is \(request.method.rawValue.shownSafely(limit: 20)), not GET", request: request)
        }
        for name in [HTTPField.Name.range, .ifRange] where request.headers.contains(name) {
            throw TransferError(.invalidRequest, "the request has the field \(name.rawName)", request: request)
        }
        // Offsets of a compressed body have no meaning for the file. See RFC 9110, section 14.
        if !request.headers.contains(.acceptEncoding) { request.headers[.acceptEncoding] = "identity" }
        if settings.options.wantsDigest { request.headers[.wantReprDigest] = IntegrityDigest.wanted }
        if let range {
            request.headers[.range] = ByteRange.field([.from(range.offset)])
            request.headers[.ifRange] = range.validator
        } else {
            // Some servers compress a body although the request asks for `identity`.
            request.options.call.decodesUnrequestedCodings = true
        }
        (request.options.timeout, request.options.attemptTimeout) = (.off, .off)
        if case .inherited = request.options.phaseTimeouts {
            let idle = settings.policy.idleTimeout
            request.options.phaseTimeouts = .use(PhaseTimeouts(firstByte: idle, idleRead: idle, clock: settings.clock))
        }
    }

    // MARK: The body

    private func write(_ response: Response, from start: Int64, to end: Int64?, record: DownloadResumption) async throws -> Step {
        let body = response.body
        let iterator = body.makeSharedIterator()
        if let limitBytes, record.total ?? 0 > limitBytes { throw tooLarge(limitBytes, response) }
        try await naming(response) { try await files.begin(record, at: start) }
        meter.begin(at: start, total: record.total)
        let (clock, opened) = (settings.clock, files)
        let written = try await withThrowingTaskGroup(of: Int64?.self) { group in
            group.addTask { try await self.copy(iterator, from: start, to: end, response) }
            group.addTask {
                while true {
                    try await clock.sleep(for: Self.checkpointInterval)
                    try await opened.checkpoint()
                }
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
        guard let written else { return .incomplete }
        if let total = record.total { return written == total ? .complete(response) : .incomplete }
        // Without a total, the end of a whole body is the end of the content. After a part, the next request shows whether there is more.
        guard start == 0 else { return .incomplete }
        files.setTotal(written)
        return .complete(response)
    }

    /// Copies the body to the file, and returns the offset after its last byte.
    ///
    /// If the body breaks off, the bytes that have arrived are written before the error is thrown.
    private func copy(
        _ body: ResponseBody.SharedIterator, from start: Int64, to end: Int64?, _ response: Response
    ) async throws -> Int64 {
        var (offset, gathered) = (start, Data())
        do {
            while let chunk = try await body.next() {
                let next = offset + Int64(gathered.count) + Int64(chunk.count)
                if let end, next > end {
                    throw error(.unusablePart, "the body is longer than its head says", response)
                }
                if let limitBytes, next > limitBytes { throw tooLarge(limitBytes, response) }
                if gathered.isEmpty { gathered = chunk } else { gathered.append(chunk) }
                meter.record(chunk.count)
                state.withLock { $0.budget.record(Int64(chunk.count)) }
                guard gathered.count >= Self.writeBytes else { continue }
                let (data, start) = (gathered, offset)
                try await naming(response) { try await files.write(data, at: start) }
                offset += Int64(gathered.count)
                gathered = Data()
            }
        } catch {
            // A failed write has kept its bytes in `gathered`. Writing them once more would fail again.
            if !gathered.isEmpty, !(error is FileWriteError), (error as? TransferError)?.code != .noSpace {
                try? await files.write(gathered, at: offset)
            }
            throw error
        }
        let (data, last) = (gathered, offset)
        try await naming(response) { try await files.write(data, at: last) }
        offset += Int64(gathered.count)
        if let end, offset < end {
            throw TransportError(
                .connectionLost, phase: .body,
                message: "the body ended after \((offset - start).counted("byte")) of \((end - start).counted("byte"))",
                request: response.request, response: response.head, delivery: .sent)
        }
        return offset
    }

    private func tooLarge(_ limitBytes: Int64, _ response: Response) -> TransferError {
        error(.tooLarge, "the content has more than \(limitBytes.counted("byte"))", response)
    }

    // MARK: The end

    private func finish(_ response: Response) async throws -> DownloadedFile {
        let record = files.record
        if let digest = record.digest {
            meter.enter(.verifying)
            if let actual = try await files.digest(by: digest.algorithm), actual != digest {
                try await files.reject()
                throw error(.digestMismatch, "expected \(digest), got \(actual)", response)
            }
        }
        try await files.publish(options: settings.options.file)
        download.keep(nil)
        meter.set(record.bytes, total: record.bytes)
        return DownloadedFile(
            url: url, bytes: record.bytes, head: response.head, request: response.request, metadata: response.metadata)
    }
}
