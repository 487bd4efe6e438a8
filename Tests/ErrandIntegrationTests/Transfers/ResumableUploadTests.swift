#if MockServer && SWIFT_NIO
internal import Errand
internal import ErrandHashing
internal import ErrandMockServer
internal import ErrandTesting
internal import ErrandTransfers
internal import Foundation
internal import TestSupport
internal import Testing

/// Uploads by version 8 of the draft, over sockets, to the uploads of the mock server.
@Suite(.timeLimit(.minutes(5))) struct ResumableUploadTests {
    typealias Version = MockServer.ApplicationProtocol

    private static let versions: [Version] = [.http1_1, .http2]
    private static let content = Data.seeded(1 << 20, seed: 14)
    private static let sha256 = OctetHash.of(content, by: .sha256).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    private static let policy = TransferPolicy(backoff: .constant(.milliseconds(5)))

    private let folder: TestFolder
    private var file: URL { URL(fileURLWithPath: folder.file("file")) }

    init() throws {
        folder = try TestFolder("resumable-uploads")
        try folder.write(Self.content, to: "file")
    }

    @Test(arguments: versions) func theFirstRequestHasTheContent(_ version: Version) async throws {
        try await withServer(version) { server, transport in
            let uploads = server.acceptUploads(progressBytes: 100_000) { .text("\($0.offset)", status: .created) }
            let upload = try upload(to: server, over: transport)
            let response = try await upload.response()
            #expect(response.status == .created && response.request.method == .post)
            #expect(try await response.body.collect() == Data("\(Self.content.count)".utf8))
            #expect(server.requests.map(\.method) == [.post])
            try expectWhole(uploads)
            // The informational response has named the upload.
            #expect(upload.url?.path == uploads.all.first?.resourcePath)
        }
    }

    @Test(arguments: versions, [true, false]) func cutsLoseNoByte(_ version: Version, informs: Bool) async throws {
        try await withServer(version) { server, transport in
            let uploads = server.acceptUploads(sendsInformational: informs)
            // The third cut comes after the last byte, and before the response.
            for bytes in [300_000, 1, Self.content.count - 300_001] { uploads.cut(afterBytes: bytes) }
            // Without informational responses, a broken creation is sent again as a whole.
            let options = UploadOptions(creation: informs ? .withContent : .empty)
            let response = try await upload(to: server, over: transport, options: options).response()
            #expect(response.status == .ok && response.headers[.uploadComplete] == "?1")
            try expectWhole(uploads)
            let methods: [HTTPRequest.Method] = [informs ? .post : .patch, .head, .patch, .head, .patch, .head, .patch]
            #expect(server.requests.map(\.method) == (informs ? methods : [.post] + methods))
        }
    }

    @Test(arguments: versions) func aLostResponseIsFoundOut(_ version: Version) async throws {
        try await withServer(version) { server, transport in
            let uploads = server.acceptUploads()
            let stack = transport.wrapped(by: LosingMiddleware(.post))
            let response = try await upload(to: server, over: stack).response()
            #expect(response.status == .noContent && response.headers[.uploadComplete] == "?1")
            #expect(server.requests.map(\.method) == [.post, .head])
            try expectWhole(uploads)
        }
    }

    @Test(arguments: versions) func theLimitsOfTheServerAreObeyed(_ version: Version) async throws {
        var limits = MockUploads.Limits()
        (limits.maxAppendBytes, limits.minAppendBytes) = (400_000, 1_000)
        try await withServer(version) { [limits] server, transport in
            let uploads = server.acceptUploads(limits: limits)
            // The limits arrive with the response to the empty creation.
            _ = try await upload(to: server, over: transport, options: UploadOptions(creation: .empty)).response()
            #expect(server.requests.map(\.method) == [.post, .patch, .patch, .patch])
            try expectWhole(uploads)
        }
        limits.maxSizeBytes = 1_000
        try await withServer(version) { [limits] server, transport in
            server.acceptUploads(limits: limits)
            let upload = try upload(to: server, over: transport, options: UploadOptions(creation: .empty))
            await #expect(throws: (any Error).self) { try await upload.response() }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["file"])
        }
    }

    @Test(arguments: versions) func aMismatchingOffsetIsCorrected(_ version: Version) async throws {
        try await withServer(version) { server, transport in
            let uploads = server.acceptUploads()
            uploads.cut(afterBytes: 500_000)
            // A proxy responds with an offset that is no longer true.
            let stack = transport.wrapped(by: StaleMiddleware(offset: "100000"))
            _ = try await upload(to: server, over: stack).response()
            #expect(server.requests.map(\.method) == [.post, .head, .patch, .patch])
            try expectWhole(uploads)
        }
    }

    @Test(arguments: versions) func aForgottenUploadStartsAgain(_ version: Version) async throws {
        try await withServer(version) { server, transport in
            let uploads = server.acceptUploads()
            uploads.cut(afterBytes: 500_000)
            // If the last part was sent, the upload may be complete. Therefore the first request has another part.
            let options = UploadOptions(partBytes: 600_000)
            let first = try upload(to: server, over: transport, policy: TransferPolicy(maxFailures: 0), options: options)
            await #expect(throws: TransportError.self) { try await first.response() }
            #expect(first.resumption?.canContinue == true)
            uploads.forget()
            _ = try await upload(to: server, over: transport, options: options).response()
            #expect(server.requests.map(\.method) == [.post, .head, .post, .patch])
            #expect(uploads.all.map(\.isComplete) == [false, true] && uploads.all.last?.sha256 == Self.sha256)
        }
    }

    @Test(arguments: versions) func anotherRunContinues(_ version: Version) async throws {
        try await withServer(version) { server, transport in
            let uploads = server.acceptUploads()
            uploads.cut(afterBytes: 700_000)
            let first = try upload(to: server, over: transport, policy: TransferPolicy(maxFailures: 0))
            await #expect(throws: TransportError.self) { try await first.response() }
            let counter = Counter()
            _ = try await upload(to: server, over: transport.wrapped(by: CountingMiddleware(counter: counter))).response()
            #expect(counter.value == Self.content.count - 700_000)
            try expectWhole(uploads)
            let second = try upload(to: server, over: transport, policy: TransferPolicy(maxFailures: 0))
            uploads.cut(afterBytes: 1)
            await #expect(throws: TransportError.self) { try await second.response() }
            try await second.discard()
            #expect(server.requests.last?.method == .delete && uploads.all.last?.isActive == false)
        }
    }

    // MARK: Parts of the tests

    private func withServer(_ version: Version, _ body: (MockServer, NIOTransport) async throws -> Void) async throws {
        let configuration: MockServer.Configuration =
            version == .http2 ? .tls(try TestAuthority().certificate(), protocols: [.http2]) : MockServer.Configuration()
        try await withMockServer(configuration) { server in
            try await withNIO {
                $0.tls.uncheckedHostsForTesting = .loopback
            } _: { transport in
                try await body(server, transport)
            }
        }
    }

    private func upload(
        to server: MockServer, over sender: some HTTPSender, policy: TransferPolicy = policy, options: UploadOptions = .standard
    ) throws -> Upload {
        let request = try Request(.post, url: server.url("/uploads"))
        return Upload(request, from: file, over: sender, by: .resumable(), policy: policy, options: options)
    }

    private func expectWhole(_ uploads: MockUploads) throws {
        let upload = try #require(uploads.all.last)
        #expect(uploads.all.count == 1 && upload.isComplete && upload.offset == Self.content.count && upload.sha256 == Self.sha256)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["file"])
    }
}

/// Loses the first response to a method.
private struct LosingMiddleware: HTTPMiddleware {
    let method: HTTPRequest.Method
    private let count = Counter()

    init(_ method: HTTPRequest.Method) { self.method = method }

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        let response = try await next.send(request)
        guard request.method == method, count.value == 0 else { return response }
        count.add(1)
        response.discard()
        throw TransportError(.connectionLost, phase: .response, request: request, delivery: .sent)
    }
}

/// Replaces the offset in the first response to HEAD, as a cache does.
private struct StaleMiddleware: HTTPMiddleware {
    let offset: String
    private let count = Counter()

    init(offset: String) { self.offset = offset }

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        var response = try await next.send(request)
        guard request.method == .head, count.value == 0 else { return response }
        count.add(1)
        response.head.headerFields[.uploadOffset] = offset
        return response
    }
}

/// Counts the bytes of the bodies of requests.
private struct CountingMiddleware: HTTPMiddleware {
    let counter: Counter

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        var request = request
        request.body = request.body.observed { [counter] event in
            if case .chunk(let chunk) = event { counter.add(chunk.count) }
        }
        return try await next.send(request)
    }
}

extension HTTPField.Name {
    fileprivate static let uploadComplete = Self("Upload-Complete")!
    fileprivate static let uploadOffset = Self("Upload-Offset")!
}
#endif
