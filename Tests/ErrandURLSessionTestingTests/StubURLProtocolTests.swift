internal import ErrandCore
internal import ErrandTesting
internal import ErrandURLSession
internal import ErrandURLSessionTesting
internal import Foundation
internal import Synchronization
internal import TestSupport
internal import Testing

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Stubs for code that uses `URLSession` alone.
@Suite(.serialized, .timeLimit(.minutes(5))) struct StubURLProtocolTests {
    private func withSession<Result>(
        _ sender: any HTTPSender, _ body: (URLSession) async throws -> Result
    ) async throws -> Result {
        let configuration = URLSessionConfiguration.ephemeral
        StubURLProtocol.serve(sender, to: configuration)
        let session = URLSession(configuration: configuration)
        defer { session.finishTasksAndInvalidate() }
        return try await body(session)
    }

    private func request(_ path: String, _ method: String = "GET") throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: "https://a.example" + path)))
        request.httpMethod = method
        return request
    }

    /// Returns the error of a request to a stub with a response.
    private func error(_ response: StubResponse) async throws -> (any Error)? {
        let request = try request("/")
        return try await withSession(StubTransport(Stub().responds(response))) { session in
            await #expect(throws: (any Error).self) { try await session.data(for: request) }
        }
    }

    // MARK: Responses

    @Test func aStubServesASession() async throws {
        let fields: HTTPFields = [.contentType: "text/plain", .eTag: "\"a\"", .cacheControl: "no-store"]
        let stub = StubTransport(Stub(.get, "/users/{id}").query("q", "1").responds(.status(.created, headers: fields, text: "Ada")))
        var request = try request("/users/7?q=1")
        request.setValue("de", forHTTPHeaderField: "Accept-Language")
        let (data, response) = try await withSession(stub) { [request] in try await $0.data(for: request) }
        let head = try #require(response as? HTTPURLResponse)
        #expect(data == Data("Ada".utf8) && head.statusCode == 201 && head.url == request.url)
        #expect(head.value(forHTTPHeaderField: "ETag") == "\"a\"" && head.value(forHTTPHeaderField: "Cache-Control") == "no-store")
        #expect(head.expectedContentLength == 3 && head.mimeType == "text/plain")
        #expect(stub.requests.map(\.path) == ["/users/7"] && stub.requests.first?.pathValues == ["id": "7"])
        #expect(stub.requests.first?.headers[.acceptLanguage] == "de")
        #expect(stub.openBodyCount == 0)
    }

    @Test func fieldsOfOneNameAreJoined() async throws {
        var fields = HTTPFields()
        for value in ["a=1; Path=/", "b=2"] { fields.append(HTTPField(name: .setCookie, value: value)) }
        let stub = StubTransport(Stub().responds(.status(.noContent, headers: fields)))
        let request = try request("/")
        let (_, response) = try await withSession(stub) { try await $0.data(for: request) }
        let head = try #require(response as? HTTPURLResponse)
        #expect(head.value(forHTTPHeaderField: "Set-Cookie") == "a=1; Path=/, b=2" && head.statusCode == 204)
    }

    @Test func aRedirectIsAResponse() async throws {
        let stub = StubTransport(Stub().responds(.redirect(to: "/b")))
        let request = try request("/a")
        let (_, response) = try await withSession(stub) { try await $0.data(for: request) }
        let head = try #require(response as? HTTPURLResponse)
        #expect(head.statusCode == 302 && head.value(forHTTPHeaderField: "Location") == "/b")
        #expect(stub.requests.count == 1)
    }

    @Test(arguments: ["Basic realm=\"a\"", "Bearer", "Digest realm=\"a\", nonce=\"b\""])
    func aChallengeIsAResponse(_ challenge: String) async throws {
        let stub = StubTransport(Stub().responds(.status(.unauthorized, headers: [.wwwAuthenticate: challenge], text: "who?")))
        let request = try request("/")
        let (data, response) = try await withSession(stub) { try await $0.data(for: request) }
        #expect((response as? HTTPURLResponse)?.statusCode == 401 && data == Data("who?".utf8))
    }

    @Test func aStreamedBodyIsWhole() async throws {
        let chunks = (0..<100).map { Data(repeating: UInt8($0), count: 1000) }
        let stub = StubTransport(Stub().responds(.stream(chunks)))
        let request = try request("/")
        let (data, _) = try await withSession(stub) { try await $0.data(for: request) }
        #expect(data == Data(chunks.joined()) && stub.openBodyCount == 0)
    }

    @Test func aDelayedResponseArrives() async throws {
        let clock = ManualClock()
        let stub = StubTransport(Stub().responds(.status(.ok, text: "late").delayed(by: .seconds(20)).over(.edge)), clock: clock)
        let request = try request("/")
        let (data, _) = try await withSession(stub) { session in
            try await clock.advancingToSleepers { try await session.data(for: request) }
        }
        #expect(data == Data("late".utf8))
    }

    @Test func anotherSenderServesASession() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok, text: "a")))
        let request = try request("/x")
        let (data, _) = try await withSession(HTTPStack(stub)) { try await $0.data(for: request) }
        #expect(data == Data("a".utf8) && stub.requests.map(\.path) == ["/x"])
    }

    // MARK: Requests

    @Test func aBodyInMemoryReachesTheStub() async throws {
        let stub = StubTransport(Stub(.post).body("tea").responds(.echo))
        var request = try request("/orders", "POST")
        request.httpBody = Data("tea".utf8)
        let (data, _) = try await withSession(stub) { [request] in try await $0.data(for: request) }
        #expect(data == Data("tea".utf8) && stub.requests.first?.text == "tea")
    }

    @Test func aBodyStreamReachesTheStub() async throws {
        let bytes = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0) })
        let stub = StubTransport(Stub(.put).responds(.status(.ok)))
        var request = try request("/file", "PUT")
        request.httpBodyStream = InputStream(data: bytes)
        _ = try await withSession(stub) { [request] in try await $0.data(for: request) }
        #expect(stub.requests.first?.body == bytes)
    }

    // MARK: Failures

    @Test(arguments: [
        (StubResponse.offline, URLError.Code.notConnectedToInternet), (.hostNotFound, .cannotFindHost),
        (.connectionRefused, .cannotConnectToHost), (.connectionLost, .networkConnectionLost), (.timedOut, .timedOut),
        (.untrustedCertificate, .serverCertificateUntrusted), (.raw("HTTP/1.1 200 OK\r\n\r\n"), .unknown),
        (.failure(CancellationError()), .cancelled),
    ])
    func aFailureIsAURLError(_ response: StubResponse, _ code: URLError.Code) async throws {
        let error = try #require(try await error(response))
        #expect((error as? URLError)?.code == code)
        if code != .cancelled { #expect((error as NSError).userInfo[NSUnderlyingErrorKey] is TransportError) }
    }

    @Test func anErrorOfTheAppReachesTheSession() async throws {
        struct AppBroke: Error {}
        #expect(try await error(.failure(AppBroke())) is AppBroke)
        #expect((try await error(.failure(URLError(.dataNotAllowed))) as? URLError)?.code == .dataNotAllowed)
    }

    @Test(arguments: [
        (StubResponse.offline, "The Internet connection appears to be offline."), (.timedOut, "The request timed out."),
        (.connectionRefused, "Could not connect to the server."),
        (
            .untrustedCertificate,
            "The certificate for this server is invalid. You might be connecting to a server that is pretending to be “a.example” which "
                + "could put your confidential information at risk."
        ),
    ])
    func aFailureHasTheTextOfASession(_ response: StubResponse, _ text: String) async throws {
        let error = try #require(try await error(response) as? URLError)
        #expect(error.localizedDescription == text)
        #expect(error.userInfo[NSUnderlyingErrorKey] is TransportError)
    }

    @Test func aBodyThatBreaksOffFails() async throws {
        let error = try #require(try await error(.data(Data(count: 1000)).breaking(afterBytes: 100)))
        #expect((error as? URLError)?.code == .networkConnectionLost)
    }

    @Test func anUnmatchedRequestNamesTheNearestStub() async throws {
        let request = try request("/b")
        let stub = StubTransport(Stub(.get, "/a").responds(.status(.ok)))
        let error = try await withSession(stub) { session in
            await #expect(throws: URLError.self) { try await session.data(for: request) }
        }
        #expect(error?.localizedDescription.contains("the nearest, 'method GET, path /a' differs in path /a") == true)
    }

    @Test func cancellingATaskEndsTheWorkOfTheStub() async throws {
        let (begun, ended) = (Signal(), Signal())
        let waiting = StubResponse.custom { _ in
            begun.signal()
            defer { ended.signal() }
            try await untilCancelled()
        }
        let stub = StubTransport(Stub().responds(waiting))
        let request = try request("/")
        let error = try await withSession(stub) { session in
            let task = Task { try await session.data(for: request) }
            await begun.waitIgnoringCancellation()
            task.cancel()
            return await #expect(throws: (any Error).self) { try await task.value }
        }
        await ended.waitIgnoringCancellation()
        #expect((error as? URLError)?.code == .cancelled || error is CancellationError)
    }

    @Test func cancellingATaskEndsABody() async throws {
        let source = ScriptedBodySource(["a"], then: .stall)
        let stub = StubTransport(Stub().responds(.streaming { _, _ in (HTTPResponse(status: .ok), source) }))
        let request = try request("/")
        try await withSession(stub) { session in
            let task = Task { try await session.data(for: request) }
            await source.reachedEnding.waitIgnoringCancellation()
            task.cancel()
            await #expect(throws: (any Error).self) { try await task.value }
        }
        try await source.abandonments.wait { $0 > 0 }
        #expect(stub.openBodyCount == 0)
    }

    // MARK: Sessions

    @Test func everySessionHasItsOwnStub() async throws {
        let stubs = (0..<40).map { number in StubTransport(Stub().responds(.status(.ok, text: "\(number)"))) }
        let request = try request("/")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, stub) in stubs.enumerated() {
                group.addTask {
                    for _ in 0..<3 {
                        let (data, _) = try await withSession(stub) { try await $0.data(for: request) }
                        #expect(data == Data("\(number)".utf8))
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(stubs.allSatisfy { $0.requests.count == 3 })
    }

    @Test func manyTasksOfASessionAreServed() async throws {
        let stub = StubTransport(Stub(.get, "/{number}").responds(.custom { (HTTPResponse(status: .ok), Data($0.path.utf8)) }))
        try await withSession(stub) { session in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<600 {
                    let request = try request("/\(number)")
                    group.addTask {
                        let (data, _) = try await session.data(for: request)
                        #expect(data == Data("/\(number)".utf8))
                    }
                }
                try await group.waitForAll()
            }
        }
        #expect(stub.requests.count == 600)
    }

    /// Each body stalls, because `URLSession` on Linux can end or block the process if a task is cancelled while it ends.
    @Test(arguments: [true, false]) func tasksMayBeCancelledBeforeTheirEnd(inPieces: Bool) async throws {
        let pieces = (0..<20).map { Data(repeating: UInt8($0), count: 100) }
        let stalling = StubResponse.streaming { _, _ in (HTTPResponse(status: .ok), ScriptedBodySource(chunks: pieces, then: .stall)) }
        let stub = StubTransport(Stub().responds(stalling))
        let configuration = URLSessionConfiguration.ephemeral
        StubURLProtocol.serve(stub, to: configuration, inPieces: inPieces)
        let session = URLSession(configuration: configuration)
        defer { session.finishTasksAndInvalidate() }
        let request = try request("/")
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let task = Task { try await session.data(for: request) }
                    for _ in 0..<number { await Task.yield() }
                    task.cancel()
                    await #expect(throws: (any Error).self) { try await task.value }
                }
            }
        }
    }

    /// The transport of this library has a delegate, which receives the pieces on Linux too.
    @Test func aDelegateReceivesThePieces() async throws {
        let source = RecordingBodySource()
        let stub = StubTransport(Stub().responds(.streaming { _, _ in (HTTPResponse(status: .ok), source) }))
        let configuration = URLSessionConfiguration.ephemeral
        StubURLProtocol.serve(stub, to: configuration, inPieces: true)
        try await withTransport(URLSessionTransport(configuration)) { transport in
            let response = try await transport.send(Request(.get, url: "https://a.example/"))
            #expect(response.status == .ok)
            var body = response.body.makeAsyncIterator()
            for piece in ["a", "bc", "def"] {
                source.write(piece)
                #expect(try await body.next() == Data(piece.utf8))
            }
            source.finish()
            #expect(try await body.next() == nil)
        }
        #expect(stub.openBodyCount == 0)
    }

    #if canImport(FoundationNetworking)
    @Test func aDownloadTaskIsRefusedOnLinux() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok, text: "a")))
        let request = try request("/")
        let error = try await withSession(stub) { session in
            await #expect(throws: URLError.self) { _ = try await session.download(for: request, delegate: nil) }
        }
        #expect(error?.code == .unsupportedURL && stub.requests.isEmpty)
    }
    #endif

    @Test func anotherSchemeIsNotServed() throws {
        #expect(StubURLProtocol.canInit(with: try request("/")))
        #expect(StubURLProtocol.canInit(with: URLRequest(url: try #require(URL(string: "HTTP://a.example/")))))
        #expect(!StubURLProtocol.canInit(with: URLRequest(url: try #require(URL(string: "ftp://a.example/")))))
        #expect(!StubURLProtocol.canInit(with: URLRequest(url: try #require(URL(string: "file:///a")))))
    }
}
