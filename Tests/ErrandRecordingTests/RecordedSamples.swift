import Errand
import ErrandTesting
import Synchronization
import TestSupport

extension ClosureTransport {
    /// Always the same.
    convenience init(
        _ status: HTTPResponse.Status = .ok, headers: HTTPFields = HTTPFields(), data: Data = Data()
    ) {
        self.init { request in
            let source = try await request.body.open()
            while try await source.next() != nil {}
            return Response(head: HTTPResponse(status: status, headerFields: headers), data: data, request: request)
        }
    }

    /// A streamed body, the same chunks each time.
    convenience init(
        headers: HTTPFields = HTTPFields(), chunks: [Data], trailers: HTTPFields? = nil, version: HTTPVersion? = nil,
        failure: (any Error)? = nil
    ) {
        self.init { request in
            var steps: [@Sendable () async throws -> Data] = chunks.map { chunk in { chunk } }
            if let failure { steps.append { throw failure } }
            return .streaming(ScriptedBodySource(steps: steps, trailers: trailers), headers: headers, to: request, version: version)
        }
    }
}

extension Response {
    static func streaming(
        _ body: ScriptedBodySource, headers: HTTPFields = HTTPFields(), to request: Request, version: HTTPVersion? = nil
    ) -> Response {
        var response = Response(
            head: HTTPResponse(status: .ok, headerFields: headers), body: ResponseBody(body, request: request), request: request,
            exchange: ExchangeLifetime())
        response.metadata.httpVersion = version
        return response
    }
}

/// Chunks and trailers of a body.
func chunks(of response: Response) async throws -> (chunks: [Data], trailers: HTTPFields?) {
    var chunks: [Data] = []
    for try await chunk in response.body { chunks.append(chunk) }
    return (chunks, response.body.trailers)
}

extension TestFolder {
    func text(_ name: String) throws -> String { String(decoding: try read(name), as: UTF8.self) }

    func has(_ name: String) -> Bool { (try? read(name)) != nil }

    /// What is in it besides hidden files.
    var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] }

    /// Sends requests through a transport, with all of it recorded to `a.har`; the file's content.
    @discardableResult
    func record(
        _ requests: [Request], over transport: ClosureTransport, secrets: [String] = [], bodyLimitBytes: Int = 16 * 1024 * 1024,
        keepsUnknownText: Bool = true
    ) async throws -> HARLog {
        let recording = try Recording(
            atPath: file("a.har"), mode: .all, secrets: secrets, bodyLimitBytes: bodyLimitBytes, keepsUnknownText: keepsUnknownText)
        let stack = transport.record(on: recording)
        for request in requests {
            guard let response = try? await stack.send(request) else { continue }
            _ = try? await response.body.collect()
        }
        try recording.save()
        return try HARLog(fileContent: read("a.har"))
    }

    func replay(matching matcher: RecordingMatcher = .standard, allowsRepeats: Bool = false) throws -> HTTPStack {
        HTTPStack(try ReplayTransport(atPath: file("a.har"), matching: matcher, allowsRepeats: allowsRepeats))
    }
}
