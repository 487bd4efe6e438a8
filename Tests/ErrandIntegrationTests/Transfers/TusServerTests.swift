#if SWIFT_NIO
internal import Errand
internal import ErrandHashing
internal import Foundation
internal import TestSupport
internal import Testing

/// The servers of tus 1.0 behave as the tests of uploads assume. Tests/Servers/tus.py lists the special behavior of each server. The
/// requests are written by hand.
@Suite(.timeLimit(.minutes(5))) struct TusServerTests {
    private static let content = Data.seeded(1 << 20, seed: 11)

    @Test(.enabled(if: RealServer.tuspyserver.isHere, Comment(rawValue: RealServer.tuspyserver.missing)))
    func tuspyserverKeepsTheBytesOfABrokenRequest() async throws {
        let name = "tus-\(UUID().uuidString)"
        try await withUpload(named: name, on: .tuspyserver) { upload in
            let offset = try await upload.breakOff(at: 0, keepsBytes: true)
            #expect(offset > 0 && offset < Self.content.count)
            #expect(try await upload.append(from: offset + 1).status.code == 409)
            #expect(try await upload.append(from: offset).status.code == 204)
            #expect(try await upload.offset() == Self.content.count)
            try upload.expectFinished(on: .tuspyserver)
        }
    }

    @Test(.enabled(if: RealServer.aiohttpTus.isHere, Comment(rawValue: RealServer.aiohttpTus.missing)))
    func aiohttpTusKeepsNothingOfABrokenRequestAndForgetsAWholeUpload() async throws {
        let name = "tus-\(UUID().uuidString)"
        try await withUpload(named: name, on: .aiohttpTus) { upload in
            #expect(try await upload.append(from: 0, to: 1000).status.code == 204)
            #expect(try await upload.breakOff(at: 1000, keepsBytes: false) == 1000)
            #expect(try await upload.append(from: 1001).status.code == 409)
            #expect(try await upload.append(from: 1000).status.code == 204)
            #expect(try await upload.send(.head).status.code == 404)
            try upload.expectFinished(on: .aiohttpTus)
        }
    }

    private func withUpload(named name: String, on server: RealServer, _ body: (Upload) async throws -> Void) async throws {
        let port = try server.port()
        try await withNIO { transport in
            var create = try Request(.post, url: server.url("/files"))
            func base64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }
            create.headers[.tusResumable] = "1.0.0"
            create.headers[.uploadLength] = "\(Self.content.count)"
            create.headers[.uploadMetadata] = "filename \(base64(name)),filetype \(base64("text/plain"))"
            let created = try await transport.whole(create).response
            #expect(created.status.code == 201)
            let location = try #require(created.headers[.location])
            try await body(Upload(transport: transport, port: port, url: location, name: name))
        }
    }

    private struct Upload {
        let transport: NIOTransport
        let port: Int
        let url: String
        let name: String

        func send(
            _ method: HTTPRequest.Method, to url: String? = nil, offset: Int? = nil, _ content: Data = Data()
        ) async throws -> Response {
            var request = try Request(method, url: url ?? self.url, body: content.isEmpty ? .empty : .data(content))
            request.headers[.tusResumable] = "1.0.0"
            if let offset { request.headers[.uploadOffset] = "\(offset)" }
            if method == .patch { request.headers[.contentType] = "application/offset+octet-stream" }
            return try await transport.whole(request).response
        }

        func append(from offset: Int, to end: Int = content.count) async throws -> Response {
            try await send(.patch, offset: offset, content[offset..<end])
        }

        func offset() async throws -> Int {
            let response = try await send(.head)
            #expect(response.status.code == 200)
            return try #require(response.headers[.uploadOffset].flatMap { Int($0) })
        }

        /// Sends the rest of the content, but the connection is cut in the middle. Returns the offset that the server has then.
        ///
        /// - Parameter keepsBytes: whether the server keeps the bytes before the cut.
        func breakOff(at offset: Int, keepsBytes: Bool) async throws -> Int {
            let port = port
            let relay = try RawServer { connection in try connection.relay(to: port, uploadLimit: content.count / 2) }
            defer { relay.stop() }
            let broken = relay.url(try #require(URL(string: url)).path)
            await #expect(throws: TransportError.self) { try await send(.patch, to: broken, offset: offset, content[offset...]) }
            // The server may notice the end later than the client. Until then, HEAD has the offset before the request.
            for _ in 0..<100 {
                try await Task.sleep(for: .milliseconds(50))
                let now = try await self.offset()
                if !keepsBytes || now > offset { return now }
            }
            throw TestError()
        }

        func expectFinished(on server: RealServer) throws {
            let digest = OctetHash.of(content, by: .sha256).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            let finished = try server.finishedUploads().filter { $0.name == name }
            #expect(finished == [RealServer.FinishedUpload(name: name, bytes: content.count, sha256: digest)])
        }
    }
}

extension HTTPField.Name {
    fileprivate static let tusResumable = Self("Tus-Resumable")!
    fileprivate static let uploadLength = Self("Upload-Length")!
    fileprivate static let uploadMetadata = Self("Upload-Metadata")!
    fileprivate static let uploadOffset = Self("Upload-Offset")!
}
#endif
