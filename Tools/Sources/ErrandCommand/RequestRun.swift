import ArgumentParser
import Errand
import ErrandNIO
import ErrandRecording
import Foundation

/// One request, from its arguments to the exit status.
struct RequestRun {
    private let arguments: RequestArguments
    private let method: String?
    private let takesPipedBody: Bool

    /// - Parameters:
    ///   - method: that of `-X`.
    ///   - subcommand: the method in lower case, where there is a subcommand for it.
    init(_ arguments: RequestArguments, method: String? = nil, subcommand: String?) {
        (self.arguments, self.method) = (arguments, subcommand?.uppercased() ?? method)
        takesPipedBody = ["post", "put", "patch"].contains(subcommand)
    }

    func run() async throws {
        let request: Request
        do {
            request = try arguments.request(method: method, takesPipedBody: takesPipedBody)
        } catch let error as InvalidURLError {
            throw ValidationError("\(error)")
        } catch let error as FileReadError {
            throw ValidationError("\(error)")
        }
        let shown = arguments.shown
        if shown.curl {
            let text = try request.curl(pretty: true, arguments: arguments.curlArguments(for: request))
            try Terminal.write(Data((text + "\n").utf8))
            return
        }
        for name in shown.writeOut.map(WriteOut.unknownNames) ?? [] where shown.showsMessages {
            Terminal.say("errand: warning: --write-out has no variable '\(name.shownSafely())'")
        }
        let file = shown.remoteName ? try arguments.remoteFileName() : shown.output
        let transport = try arguments.transport()
        let narration = Narration(isShown: shown.verbose) { number in
            transport.openConnections.first { $0.number == number }?.httpVersion
        }
        let task = Task {
            try await run(request, by: transport, to: file, narration)
        }
        Interrupt.whenItComes { task.cancel() }
        let code: Int32
        do {
            code = try await task.value
        } catch is CancellationError {
            code = Interrupt.exitStatus
        } catch is BrokenPipe {
            code = 141
        } catch {
            if shown.showsMessages { Terminal.say("errand: \(FailureAdvice(arguments).line(for: error))") }
            code = error is FileWriteError || error is WriteError || error is BinaryBody ? 23 : 6
        }
        throw ExitCode(code)
    }

    private func run(
        _ request: Request, by transport: NIOTransport, to file: String?, _ narration: Narration
    ) async throws -> Int32 {
        try await withTransport(transport) { try await perform(request, by: $0, to: file, narration) }
    }

    private func perform(
        _ request: Request, by transport: NIOTransport, to file: String?, _ narration: Narration
    ) async throws -> Int32 {
        guard let path = arguments.shown.har else { return try await perform(request, on: HTTPStack(transport), to: file, narration) }
        let recording = try Recording(path: path, mode: .all)
        return try await recording.saving {
            try await perform(request, on: transport.record(on: recording), to: file, narration)
        } orThrow: {
            WriteError(path: path, $0)
        }
    }

    private func perform(_ request: Request, on bottom: HTTPStack, to file: String?, _ narration: Narration) async throws -> Int32 {
        let (connection, shown) = (arguments.connection, arguments.shown)
        var stack = bottom
        var request = request
        let proxy = try arguments.proxyPolicy()
        request.options.eventSink = narration
        if shown.verbose { stack = stack.wrapped(by: ExchangeNarrator(narration: narration, proxy: proxy)) }
        if arguments.content.compressed { stack = stack.decompress() }
        if connection.followsRedirects { stack = stack.redirect(RedirectPolicy(maxHops: connection.maxRedirects)) }
        if shown.verbose { stack = stack.wrapped(by: AttemptNarrator()) }
        if connection.retry > 0 { stack = stack.retry(RetryPolicy(maxAttempts: connection.retry + 1), budget: nil) }
        if let seconds = connection.maxTime { stack = stack.timeout(.seconds(seconds)) }
        let start = ContinuousClock.now
        let profile = CallProfile()
        if shown.profile {
            stack = stack.profile()
            request.options.profile = .use(profile)
        }
        defer { if shown.profile { Terminal.say("\(profile)") } }
        return try await stack.withResponse(to: request) { response in
            let count = try await ResponseOutput(arguments, file: file, response: response).write()
            if let format = shown.writeOut {
                let values = WriteOut(
                    response: response, bytes: count, elapsed: start.duration(to: .now), file: file == "-" ? nil : file,
                    openedConnections: narration.openedConnections,
                    usesProxy: response.request.origin.flatMap(proxy.proxy(for:)) != nil)
                try Terminal.write(Data(values.text(format).utf8))
            }
            switch response.status.code {
            case 400...499: return 4
            case 500...: return 5
            default: return 0
            }
        }
    }
}

extension Recording {
    /// Runs `body` and writes the file after it.
    ///
    /// - Throws: what `body` throws, or what `failure` makes of an error of the writing.
    fileprivate func saving<Result>(
        _ body: () async throws -> Result, orThrow failure: (any Error) -> any Error
    ) async throws -> Result {
        let result: Result
        do {
            result = try await body()
        } catch {
            try? save()
            throw error
        }
        do {
            try save()
        } catch {
            throw error is CocoaError ? failure(error) : error
        }
        return result
    }
}
