import Crypto
import Errand
import Foundation
import HTTPTypes
import Testing
import UploadPeer

/// The peer behaves as the tests of uploads assume. `UploadServer` lists the special behavior. The requests are written by hand.
@Suite(.timeLimit(.minutes(2))) struct UploadServerTests {
    private static let content = Data((0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ $0 >> 9) })

    @Test func aBrokenUploadContinuesAtTheOffset() async throws {
        try await withUpload { upload in
            #expect(try await upload.offset() == 0)
            await #expect(throws: TransportError.self) { try await upload.append(from: 0, breaksOff: true) }
            // The server may notice the end later than the client.
            var offset = 0
            for _ in 0..<100 where offset == 0 {
                offset = try await upload.offset()
                try await Task.sleep(for: .milliseconds(20))
            }
            #expect(offset > 0 && offset < Self.content.count)
            let response = try await upload.append(from: offset)
            #expect(response.status.code == 200)
            #expect(response.headers[.uploadComplete] == nil)
            let digest = SHA256.hash(data: Self.content).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            #expect(upload.server.uploads == [UploadServer.Upload(path: "/notes", bytes: Self.content.count, sha256: digest)])
            #expect(try await upload.send(.head).status.code == 404)
        }
    }

    @Test func aWrongOffsetEndsTheUpload() async throws {
        try await withUpload { upload in
            // The server does not read the rest of a long request that it refuses: the next request on the connection would hang.
            let response = try await upload.append(from: Self.content.count - 10)
            #expect(response.status.code == 409)
            #expect(response.headers[.uploadOffset] == "0")
            #expect(try await upload.send(.head).status.code == 404)
        }
    }

    @Test func theContentIsKeptInAFolder() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("errand-uploads-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await withUpload(folder: folder) { upload in
            #expect(try await upload.append(from: 0).status.code == 200)
            let name = try #require(upload.server.uploads.first?.sha256)
            #expect(try Data(contentsOf: folder.appendingPathComponent(name)) == Self.content)
        }
    }

    private func withUpload(folder: URL? = nil, _ body: (Upload) async throws -> Void) async throws {
        let server = try await UploadServer.start(folder: folder)
        try await withTransport(NIOTransport()) { transport in
            var create = try Request(.post, url: server.url("/notes"))
            create.headers[.version] = "6"
            create.headers[.uploadComplete] = "?0"
            let created = try await transport.send(create)
            created.body.abandon()
            #expect(created.status.code == 201)
            try await body(Upload(transport: transport, server: server, url: try #require(created.headers[.location])))
        }
        await server.stop()
    }

    private struct Upload {
        let transport: NIOTransport
        let server: UploadServer
        let url: String

        func send(_ method: HTTPRequest.Method, body: RequestBody = .empty, _ headers: HTTPFields = [:]) async throws -> Response {
            var request = try Request(method, url: url, body: body)
            request.headers = headers
            request.headers[.version] = "6"
            let response = try await transport.send(request)
            response.body.abandon()
            return response
        }

        /// Sends the rest of the content. If `breaksOff`, the client breaks the request off in the middle.
        func append(from offset: Int, breaksOff: Bool = false) async throws -> Response {
            let rest = content[offset...]
            let body: RequestBody =
                breaksOff
                ? .stream(length: Int64(rest.count)) { _ in BreakingSource(rest.prefix(rest.count / 2)) } : .data(Data(rest))
            return try await send(
                .patch, body: body, [.contentType: "application/partial-upload", .uploadOffset: "\(offset)", .uploadComplete: "?1"])
        }

        func offset() async throws -> Int {
            let response = try await send(.head)
            #expect(response.status.code == 204)
            return try #require(response.headers[.uploadOffset].flatMap { Int($0) })
        }
    }

    /// Fails after its only chunk.
    private actor BreakingSource: BodySource {
        private var chunk: Data?

        init(_ chunk: Data) { self.chunk = chunk }

        func next() async throws -> Data? {
            guard let data = chunk else { throw CocoaError(.fileReadUnknown) }
            chunk = nil
            return data
        }

        nonisolated func abandon() {}
    }
}

extension HTTPField.Name {
    fileprivate static let version = Self("Upload-Draft-Interop-Version")!
    fileprivate static let uploadComplete = Self("Upload-Complete")!
    fileprivate static let uploadOffset = Self("Upload-Offset")!
}
