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
    ///   - method: the method of `-X`.
    ///   - subcommand: the method in lower case, if there is a subcommand for it.
    init(_ arguments: RequestArguments, method: String? = nil, subcommand: String?) {
        (self.arguments, self.method) = (arguments, subcommand?.uppercased() ?? method)
        takesPipedBody = ["post", "put", "patch"].contains(subcommand)
    }

    func run() async throws {
        // The format is read once, because it may be standard input.
        let format = try arguments.shown.writeOut.map(WriteOut.format)
        let unknown = format.map(WriteOut.unknownNames) ?? []
        if !unknown.isEmpty, arguments.shown.showsMessages { Terminal.say("errand: \(WriteOut.warning(about: unknown))") }
        try await run { try await perform($0, on: $1, to: $2, $3, writing: format) }
    }

    /// Reads the response as an event stream.
    func run(_ events: EventOptions) async throws { try await run { try await perform($0, on: $1, reading: events, $3) } }

    private typealias Work = @Sendable (Request, HTTPStack, _ file: String?, Narration) async throws -> Int32

    private func run(_ work: @escaping Work) async throws {
        let request: Request
        let authentication: Authentication
        do {
            authentication = try arguments.authentication()
            request = try arguments.request(method: method, takesPipedBody: takesPipedBody, authentication: authentication)
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
        let file = shown.remoteName ? try arguments.remoteFileName() : shown.output
        let transport = try arguments.transport()
        if let warning = arguments.insecureWarning, shown.showsMessages { Terminal.say("errand: \(warning)") }
        let wait = NetworkWait(arguments)
        let cache = try CacheFolder(arguments)
        let saysRetries = arguments.connection.retry > 0 && shown.showsMessages && !shown.verbose
        let narration = Narration(isShown: shown.verbose, saysRetries: saysRetries, waitNotice: wait?.notice) { number in
            transport.openConnections.first { $0.number == number }?.httpVersion
        }
        let task = Task {
            try await run(request, by: transport, to: file, narration) { request, stack, file, narration in
                let list = HSTSFile(arguments)
                await list?.load()
                let cookies = CookieFiles(arguments)
                cookies?.load()
                await cache?.load()
                let (layers, tokens) = try layers(on: stack, authentication, wait, narration, cache, list?.hosts, cookies?.jar)
                let result: Result<Int32, any Error>
                do {
                    result = .success(try await work(request, layers, file, narration))
                } catch {
                    result = .failure(error)
                }
                // A refreshed token must be saved, however the request ends: the server has replaced the old token.
                await tokens?.finish(within: .seconds(5))
                // A signal cancels this task, but not the new task. Therefore the files are written after Ctrl-C too.
                await Task {
                    await list?.save()
                    await cookies?.save()
                    await cache?.finish()
                }.value
                return try result.get()
            }
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
        // At the end, because a program at the other end of a pipe may need some time to write.
        if code < 128, shown.showsMessages, method == nil, !shown.head, !arguments.content.ignoreStdin, let warning = UnreadInput.warning {
            Terminal.say("errand: \(warning)")
        }
        throw ExitCode(code)
    }

    private func run(
        _ request: Request, by transport: NIOTransport, to file: String?, _ narration: Narration, _ work: @escaping Work
    ) async throws -> Int32 {
        try await withInterruptibleTransport(transport) { try await recorded(request, by: $0, to: file, narration, work) }
    }

    private func recorded(
        _ request: Request, by transport: NIOTransport, to file: String?, _ narration: Narration, _ work: @escaping Work
    ) async throws -> Int32 {
        guard let path = arguments.shown.har else { return try await work(request, HTTPStack(transport), file, narration) }
        // The recording would create the folder. As with -o, a misspelt folder is an error.
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        guard FileManager.default.fileExists(atPath: folder) else { throw WriteError(missingFolderOf: path) }
        let recording = try Recording(atPath: path, mode: .all)
        return try await recording.saving {
            try await work(request, transport.record(on: recording), file, narration)
        } orThrow: {
            WriteError(path: path, $0)
        }
    }

    /// The layers that the arguments ask for.
    func layers(
        on bottom: HTTPStack, _ authentication: Authentication, _ wait: NetworkWait?, _ narration: Narration, _ cache: CacheFolder?,
        _ hosts: HSTSList?, _ jar: CookieJar?
    ) throws -> (stack: HTTPStack, tokens: TokenSource?) {
        let (connection, shown) = (arguments.connection, arguments.shown)
        var stack = bottom
        func watch(_ place: LastExchange.Place) {
            if shown.writeOut != nil { stack = stack.wrapped(by: LastExchange.Watch(exchange: narration.last, place: place)) }
        }
        watch(.exchange)
        // The innermost layer shows the requests as they are sent.
        if shown.verbose { stack = stack.wrapped(by: ExchangeNarrator(narration: narration, proxy: try arguments.proxyPolicy())) }
        stack = authentication.signing(stack)
        // Outside `sign`, because a signature has its time. The requests for tokens wait too.
        var tokenStack = bottom
        if let wait {
            stack = wait.layer(on: stack)
            tokenStack = wait.layer(on: bottom).transformRequest { $0.options.eventSink = wait.notice }
        }
        if let cache { stack = cache.layer(on: stack) }
        if arguments.content.compressed { stack = stack.decompress() }
        if let jar { stack = stack.wrapped(by: GivenCookies()).cookies(jar) }
        let tokens: TokenSource?
        (stack, tokens) = try authentication.authenticating(stack, transport: tokenStack)
        // Outside `authenticate`, because Digest must see the body as it is sent.
        if arguments.content.compressBody { stack = stack.compressRequests(.gzip) }
        watch(.hop)
        if connection.followsRedirects, shown.showsHeads || method == "HEAD" {
            stack = stack.wrapped(by: HopHeads.Watch(heads: narration.heads))
        }
        if let hosts { stack = stack.hsts(hosts) }
        if connection.followsRedirects {
            stack = stack.redirect(RedirectPolicy(maxHops: connection.maxRedirects, allowsDowngrade: connection.allowsDowngrade))
        }
        if shown.verbose { stack = stack.wrapped(by: AttemptNarrator()) }
        watch(.attempt)
        if connection.retry > 0 {
            let policy = connection.retryPolicy
            stack = stack.retry(wait.map { policy.waitingForNetwork(at: $0.gate) } ?? policy, budget: nil)
        }
        if let seconds = connection.maxTime { stack = stack.timeout(.seconds(seconds)) }
        return (stack, tokens)
    }

    /// - Parameter format: the text of `--write-out`, which is shown at the end, even after a failure.
    private func perform(
        _ request: Request, on stack: HTTPStack, to file: String?, _ narration: Narration, writing format: String?
    ) async throws -> Int32 {
        let shown = arguments.shown
        let proxy = try arguments.proxyPolicy()
        var stack = stack
        var request = request
        request.options.eventSink = narration
        let start = ContinuousClock.now
        let profile = CallProfile()
        if shown.profile {
            stack = stack.profile()
            request.options.profile = .use(profile)
        }
        defer { if shown.profile { Terminal.say("\(profile)") } }
        let written = ByteCount()
        func write(_ values: WriteOut) throws {
            guard let format else { return }
            try Terminal.write(Data(values.text(format, isForTerminal: Terminal.outputIsTerminal).utf8))
        }
        let response: Response
        do {
            response = try await stack.withResponse(to: request) { response in
                if let stop = response.metadata.authenticationStop, shown.showsMessages {
                    Terminal.say("errand: \(response.status.code): \(stop.message(of: response))")
                }
                if let stop = response.metadata.retryStop, shown.showsMessages, let reason = stop.reason(for: response.request) {
                    Terminal.say("errand: \(response.status.code), and no further attempt: \(reason)")
                }
                if response.metadata.cacheStatus?.isUnavailable == true, shown.showsMessages {
                    Terminal.say("errand: nothing was sent: \(response.metadata.statusNote ?? "no usable response is stored")")
                }
                let hops = narration.heads.redirects(before: response)
                try await ResponseOutput(arguments, file: file, response: response, after: hops, written: written).write()
                return response
            }
        } catch {
            if written.value > 0, shown.showsMessages, let file, file != "-", !SpecialFile.exists(at: file) {
                Terminal.say("errand: the body is incomplete, and nothing of it was kept in '\(file.shownSafely())'")
            }
            // After Ctrl-C, curl writes no such text either. A pipe without a reader takes no text.
            if !(error is CancellationError), !(error is BrokenPipe) {
                try? write(
                    narration.last.values(
                        of: request, bytes: written.value, elapsed: start.duration(to: .now), file: file == "-" ? nil : file,
                        openedConnections: narration.openedConnections, proxy: proxy, steps: narration.steps(since: start)))
            }
            throw error
        }
        try write(
            WriteOut(
                request: response.request, head: response.head, httpVersion: response.metadata.httpVersion,
                redirects: response.metadata.redirects.count, retries: response.metadata.attempts.count, bytes: written.value,
                elapsed: start.duration(to: .now), file: file == "-" ? nil : file, openedConnections: narration.openedConnections,
                usesProxy: response.request.origin.flatMap { try? proxy.proxy(for: $0) } != nil, steps: narration.steps(since: start)))
        switch response.status.code {
        case _ where response.metadata.cacheStatus?.isUnavailable == true: return 6
        case _ where shown.noFail: return 0
        case 400...499: return 4
        case 500...: return 5
        default: return 0
        }
    }

    private func perform(
        _ request: Request, on stack: HTTPStack, reading options: EventOptions, _ narration: Narration
    ) async throws -> Int32 {
        var request = request
        // An event stream asks for its own media type, unless `-H` names another type.
        if try !arguments.content(with: arguments.requestItems).names(.accept) { request.headers[.accept] = nil }
        request.options.eventSink = narration
        if let seconds = arguments.connection.maxTime { request.deadline = Deadline(after: .seconds(seconds)) }
        let client = APIClient(stack)
        let isQuiet = !arguments.shown.showsMessages
        let notice = ReconnectNotice()
        let events = client.events(
            request, lastEventID: options.lastEventId, policy: options.policy,
            onState: { state in
                guard !isQuiet, let text = notice.text(for: state) else { return }
                Terminal.say("errand: \(text)")
            })
        var left = options.count ?? .max
        do {
            for try await event in events {
                try Terminal.write(Data(options.text(of: event, isForTerminal: Terminal.outputIsTerminal).utf8))
                left -= 1
                if left == 0 { break }
            }
            return 0
        } catch let error as StatusError {
            if !isQuiet { Terminal.say("errand: \(error)") }
            if error.delivery == .notSent { return 6 }
            return error.status.code >= 500 ? 5 : 4
        }
    }
}

extension Recording {
    /// Runs `body` and writes the file after it.
    ///
    /// - Throws: an error of `body`, or the result of `failure` for an error of writing.
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
