internal import ErrandCore
internal import ErrandFormats
internal import Synchronization

/// One call of ``Download/file()``: sends requests until the file is complete. ``DownloadMachine`` decides what to do next.
final class DownloadRun: Sendable {
    /// The next action, and the last response.
    private struct Step: Sendable {
        var action: DownloadMachine.Action
        var response: Response?
    }

    /// The number of bytes that are collected before they are written.
    private static let writeBytes = 256 * 1024
    /// The interval of the checkpoints.
    private static let checkpointInterval: Duration = .seconds(1)

    private let download: Download
    private let files: DownloadFiles
    private let url: URL
    private let machine: Mutex<DownloadMachine>

    private var meter: TransferMeter { download.meter }
    private var settings: Download.Settings { download.settings }

    init(_ download: Download, _ files: DownloadFiles, _ url: URL) {
        (self.download, self.files, self.url) = (download, files, url)
        let options = download.settings.options
        machine = Mutex(
            DownloadMachine(
                policy: download.settings.policy, changedContent: options.changedContent,
                limitBytes: options.file.limitBytes.map { Int64($0) }))
    }

    private func handle(_ event: DownloadMachine.Event) -> DownloadMachine.Action { machine.withLock { $0.handle(event) } }

    /// Returns the finished file.
    func perform() async throws -> DownloadedFile {
        meter.set(files.record.bytes, total: files.record.total)
        try await waitWhilePaused()
        var step = Step(action: handle(.ready(files.record)))
        while true {
            do {
                switch (step.action, step.response) {
                case (.publish(let bytes), let response?):
                    try await naming(response) { try await publish(bytes) }
                    return file(bytes, response)
                case (.verify(let digest, let bytes), let response?): step.action = try await verify(digest, bytes, response)
                case (let action, _): step = try await perform(action)
                }
            } catch {
                try? await keepBytes()
                try Task.checkCancellation()
                step = Step(action: handle(.failure(error, random: settings.random())))
                guard case .wait(let duration) = step.action else { throw error }
                meter.enter(.waiting(duration, after: error))
            }
        }
    }

    /// Performs an action before or between two requests.
    private func perform(_ action: DownloadMachine.Action) async throws -> Step {
        switch action {
        case .send(let range):
            let step = try await download.control.untilPaused { try await self.send(range) }
            return step ?? Step(action: handle(.paused))
        case .wait(let duration):
            let clock = settings.clock
            _ = try await download.control.untilPaused { try await clock.sleep(for: duration) }
        default: try await keepBytes()
        }
        try await waitWhilePaused()
        return Step(action: handle(.ready(files.record)))
    }

    private func waitWhilePaused() async throws { try await download.control.waitWhilePaused { meter.enter(.paused) } }

    /// Writes the journal for all written bytes, even if the task is cancelled.
    private func keepBytes() async throws {
        try await files.checkpoint(isLast: true)
        download.keep(files.record)
    }

    // MARK: A request

    /// Sends a request, and performs the actions until the end of the body.
    private func send(_ range: DownloadRange?) async throws -> Step {
        meter.enter(.connecting)
        var request = try await settings.makeRequest(range == nil ? nil : files.record)
        try prepare(&request, range)
        let response = try await settings.sender.send(request)
        let head = DownloadRule.Head(
            response: response.head, bodyLength: response.body.expectedLength,
            isDecoded: response.metadata.isDecoded,
            isAccepted: response.metadata.isStatusAccepted || response.head.status.kind == .successful)
        switch handle(.head(head, at: HTTPDate(settings.now()))) {
        case .write(let start, _, let record):
            return Step(action: try await write(response, from: start, record: record), response: response)
        case .refuse: throw try await StatusError(reading: response)
        case .fail(let code, let message):
            response.discard()
            throw error(code, message, response)
        case let action:
            response.discard()
            return Step(action: action, response: response)
        }
    }

    /// Adds the request and the response to an error about the space on the disk.
    private func naming(_ response: Response, _ work: () async throws -> Void) async throws {
        do {
            try await work()
        } catch let error as FileWriteError where isErrorOfFullDisk(error.code) {
            throw self.error(.noSpace, "the disk is full", response)
        } catch var error as TransferError {
            (error.request, error.response) = (response.request, response.head)
            throw error
        }
    }

    private func error(_ code: TransferError.Code, _ message: String, _ response: Response) -> TransferError {
        TransferError(code, message, resumption: .download(files.record), request: response.request, response: response.head)
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
        request.prepareForLongCall()
        if settings.options.wantsDigest { request.headers[.wantReprDigest] = IntegrityDigest.wanted }
        if let range {
            request.headers[.range] = ByteRange.field([.from(range.offset)])
            request.headers[.ifRange] = range.validator
        } else {
            // Some servers compress a body although the request asks for `identity`.
            request.options.call.decodesUnrequestedCodings = true
        }
        if case .inherited = request.options.phaseTimeouts {
            let idle = settings.policy.idleTimeout
            request.options.phaseTimeouts = .use(PhaseTimeouts(firstByte: idle, idleRead: idle, clock: settings.clock))
        }
    }

    // MARK: The body

    private func write(_ response: Response, from start: Int64, record: DownloadResumption) async throws -> DownloadMachine.Action {
        let iterator = response.body.makeSharedIterator()
        try await naming(response) { try await files.begin(record, at: start) }
        meter.begin(at: start, total: record.total)
        let (clock, opened) = (settings.clock, files)
        try await firstOf(
            { try await self.copy(iterator, from: start, response) },
            {
                while true {
                    try await clock.sleep(for: Self.checkpointInterval)
                    try await self.naming(response) { try await opened.checkpoint() }
                }
            })
        let action = handle(.end)
        guard case .reportLoss(let message) = action else { return action }
        throw TransportError(
            .connectionLost, phase: .body, message: message, request: response.request, response: response.head, delivery: .sent)
    }

    /// Copies the body to the file.
    ///
    /// If the body breaks off, the bytes that have arrived are written before the error is thrown.
    private func copy(_ body: ResponseBody.SharedIterator, from start: Int64, _ response: Response) async throws {
        var (offset, gathered) = (start, Data())
        do {
            while let chunk = try await body.next() {
                if case .fail(let code, let message) = handle(.bytes(chunk.count)) { throw error(code, message, response) }
                if gathered.isEmpty { gathered = chunk } else { gathered.append(chunk) }
                meter.record(chunk.count)
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
    }

    // MARK: The end

    private func verify(_ digest: IntegrityDigest, _ bytes: Int64, _ response: Response) async throws -> DownloadMachine.Action {
        meter.enter(.verifying)
        files.setTotal(bytes)
        let action = handle(.digest(try await files.digest(by: digest.algorithm)))
        guard case .reject(let message) = action else { return action }
        try await files.reject()
        throw error(.digestMismatch, message, response)
    }

    private func publish(_ bytes: Int64) async throws {
        files.setTotal(bytes)
        try await files.publish(options: settings.options.file)
        download.keep(nil)
        meter.set(bytes, total: bytes)
    }

    private func file(_ bytes: Int64, _ response: Response) -> DownloadedFile {
        DownloadedFile(url: url, bytes: bytes, head: response.head, request: response.request, metadata: response.metadata)
    }
}
