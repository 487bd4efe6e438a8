import Crypto
import Errand
import Foundation
import HTTPTypes
import Synchronization
import Testing
import UploadPeer

/// Uploads by version 6 of the draft, to a server that others wrote.
@Suite(.timeLimit(.minutes(2))) struct UploadClientTests {
    private static let content = Data((0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 131 &+ $0 >> 10) })
    /// Longer than the time in which the server notices the end of a connection.
    private static let policy = TransferPolicy(backoff: .constant(.milliseconds(100)), jitter: .none)

    @Test(arguments: [HTTPRequest.Method.post, .put], [UploadOptions.Creation.empty, .withContent])
    func aFileIsUploaded(_ method: HTTPRequest.Method, _ creation: UploadOptions.Creation) async throws {
        try await withFile { server, transport, file in
            let methods = Methods()
            let upload = try upload(
                method, file, to: server, over: transport.wrapped(by: methods), options: UploadOptions(creation: creation))
            let response = try await upload.response()
            #expect(response.status == .ok)
            // The response of the resource, although the server does not mark the response.
            let body = try await response.body.collect()
            #expect(String(decoding: body, as: UTF8.self).contains(#""bytes":\#(Self.content.count)"#))
            #expect(methods.all == (creation == .empty ? [method, .patch] : [method]))
            expectWhole(server)
        }
    }

    @Test func partsAreUploaded() async throws {
        try await withFile { server, transport, file in
            let methods = Methods()
            let options = UploadOptions(creation: .withContent, partBytes: 450_000)
            _ = try await upload(.post, file, to: server, over: transport.wrapped(by: methods), options: options).response()
            #expect(methods.all == [.post, .patch, .patch])
            expectWhole(server)
        }
    }

    @Test(arguments: [UploadOptions.Creation.empty, .withContent])
    func aBrokenUploadContinues(_ creation: UploadOptions.Creation) async throws {
        try await withFile { server, transport, file in
            // The first two requests with content break off.
            let breaking = Breaking(after: [350_000, 250_000])
            let upload = try upload(
                .post, file, to: server, over: transport.wrapped(by: breaking), options: UploadOptions(creation: creation))
            _ = try await upload.response()
            let methods: [HTTPRequest.Method] = [creation == .empty ? .patch : .post, .head, .patch, .head, .patch]
            #expect(breaking.all == (creation == .empty ? [.post] + methods : methods))
            #expect(breaking.bytes <= Self.content.count + Self.content.count / 10)
            expectWhole(server)
        }
    }

    @Test func anotherRunContinues() async throws {
        try await withFile { server, transport, file in
            let breaking = Breaking(after: [750_000])
            let first = try upload(.post, file, to: server, over: transport.wrapped(by: breaking), policy: TransferPolicy(maxFailures: 0))
            await #expect(throws: (any Error).self) { try await first.response() }
            try await Task.sleep(for: .milliseconds(100))
            _ = try await upload(.post, file, to: server, over: transport.wrapped(by: breaking)).response()
            #expect(breaking.all == [.post, .head, .patch])
            #expect(breaking.bytes <= Self.content.count + Self.content.count / 10)
            expectWhole(server)
        }
    }

    @Test func anUploadThatAWrongOffsetHasEndedStartsAgain() async throws {
        try await withFile { server, transport, file in
            // The offset of the first response to HEAD is too small. The server ends the upload because of the wrong offset.
            let breaking = Breaking(after: [350_000], offset: "1")
            _ = try await upload(.post, file, to: server, over: transport.wrapped(by: breaking)).response()
            #expect(breaking.all.filter { $0 == .post }.count == 2 && breaking.all.last == .post)
            expectWhole(server)
        }
    }

    // MARK: Parts of the tests

    private func withFile(_ body: (UploadServer, NIOTransport, URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("errand-uploads-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("content")
        try Self.content.write(to: file)
        let server = try await UploadServer.start()
        try await withTransport(NIOTransport()) { transport in
            try await body(server, transport, file)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["content"])
        }
        await server.stop()
    }

    private func upload(
        _ method: HTTPRequest.Method, _ file: URL, to server: UploadServer, over stack: HTTPStack, policy: TransferPolicy = policy,
        options: UploadOptions = .standard
    ) throws -> Upload {
        Upload(
            try Request(method, url: server.url("/notes")), from: file, over: stack, by: .resumable(version: 6), policy: policy,
            options: options)
    }

    private func expectWhole(_ server: UploadServer) {
        let digest = SHA256.hash(data: Self.content).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        #expect(server.uploads == [UploadServer.Upload(path: "/notes", bytes: Self.content.count, sha256: digest)])
    }

    /// Records the methods of the requests.
    private final class Methods: HTTPMiddleware {
        private let methods = Mutex<[HTTPRequest.Method]>([])

        var all: [HTTPRequest.Method] { methods.withLock { $0 } }

        func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
            methods.withLock { $0.append(request.method) }
            return try await next.send(request)
        }
    }

    /// Records the methods of the requests, and breaks the first requests with content off.
    private final class Breaking: HTTPMiddleware {
        private struct State {
            var methods: [HTTPRequest.Method] = []
            var cuts: [Int]
            var bytes = 0
            var offset: String?
        }

        private let state: Mutex<State>

        /// - Parameters:
        ///   - cuts: the number of bytes after which each request breaks off.
        ///   - offset: the offset that replaces the offset in the first response to HEAD.
        init(after cuts: [Int], offset: String? = nil) { state = Mutex(State(cuts: cuts, offset: offset)) }

        var all: [HTTPRequest.Method] { state.withLock { $0.methods } }
        /// The number of bytes that all requests have sent.
        var bytes: Int { state.withLock { $0.bytes } }

        func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
            let (cut, offset) = state.withLock { state -> (Int, String?) in
                state.methods.append(request.method)
                let hasContent = !request.body.isEmpty && !state.cuts.isEmpty
                let offset = request.method == .head ? state.offset.take() : nil
                return (hasContent ? state.cuts.removeFirst() : .max, offset)
            }
            var request = request
            if !request.body.isEmpty {
                let body = request.body
                request.body = .stream(length: body.length) { [self] _ in
                    BreakingSource(try await body.open(), cut) { bytes in self.state.withLock { $0.bytes += bytes } }
                }
            }
            do {
                var response = try await next.send(request)
                if let offset { response.head.headerFields[.uploadOffset] = offset }
                return response
            } catch let error as TransportError where cut != .max {
                throw TransportError(.connectionLost, phase: .send, underlying: error, request: request)
            }
        }
    }

    /// Fails after a number of bytes.
    private actor BreakingSource: BodySource {
        private let inner: any BodySource
        private var rest: Int
        private let count: @Sendable (Int) -> Void

        init(_ inner: any BodySource, _ limit: Int, count: @escaping @Sendable (Int) -> Void) {
            (self.inner, rest, self.count) = (inner, limit, count)
        }

        func next() async throws -> Data? {
            guard rest > 0 else { throw CocoaError(.fileReadUnknown) }
            guard let chunk = try await inner.next()?.prefix(rest) else { return nil }
            rest -= chunk.count
            count(chunk.count)
            return Data(chunk)
        }

        nonisolated func abandon() { inner.abandon() }
    }
}

extension HTTPField.Name {
    fileprivate static let uploadOffset = Self("Upload-Offset")!
}
