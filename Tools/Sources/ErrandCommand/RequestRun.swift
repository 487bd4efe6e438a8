import ArgumentParser
import Errand
import ErrandRecording
import Foundation

/// One request, from its arguments to the exit status.
struct RequestRun {
    private let arguments: RequestArguments
    private let method: String?

    init(_ arguments: RequestArguments, method: String?) { (self.arguments, self.method) = (arguments, method) }

    func run() async throws {
        let request: Request
        do {
            request = try arguments.request(method: method)
        } catch let error as InvalidURLError {
            throw ValidationError("\(error)")
        } catch let error as FileReadError {
            throw ValidationError("\(error)")
        }
        if arguments.curl {
            try Terminal.write(Data((request.curl(pretty: true) + "\n").utf8))
            return
        }
        let transport = try arguments.transport()
        let task = Task { try await withTransport(transport) { try await perform(request, by: $0) } }
        Interrupt.whenItComes { task.cancel() }
        let code: Int32
        do {
            code = try await task.value
        } catch is CancellationError {
            code = Interrupt.exitStatus
        } catch is BrokenPipe {
            code = 141
        } catch {
            if !arguments.silent || arguments.showError { Terminal.say("errand: \(FailureAdvice.line(for: error))") }
            code = 6
        }
        throw ExitCode(code)
    }

    private func perform(_ request: Request, by transport: AsyncHTTPClientTransport) async throws -> Int32 {
        guard let path = arguments.har else { return try await perform(request, on: HTTPStack(transport)) }
        let recording = try Recording(path: path, mode: .all)
        return try await recording.saving { try await perform(request, on: transport.record(on: recording)) }
    }

    private func perform(_ request: Request, on bottom: HTTPStack) async throws -> Int32 {
        var stack = bottom
        if arguments.verbose { stack = stack.wrapped(by: Narrator()) }
        if arguments.followsRedirects { stack = stack.redirect(RedirectPolicy(maxHops: arguments.maxRedirects)) }
        if arguments.retry > 0 { stack = stack.retry(RetryPolicy(maxAttempts: arguments.retry + 1), budget: nil) }
        if let seconds = arguments.maxTime { stack = stack.timeout(.seconds(seconds)) }
        let start = ContinuousClock.now
        var request = request
        let profile = CallProfile()
        if arguments.profile {
            stack = stack.profile()
            request.options.profile = .use(profile)
        }
        defer { if arguments.profile { Terminal.say("\(profile)") } }
        return try await stack.withResponse(to: request) { response in
            let output = ResponseOutput(arguments, response: response)
            let count = try await output.write()
            if let format = arguments.writeOut {
                try Terminal.write(Data(WriteOut(response: response, bytes: count, elapsed: start.duration(to: .now)).text(format).utf8))
            }
            switch response.status.code {
            case 400...499: return 4
            case 500...: return 5
            default: return 0
            }
        }
    }
}

/// What `--write-out` shows.
struct WriteOut {
    let response: Response
    let bytes: Int
    let elapsed: Duration

    func text(_ format: String) -> String {
        let values = [
            "http_code": "\(response.status.code)", "response_code": "\(response.status.code)",
            "http_version": response.metadata.httpVersion ?? "", "size_download": "\(bytes)",
            "num_redirects": "\(response.metadata.redirects.count)", "time_total": "\(elapsed / .seconds(1))",
            "url_effective": response.request.url?.description ?? "", "content_type": response.headers[.contentType] ?? "",
        ]
        var text = format.replacing("\\n", with: "\n").replacing("\\t", with: "\t")
        for (name, value) in values { text = text.replacing("%{\(name)}", with: value) }
        return text
    }
}

/// Tells on standard error what is sent and received, hop by hop and attempt by attempt, without secrets.
struct Narrator: HTTPMiddleware {
    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        let sensitivity = request.options.sensitivity
        var text = "> \(request.method.rawValue) \(request.redactedURL)\n"
        for (name, value) in sensitivity.shown(request.head.headerFields) { text += "> \(name): \(value.shownSafely(limit: 4000))\n" }
        Terminal.say(text + ">")
        let response = try await next.send(request)
        text = "< HTTP/\(response.metadata.httpVersion ?? "?") \(response.status.code) \(response.status.reasonPhrase.shownSafely())\n"
        for (name, value) in sensitivity.shown(response.headers) { text += "< \(name): \(value.shownSafely(limit: 4000))\n" }
        Terminal.say(text + "<")
        return response
    }
}
