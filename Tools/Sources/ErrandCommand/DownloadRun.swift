import ArgumentParser
import Errand
import ErrandNIO
import Foundation
import Synchronization

/// The downloads of one command, from their arguments to the exit status.
struct DownloadRun {
    /// One download.
    struct Job: Sendable {
        let number: Int
        /// The URL as the argument has it.
        let argument: String
        let arguments: RequestArguments
        let request: Request
        let origin: String
        let target: DownloadTarget
        let start: DownloadTarget.Start
        let authentication: Authentication
    }

    /// The end of one download.
    struct Outcome: Sendable {
        /// The exit status; `nil` if the download has not ended.
        var status: Int32?
        /// The description of the bytes on the disk.
        var resumption: DownloadResumption?
    }

    private let command: DownloadCommand
    private var shown: OutputOptions { command.shown }

    init(_ command: DownloadCommand) { self.command = command }

    func run() async throws {
        let jobs = try jobs()
        try refuse(jobs)
        let transport = try transport(for: jobs)
        let isAnimated = Terminal.errorIsTerminal && !Terminal.isDumb && shown.color.isColored(isTerminal: true)
        let board = TransferBoard(
            style: .init(isAnimated: isAnimated, isSilent: shown.silent, isVerbose: shown.verbose), count: jobs.count)
        let outcomes = Outcomes(count: jobs.count)
        let task = Task {
            try await withInterruptibleTransport(transport) { transport in
                try await perform(jobs, by: transport, board, outcomes)
            }
        }
        Interrupt.whenItComes { task.cancel() }
        var code: Int32
        do {
            try await task.value
            code = Interrupt.hasCome ? Interrupt.exitStatus : outcomes.all.lazy.map { $0.status ?? 6 }.first { $0 != 0 } ?? 0
        } catch is CancellationError {
            code = Interrupt.exitStatus
        } catch {
            if shown.showsMessages { Terminal.say("errand: \(error)") }
            code = 6
        }
        board.clear()
        if code != 0, shown.showsMessages { sayHowToContinue(jobs, outcomes.all) }
        throw ExitCode(code)
    }

    // MARK: - Before the downloads

    /// - Throws: `ValidationError` for arguments that are invalid.
    private func jobs() throws -> [Job] {
        var jobs: [Job] = []
        var known: [String: Authentication] = [:]
        do {
            for (number, argument) in command.urls.enumerated() {
                let arguments = command.arguments(for: argument)
                try arguments.validate()
                let url = try arguments.httpURL()
                let origin = "\(url.scheme)://\(url.authority)".lowercased()
                // A password is asked for once.
                let authentication = try known[origin] ?? arguments.authentication()
                known[origin] = authentication
                let target = command.target(for: url)
                jobs.append(
                    Job(
                        number: number, argument: argument, arguments: arguments,
                        request: try arguments.request(method: "GET", authentication: authentication), origin: origin, target: target,
                        start: target.start(continues: command.continues, replaces: command.download.force),
                        authentication: authentication))
            }
        } catch let error as InvalidURLError {
            throw ValidationError("\(error)")
        } catch let error as FileReadError {
            throw ValidationError("\(error)")
        }
        if command.who.login != nil, known.count > 1 {
            throw ValidationError("--auth sends a token to one server, and the URLs have several. Run a command for each server")
        }
        return jobs
    }

    /// Ends the command if a file exists, or if there is a partial file of an earlier run. Nothing is sent.
    private func refuse(_ jobs: [Job]) throws {
        var paths: [String] = []
        var problems: [String] = []
        for job in jobs {
            let target = job.target
            let path = target.url.standardizedFileURL.path
            let isTaken = paths.contains { $0.isExactly(path) }
            paths.append(path)
            if isTaken {
                problems.append("\(ExistingFile(path: target.path, isOfThisCommand: true))")
                continue
            }
            switch job.start {
            case .download, .discard, .skip: break
            case .refuseExisting: problems.append("\(ExistingFile(path: target.path))")
            case .refusePart(let bytes):
                problems.append(
                    "'\(target.partPath.shownSafely())' has \(TransferSize.text(bytes)) of an earlier download. "
                        + "-C - continues the download, and --force discards the bytes and starts again")
            }
        }
        guard !problems.isEmpty else { return }
        if shown.showsMessages { for problem in problems { Terminal.say("errand: \(problem)") } }
        throw ExitCode(23)
    }

    private func transport(for jobs: [Job]) throws -> NIOTransport {
        let hosts = try jobs.map { try $0.arguments.httpURL().host }
        if shown.showsMessages {
            for warning in Set(jobs.compactMap(\.arguments.insecureWarning)).sorted() { Terminal.say("errand: \(warning)") }
        }
        guard let first = jobs.first else { throw ValidationError("the URL is missing") }
        return try first.arguments.transport(uncheckedHosts: hosts)
    }

    // MARK: - The downloads

    private func perform(_ jobs: [Job], by transport: NIOTransport, _ board: TransferBoard, _ outcomes: Outcomes) async throws {
        var shared = await TransferStacks(jobs[0].arguments)
        let names = TakenNames(jobs.map(\.target.path))
        var stacks: [String: HTTPStack] = [:]
        for job in jobs where stacks[job.origin] == nil {
            stacks[job.origin] = try shared.stack(for: job.arguments, job.authentication, on: transport)
        }
        let all = stacks
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await board.animate() }
            await performAll(jobs, on: all, board, names, outcomes)
            group.cancelAll()
        }
        await shared.finish()
    }

    private func performAll(
        _ jobs: [Job], on stacks: [String: HTTPStack], _ board: TransferBoard, _ names: TakenNames, _ outcomes: Outcomes
    ) async {
        await withTaskGroup(of: Int.self) { group in
            var queue = TransferQueue(jobs.map(\.origin))
            func begin() {
                for number in queue.next() where !Task.isCancelled {
                    let job = jobs[number]
                    guard let stack = stacks[job.origin] else { continue }
                    group.addTask {
                        outcomes.set(await self.perform(job, on: stack, board, names), at: number)
                        return number
                    }
                }
            }
            begin()
            while let number = await group.next() {
                queue.end(number)
                begin()
            }
        }
    }

    /// Performs one download.
    private func perform(_ job: Job, on stack: HTTPStack, _ board: TransferBoard, _ names: TakenNames) async -> Outcome {
        let target = job.target
        board.begin(job.number, name: target.name)
        if case .skip = job.start {
            board.end(
                job.number, "'\(target.path.shownSafely())' exists, and nothing was downloaded. --force downloads the file again",
                isMessage: shown.showsMessages)
            return Outcome(status: 0)
        }
        let watch = ResponseNames(target, names, replaces: command.download.force) { board.start(job.number, name: $0, at: $1) }
        let file = FileWriteOptions(replacesExistingFile: command.download.force, permissions: ResponseOutput.permissions)
        let download = Download(
            job.request, to: target.url, over: stack.wrapped(by: watch), policy: command.connection.transferPolicy,
            options: DownloadOptions(file: file))
        let start = ContinuousClock.now
        do {
            if case .discard = job.start { try await download.discard() }
            let result = try await self.file(of: download, job, watch, board)
            let path = watch.path
            if !path.isExactly(target.path) { try target.rename(to: path, replaces: command.download.force) }
            let seconds = start.duration(to: .now)
            let rate = Double(watch.bytes(of: result)) / max(0.001, seconds / .seconds(1))
            board.end(
                job.number,
                "\(path.shownSafely()): \(TransferSize.text(result.bytes)) in \(TransferSize.text(seconds)), \(TransferSize.text(rate))/s")
            return Outcome(status: 0)
        } catch {
            return await failed(error, download, job, board)
        }
    }

    /// Downloads the file, and shows the states.
    private func file(
        of download: Download, _ job: Job, _ watch: ResponseNames, _ board: TransferBoard
    ) async throws -> DownloadedFile {
        let connection = command.connection
        return try await withThrowingTaskGroup(of: DownloadedFile?.self) { group in
            group.addTask { try await download.file() }
            group.addTask {
                for await state in download.states {
                    // Without --retry, as for other requests, a failure before the first response ends the download.
                    if case .waiting(_, let error) = state.phase, connection.retryCount == nil, !watch.hasResponse { throw error }
                    board.show(state, of: job.number)
                }
                return nil
            }
            if let seconds = connection.maxTime {
                group.addTask {
                    try await Task.sleep(for: .seconds(seconds))
                    throw MaxTimePassed(seconds: seconds)
                }
            }
            defer { group.cancelAll() }
            while let file = try await group.next() { if let file { return file } }
            throw CancellationError()
        }
    }

    private func failed(_ error: any Error, _ download: Download, _ job: Job, _ board: TransferBoard) async -> Outcome {
        // An empty partial file helps nobody.
        if job.target.partBytes == 0 { try? await download.discard() }
        let resumption = download.resumption
        if error is CancellationError {
            board.end(job.number, nil)
            return Outcome(status: nil, resumption: resumption)
        }
        let line = "errand: \(FailureAdvice(job.arguments, isOfTransfer: true).line(for: error))"
        board.end(job.number, shown.showsMessages ? line : nil, isMessage: true)
        return Outcome(status: Self.status(for: error), resumption: resumption)
    }

    /// The exit status for a failure.
    static func status(for error: any Error) -> Int32 {
        switch error {
        case is FileWriteError, is ExistingFile: 23
        case let error as TransferError where [.noSpace, .busy, .journalUnreadable, .tooLarge].contains(error.code): 23
        case let error as StatusError where error.delivery != .notSent && error.status.code >= 500: 5
        case let error as StatusError where error.delivery != .notSent && error.status.code >= 400: 4
        default: 6
        }
    }

    // MARK: - After the downloads

    private func sayHowToContinue(_ jobs: [Job], _ outcomes: [Outcome]) {
        let lines = Self.advice(
            zip(jobs, outcomes).map { ($0.target, $0.argument, $1) }, words: Array(CommandLine.arguments.dropFirst()))
        for line in lines { Terminal.say("errand: \(line)") }
    }

    /// The lines that say which bytes are on the disk, and which command continues.
    static func advice(_ jobs: [(target: DownloadTarget, argument: String, outcome: Outcome)], words: [String]) -> [String] {
        let kept = jobs.filter { $0.outcome.status != 0 && $0.outcome.resumption != nil }
        guard !kept.isEmpty else { return [] }
        var lines = kept.compactMap { job in
            job.outcome.resumption.map { resumption in
                "'\(job.target.partPath.shownSafely())' has \(TransferSize.text(resumption.bytes, of: resumption.total))"
                    + (resumption.canContinue
                        ? "" : ", but the server can't continue this file (no strong validator): the next run starts from the first byte")
            }
        }
        // Downloads that were interrupted before their first byte are continued, too.
        let open = jobs.filter { $0.outcome.status == nil || $0.outcome.status != 0 && $0.outcome.resumption != nil }.map(\.argument)
        let rewritten = (try? ArgumentRewriter.rewritten(words)) ?? words
        let command = ContinueCommand(words: rewritten, insertion: ["-C", "-"]) { word in open.contains { $0.isExactly(word) } }
        lines.append(
            "to continue, run: \(command.text)"
                + (command.hidesSecrets ? "   (put the secrets in place of \(Sensitivity.urlPlaceholder))" : ""))
        let files = kept.flatMap { [$0.target.partPath, $0.target.journalPath] }.map { $0.hasOctetPrefix("-") ? "./\($0)" : $0 }
        lines.append("to discard the bytes, run: rm \(files.map(ContinueCommand.quoted).joined(separator: " "))")
        return lines
    }

    /// The outcomes of the downloads by their numbers.
    private final class Outcomes: Sendable {
        private let values: Mutex<[Outcome]>

        init(count: Int) { values = Mutex(Array(repeating: Outcome(), count: count)) }

        var all: [Outcome] { values.withLock { $0 } }
        func set(_ outcome: Outcome, at number: Int) { values.withLock { $0[number] = outcome } }
    }
}

/// The time of `--max-time` has passed.
struct MaxTimePassed: Error, CustomStringConvertible {
    let seconds: Double
    var description: String { "--max-time \(seconds.shortText) s passed. Allow more time with --max-time" }
}

/// The paths of the files of all downloads of a command.
final class TakenNames: Sendable {
    private let paths: Mutex<[String]>

    init(_ paths: [String]) { self.paths = Mutex(paths) }

    /// Takes a path. Returns false if another download has the path.
    func take(_ path: String) -> Bool {
        paths.withLock { paths in
            guard !paths.contains(where: { $0.isExactly(path) }) else { return false }
            paths.append(path)
            return true
        }
    }
}

/// Learns the name of the file from the first successful response, before the body is read. The outermost layer.
final class ResponseNames: HTTPMiddleware, Sendable {
    private struct State {
        var path: String
        var hasResponse = false
        /// The first byte of the last response.
        var offset: Int64 = 0
    }

    private let target: DownloadTarget
    private let names: TakenNames
    private let replaces: Bool
    private let onStart: @Sendable (_ name: String, _ offset: Int64) -> Void
    private let state: Mutex<State>

    /// - Parameter onStart: called with the name of the file and its first byte, at the first successful response.
    init(
        _ target: DownloadTarget, _ names: TakenNames, replaces: Bool,
        onStart: @escaping @Sendable (_ name: String, _ offset: Int64) -> Void
    ) {
        (self.target, self.names, self.replaces, self.onStart) = (target, names, replaces, onStart)
        state = Mutex(State(path: target.path))
    }

    /// The path of the finished file.
    var path: String { state.withLock { $0.path } }
    /// Whether there was a successful response.
    var hasResponse: Bool { state.withLock { $0.hasResponse } }
    /// The number of bytes of a file that this run has downloaded.
    func bytes(of file: DownloadedFile) -> Int64 { max(0, file.bytes - state.withLock { $0.offset }) }

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        let response = try await next.send(request)
        guard [200, 206].contains(response.status.code) else { return response }
        let offset = state.withLock { state -> Int64? in
            defer { state.hasResponse = true }
            guard !state.hasResponse else { return nil }
            let range = request.headers[.range].flatMap { ByteRange.parse($0)?.first }
            if response.status == .partialContent, case .from(let offset)? = range { state.offset = offset }
            return state.offset
        }
        guard let offset else { return response }
        let name = target.isNamed ? nil : DownloadTarget.name(of: response.headers)
        let path = name.map(target.sibling(named:)) ?? target.path
        if !path.isExactly(target.path) {
            let isTaken = !names.take(path)
            guard !isTaken, replaces || !DownloadTarget.exists(path) else {
                response.body.abandon()
                throw ExistingFile(path: path, isOfThisCommand: isTaken)
            }
            state.withLock { $0.path = path }
        }
        onStart(DownloadTarget.name(of: path), offset)
        return response
    }
}
