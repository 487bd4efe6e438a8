import ArgumentParser
import Errand
import ErrandNIO
import Foundation

/// The upload of a command, from its arguments to the exit status.
struct UploadCommandRun {
    private let command: UploadCommand
    private var shown: OutputOptions { command.shown }
    private var name: String { DownloadTarget.name(of: command.file) }

    init(_ command: UploadCommand) { self.command = command }

    func run() async throws {
        let arguments = command.arguments
        try arguments.validate()
        let authentication: Authentication
        var request: Request
        do {
            authentication = try arguments.authentication()
            request = try arguments.request(method: command.upload.method ?? "POST", authentication: authentication)
        } catch let error as InvalidURLError {
            throw ValidationError("\(error)")
        } catch let error as FileReadError {
            throw ValidationError("\(error)")
        }
        let type = request.headers[.contentType] ?? "application/octet-stream"
        if !command.upload.tus { request.headers[.contentType] = type }
        let transport = try arguments.transport()
        if let warning = arguments.insecureWarning, shown.showsMessages { Terminal.say("errand: \(warning)") }
        let isAnimated = Terminal.errorIsTerminal && !Terminal.isDumb && shown.color.isColored(isTerminal: true)
        let board = TransferBoard(style: .init(isAnimated: isAnimated, isSilent: shown.silent, isVerbose: shown.verbose), count: 1)
        let first = request
        let task = Task {
            try await withInterruptibleTransport(transport) { transport in
                var shared = await TransferStacks(arguments)
                let result: Result<Int32, any Error>
                do {
                    let stack = try shared.stack(for: arguments, authentication, on: transport)
                    result = .success(await perform(upload(first, type: type, over: stack), arguments, board))
                } catch {
                    result = .failure(error)
                }
                await shared.finish()
                return try result.get()
            }
        }
        Interrupt.whenItComes { task.cancel() }
        let code: Int32
        do {
            code = try await task.value
        } catch is CancellationError {
            code = Interrupt.exitStatus
        } catch {
            if shown.showsMessages { Terminal.say("errand: \(error)") }
            code = 6
        }
        throw ExitCode(code)
    }

    private func upload(_ request: Request, type: String, over stack: HTTPStack) -> Upload {
        var options = UploadOptions.standard
        if command.upload.tus { options.metadata = ["filename": name, "filetype": type] }
        if command.upload.force { (options.changedContent, options.unreadableJournal) = (.startAgain, .startAgain) }
        return Upload(
            request, from: URL(fileURLWithPath: command.file), over: stack, by: command.upload.tus ? .tus : .resumable(),
            policy: command.connection.transferPolicy, options: options)
    }

    private func perform(_ upload: Upload, _ arguments: RequestArguments, _ board: TransferBoard) async -> Int32 {
        board.begin(0, name: name)
        let start = ContinuousClock.now
        do {
            // An unfinished upload that the server has removed already needs no cancellation.
            if command.upload.force { try? await upload.discard() }
            let response = try await response(of: upload, board)
            let seconds = start.duration(to: .now)
            let bytes = upload.state.progress.total ?? upload.state.progress.bytes
            board.end(0, "\(name.shownSafely()): \(TransferSize.text(bytes)) in \(TransferSize.text(seconds))")
            board.clear()
            if command.upload.tus {
                if let url = upload.url { try Terminal.write(Data("\(url)\n".utf8)) }
            } else {
                try await ResponseOutput(arguments, file: shown.output, response: response, written: ByteCount()).write()
            }
            return response.status.code >= 500 ? 5 : response.status.code >= 400 ? 4 : 0
        } catch {
            let isCancelled = error is CancellationError
            let line = isCancelled ? nil : "errand: \(FailureAdvice(arguments, isOfTransfer: true).line(for: error))"
            board.end(0, shown.showsMessages ? line : nil, isMessage: true)
            board.clear()
            if shown.showsMessages { sayHowToContinue(upload.resumption) }
            return isCancelled ? Interrupt.exitStatus : error is BrokenPipe ? 141 : DownloadRun.status(for: error)
        }
    }

    /// Uploads the file, and shows the states. Without `--retry`, a failure before the first byte ends the upload.
    private func response(of upload: Upload, _ board: TransferBoard) async throws -> Response {
        let connection = command.connection
        return try await withThrowingTaskGroup(of: Response?.self) { group in
            group.addTask { try await upload.response() }
            group.addTask {
                for await state in upload.states {
                    if case .waiting(_, let error) = state.phase, connection.retryCount == nil, upload.url == nil,
                        state.progress.bytes == 0
                    {
                        throw error
                    }
                    board.show(state, of: 0)
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
            while let response = try await group.next() { if let response { return response } }
            throw CancellationError()
        }
    }

    private func sayHowToContinue(_ resumption: UploadResumption?) {
        guard let resumption, resumption.canContinue else { return }
        Terminal.say("errand: the server has \(TransferSize.text(resumption.bytes, of: resumption.total)) of '\(name.shownSafely())'")
        let words = Array(CommandLine.arguments.dropFirst())
        let next = ContinueCommand(words: (try? ArgumentRewriter.rewritten(words)) ?? words, insertion: []) { _ in true }
        Terminal.say(
            "errand: to continue, run: \(next.text)"
                + (next.hidesSecrets ? "   (put the secrets in place of \(Sensitivity.urlPlaceholder))" : ""))
        Terminal.say("errand: to start from the first byte, add --force")
    }
}
