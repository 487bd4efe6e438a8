internal import Dispatch
internal import ErrandCore
internal import ErrandTesting
internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import ErrandURLSession

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Requests and responses on their way from and to the types of Foundation.
@Suite struct BridgeTests {
    // MARK: To URLRequest

    @Test func aRequestBecomesAURLRequest() throws {
        var headers: HTTPFields = [.accept: "text/plain", .contentLength: "99"]
        for value in ["one", "two"] { headers.append(HTTPField(name: try #require(.init("X-Many")), value: value)) }
        for value in ["a=1", "b=2"] { headers.append(HTTPField(name: .cookie, value: value)) }
        let request = try URLRequest(Request(.post, url: "https://a.example/a%2Fb?q=%20", headers: headers, body: .text("tea")))
        #expect(request.httpMethod == "POST" && request.url?.absoluteString == "https://a.example/a%2Fb?q=%20")
        #expect(request.httpBody == Data("tea".utf8) && request.value(forHTTPHeaderField: "X-Many") == "one, two")
        #expect(request.value(forHTTPHeaderField: "Cookie") == "a=1; b=2" && request.value(forHTTPHeaderField: "Accept") == "text/plain")
        #expect(request.value(forHTTPHeaderField: "Content-Length") == nil && !request.httpShouldHandleCookies)
    }

    @Test func aRequestWithoutABodyHasNone() throws {
        let request = try URLRequest(Request(.get, url: "https://a.example/"))
        #expect(request.httpBody == nil && request.httpBodyStream == nil)
    }

    @Test func aFileBecomesAStream() throws {
        let folder = try TestFolder("bridge")
        let path = try folder.write("tea", to: "body")
        let request = try URLRequest(Request(.put, url: "https://a.example/", body: .file(atPath: path)))
        #expect(request.httpBodyStream != nil)
    }

    @Test(arguments: [
        ("Host", "other.example"), ("Connection", "close"), ("Proxy-Authorization", "Basic s3cr3t"),
    ])
    func aFieldOfTheSessionIsRefused(name: String, value: String) async throws {
        let request = try Request(.get, url: "https://a.example/", headers: [try #require(.init(name)): value])
        let failure = try await transportError { try URLRequest(request) }
        #expect(failure.code == .unsupported && failure.delivery == .notSent && failure.message.contains(name))
        #expect(!failure.description.contains("s3cr3t"))
    }

    /// RequestCheckTests has the octets, for every transport.
    @Test func aFieldWithAControlCharacterIsRefusedByTheTransport() async throws {
        let field = HTTPField(name: .authorization, lenientValue: Array("Bearer s3cr3t\u{7F}".utf8))
        let request = try Request(.get, url: "http://127.0.0.1:1/", headers: HTTPFields([field]))
        let failure = try await transportError { try await URLSessionTransport().send(request) }
        #expect(failure.code == .invalidRequest && failure.delivery == .notSent && failure.message.contains("Authorization"))
        #expect(failure.underlying is UnsafeFieldError && !failure.description.contains("s3cr3t"))
    }

    @Test func theHostOfTheURLIsAccepted() throws {
        let request = try URLRequest(Request(.get, url: "https://a.example/", headers: [try #require(.init("Host")): "A.example"]))
        #expect(request.value(forHTTPHeaderField: "Host") == nil)
    }

    @Test func aStreamIsRefused() async throws {
        let body = RequestBody.stream(AsyncStream<Data> { $0.finish() })
        let failure = try await transportError { try URLRequest(Request(.post, url: "https://a.example/", body: body)) }
        #expect(failure.code == .unsupported)
    }

    @Test func theTargetOfAWholeServerIsRefused() async throws {
        let head = HTTPRequest(method: .options, scheme: "https", authority: "a.example", path: "*")
        #expect(try await transportError { try URLRequest(Request(head: head)) }.code == .unsupported)
    }

    static let encodings: [(HTTPFields, String?)] = [
        ([:], nil), ([.range: "bytes=0-1"], "identity"), ([.range: "bytes=0-1", .acceptEncoding: "br"], "br"),
        ([.acceptEncoding: "identity"], "identity"),
    ]

    @Test(arguments: encodings) func aRangeIsNotEncoded(fields: HTTPFields, accepted: String?) throws {
        let request = try URLRequest(Request(.get, url: "https://a.example/", headers: fields))
        #expect(request.value(forHTTPHeaderField: "Accept-Encoding") == accepted)
    }

    // MARK: From URLRequest

    private func urlRequest(_ url: String, _ change: (inout URLRequest) -> Void = { _ in }) throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: url)))
        change(&request)
        return request
    }

    @Test func aURLRequestBecomesARequest() throws {
        let request = try Request(
            urlRequest("https://a.example/a%2Fb?q=1") {
                $0.httpMethod = "PATCH"
                $0.httpBody = Data("tea".utf8)
                $0.setValue("text/plain", forHTTPHeaderField: "Accept")
            })
        #expect(request.method == .patch && request.url?.description == "https://a.example/a%2Fb?q=1")
        #expect(request.body.bufferedData == Data("tea".utf8) && request.headers[.accept] == "text/plain")
    }

    @Test(
        arguments: [
            (60, nil), (0, nil), (-1, nil), (.infinity, nil), (.nan, nil), (1.5, .seconds(1.5)), (90, .seconds(90)),
            (1e-12, .nanoseconds(1)),
            (1e300, .seconds(3_155_760_000)),
        ] as [(Double, Duration?)])
    func theTimeoutOfAURLRequestBecomesLimitsOfPhases(_ interval: Double, _ limit: Duration?) throws {
        let request = try Request(urlRequest("https://a.example/") { $0.timeoutInterval = interval })
        let limits = try #require(request.options.phaseTimeouts.resolved(PhaseTimeouts()))
        let found = [limits.queue, limits.connect, limits.firstByte, limits.idleRead, limits.idleWrite]
        #expect(found == [nil, limit, limit, limit, limit])
        // A download may take longer than its idle timeout.
        #expect(request.options.timeout == .inherited)
    }

    @Test func aURLRequestHasNoTimeoutByDefault() throws {
        let request = try Request(urlRequest("https://a.example/"))
        if case .inherited = request.options.phaseTimeouts {} else { Issue.record("the stack's limits must apply") }
    }

    @Test func aSilentServerExceedsTheTimeoutOfAURLRequest() async throws {
        let clock = ManualClock()
        var request = try Request(urlRequest("https://a.example/") { $0.timeoutInterval = 2 })
        var limits = try #require(request.options.phaseTimeouts.resolved(PhaseTimeouts()))
        limits.clock = clock
        request.options.phaseTimeouts = .use(limits)
        let (stack, sent) = (HTTPStack(StubTransport(Stub().responds(.never))), request)
        let failure = try await transportError { try await clock.advancingToSleepers { try await stack.send(sent) } }
        #expect(failure.code == .timedOut)
    }

    @Test func aBodyStreamIsReadOnce() async throws {
        let bytes = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0) })
        let request = try Request(urlRequest("https://a.example/") { $0.httpBodyStream = InputStream(data: bytes) })
        #expect(request.body.replay == .oneShot && request.body.length == nil)
        let source = try await request.body.open()
        var read = Data()
        while let chunk = try await source.next() { read += chunk }
        #expect(read == bytes)
        #expect(try await source.next() == nil)
        await #expect(throws: BodyAlreadyUsedError.self) { _ = try await request.body.open() }
    }

    @Test func anAbandonedBodyStreamEnds() async throws {
        let request = try Request(urlRequest("https://a.example/") { $0.httpBodyStream = InputStream(data: Data(count: 10)) })
        let source = try await request.body.open()
        source.abandon()
        #expect(try await source.next() == nil)
    }

    /// A stream that blocks its reader until it is let go.
    private final class StuckStream: InputStream {
        struct Signals: Sendable {
            let isReading = Signal()
            let isClosed = Signal()
            let isReleased = Signal()
            let letGo = DispatchSemaphore(value: 0)
        }

        private let signals: Signals

        init(_ signals: Signals) {
            self.signals = signals
            super.init(data: Data())
        }

        override func open() {}
        override func close() { signals.isClosed.signal() }
        override var hasBytesAvailable: Bool { true }

        override func read(_ bytes: UnsafeMutablePointer<UInt8>, maxLength count: Int) -> Int {
            signals.isReading.signal()
            signals.letGo.wait()
            bytes.pointee = 7
            return 1
        }

        deinit { signals.isReleased.signal() }
    }

    @Test func aCancelledReadOfABodyStreamEnds() async throws {
        let signals = StuckStream.Signals()
        let source = InputStreamSource(try urlRequest("https://a.example/") { $0.httpBodyStream = StuckStream(signals) })
        let reading = Task { try await source.next() }
        try await signals.isReading.wait()
        reading.cancel()
        // The thread still waits for the stream.
        await #expect(throws: CancellationError.self) { try await reading.value }
        signals.letGo.signal()
        try await signals.isClosed.wait()
        try await signals.isReleased.wait()
        // The byte of the cancelled read is lost. The body must not look complete.
        await #expect(throws: CancellationError.self) { try await source.next() }
    }

    @Test func aMissingFileFailsTheBody() async throws {
        let request = try Request(urlRequest("https://a.example/") { $0.httpBodyStream = InputStream(fileAtPath: "/no/such/file") })
        let source = try await request.body.open()
        await #expect(throws: InputStreamError.self) { _ = try await source.next() }
    }

    @Test func anInvalidURLRequestIsRefused() async throws {
        #expect(throws: InvalidURLError.self) { try Request(urlRequest("ftp://a.example/")) }
        let failure = try await transportError { try Request(urlRequest("https://a.example/") { $0.httpMethod = "NO METHOD" }) }
        #expect(failure.code == .invalidRequest && failure.delivery == .notSent)
    }

    @Test func bothDirectionsKeepTheRequest() throws {
        let first = try Request(.put, url: "https://a.example/x?y=z", headers: [.accept: "*/*", .userAgent: "Own/1"], body: .text("tea"))
        let second = try Request(URLRequest(first))
        #expect(second.method == first.method && second.url == first.url && second.headers == first.headers)
        #expect(second.body.bufferedData == first.body.bufferedData)
    }

    // MARK: Responses

    @Test func aResponseBecomesAHead() throws {
        let url = try #require(URL(string: "https://a.example/"))
        let response = try #require(
            HTTPURLResponse(
                url: url, statusCode: 404, httpVersion: nil,
                headerFields: ["Set-Cookie": "a=1, b=2", "Content-Type": "text/plain", "Bad Name": "x"]))
        let head = try #require(HTTPResponse(response))
        #expect(head.status == .notFound && head.headerFields[values: .setCookie] == ["a=1", "b=2"])
        #expect(head.headerFields.map(\.name) == [.contentType, .setCookie, .setCookie])
        #expect(ReceivedHead(URLResponse(url: url, mimeType: nil, expectedContentLength: 0, textEncodingName: nil), to: nil) == nil)
    }

    @Test func bothDirectionsKeepTheHeadOfAResponse() throws {
        let url = try #require(URL(string: "https://a.example/x"))
        var fields: HTTPFields = [.contentType: "text/plain", .eTag: "\"7\""]
        for cookie in ["a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT", "b=2"] { fields.append(HTTPField(name: .setCookie, value: cookie)) }
        let head = HTTPResponse(status: .created, headerFields: fields)
        let response = try #require(HTTPURLResponse(head, url: url))
        #expect(response.statusCode == 201 && response.url == url)
        let again = try #require(HTTPResponse(response))
        #expect(again.status == head.status && again.headerFields == head.headerFields)
    }

    @Test func theFieldsOfOneNameAreJoinedInTheirOrder() throws {
        var fields = HTTPFields()
        for value in ["a", "b", "c"] { fields.append(HTTPField(name: .vary, value: value)) }
        let url = try #require(URL(string: "https://a.example/"))
        let response = try #require(HTTPURLResponse(HTTPResponse(status: .ok, headerFields: fields), url: url))
        #expect(response.value(forHTTPHeaderField: "Vary") == "a, b, c")
    }

    @Test(arguments: [0, 99, 1_000]) func aStatusOutsideOfHTTPIsNoHead(status: Int) throws {
        let url = try #require(URL(string: "https://a.example/"))
        let response = try #require(HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: nil))
        #expect(HTTPResponse(response) == nil)
    }
}
