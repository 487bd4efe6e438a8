#if MockServer && SWIFT_NIO
import ErrandCore
import ErrandMockServer
import ErrandNIO
import Foundation
import TestSupport
import Testing

extension MockServerTests {
    /// Resumable uploads, with requests that are written octet by octet, and with curl.
    @Suite
    struct MockUploadsTests {
        private static let sha256OfHello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
        private let problem = "https://iana.org/assignments/http-problem-types#"

        /// Sends a request of version 8 on a connection of its own, and returns all responses to it.
        private func send(
            _ server: MockServer, _ start: String, _ fields: String..., body: String = "", version: String? = "8", length: Bool = true
        ) throws -> String {
            let client = try RawClient(port: server.port)
            var lines = ["\(start) HTTP/1.1", "Host: a", "Connection: close"] + fields
            if let version { lines.append("Upload-Draft-Interop-Version: \(version)") }
            if length, !start.hasPrefix("HEAD"), !start.hasPrefix("DELETE") { lines.append("Content-Length: \(body.utf8.count)") }
            client.send(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
            return client.readAll()
        }

        private func append(
            _ server: MockServer, _ path: String, at offset: Int, _ body: String, completes: Bool = true, _ field: String = "X-Any: 1"
        ) throws -> String {
            try send(
                server, "PATCH \(path)", "Upload-Offset: \(offset)", "Upload-Complete: \(completes ? "?1" : "?0")",
                "Content-Type: application/partial-upload", field, body: body)
        }

        /// Creates an upload without content, and returns its path.
        private func create(_ server: MockServer, _ field: String = "X-Any: 1") throws -> String {
            let response = try send(server, "POST /uploads", "Upload-Complete: ?0", field)
            #expect(response.contains("HTTP/1.1 201 Created\r\n"))
            return try #require(response.firstMatch(of: /Location: (\S+)\r\n/)).1.description
        }

        private func offset(_ server: MockServer, _ path: String) throws -> String {
            let response = try send(server, "HEAD \(path)")
            #expect(response.hasPrefix("HTTP/1.1 204 No Content\r\nCache-Control: no-store\r\n"))
            return try #require(response.firstMatch(of: /Upload-Offset: (\d+)\r\nUpload-Complete: (\?\d)\r\n/)).output.0.description
        }

        @Test func aWholeUploadIsAnnouncedBeforeItsContentIsRead() async throws {
            try await withMockServer { server in
                var limits = MockUploads.Limits()
                limits.maxSizeBytes = 100
                limits.maxAgeSeconds = 60
                let uploads = server.acceptUploads(limits: limits) { .text("\($0.offset)") }
                let client = try RawClient(port: server.port)
                client.send("POST /uploads HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 5\r\nUpload-Complete: ?1\r\n")
                client.send("Upload-Draft-Interop-Version: 8\r\n\r\n")
                let head = client.read(until: "\r\n\r\n")
                let path = try #require(uploads.all.first?.resourcePath)
                #expect(
                    head == """
                        HTTP/1.1 104 Upload Resumption Supported\r\nLocation: \(path)\r\nUpload-Limit: max-size=100, max-age=60\r
                        Upload-Draft-Interop-Version: 8\r\n\r\n
                        """)
                client.send("hello")
                let response = client.readAll()
                #expect(response.hasPrefix("HTTP/1.1 200 OK\r\n"))
                #expect(response.contains("\r\nUpload-Complete: ?1\r\n") && response.hasSuffix("\r\n\r\n5"))
                let upload = try #require(uploads.all.first)
                #expect(upload.isComplete && upload.sha256 == Self.sha256OfHello && upload.content == Data("hello".utf8))
                #expect(upload.length == 5 && upload.creation.method == .post)
                #expect(try offset(server, path) == "Upload-Offset: 5\r\nUpload-Complete: ?1\r\n")
            }
        }

        @Test func anUploadInPartsHasItsOffset() async throws {
            try await withMockServer { server in
                let uploads = server.acceptUploads()
                let path = try create(server, "Upload-Length: 5")
                #expect(try offset(server, path) == "Upload-Offset: 0\r\nUpload-Complete: ?0\r\n")
                let part = try append(server, path, at: 0, "hel", completes: false)
                #expect(part.hasPrefix("HTTP/1.1 204 No Content\r\nUpload-Complete: ?0\r\n"))
                #expect(try send(server, "HEAD \(path)").contains("\r\nUpload-Length: 5\r\n"))
                #expect(try append(server, path, at: 3, "lo").hasPrefix("HTTP/1.1 200 OK\r\nUpload-Complete: ?1\r\n"))
                #expect(uploads.all.map(\.sha256) == [Self.sha256OfHello])
                #expect("\(uploads.all[0])" == "\(path): 5 of 5 bytes, complete")
            }
        }

        @Test func anEmptyAppendCompletesAnUpload() async throws {
            try await withMockServer { server in
                let uploads = server.acceptUploads()
                let path = try create(server)
                _ = try append(server, path, at: 0, "hello", completes: false)
                #expect(uploads.all[0].isComplete == false && uploads.all[0].length == nil)
                #expect(try append(server, path, at: 5, "").hasPrefix("HTTP/1.1 200 OK\r\n"))
                #expect(uploads.all[0].isComplete && uploads.all[0].length == 5)
            }
        }

        @Test func aCutKeepsTheBytesBeforeIt() async throws {
            try await withMockServer { server in
                let uploads = server.acceptUploads()
                uploads.cut(afterBytes: 2)
                uploads.cut(afterBytes: 3)
                let created = try send(server, "PUT /uploads", "Upload-Complete: ?1", body: "hello")
                #expect(created.hasPrefix("HTTP/1.1 104 ") && !created.contains("HTTP/1.1 200"))
                let path = try #require(uploads.all.first?.resourcePath)
                #expect(try offset(server, path) == "Upload-Offset: 2\r\nUpload-Complete: ?0\r\n")
                // All content, but no response.
                #expect(try append(server, path, at: 2, "llo").isEmpty)
                #expect(try offset(server, path) == "Upload-Offset: 5\r\nUpload-Complete: ?0\r\n")
                #expect(try append(server, path, at: 5, "").hasPrefix("HTTP/1.1 200 OK\r\n"))
                #expect(uploads.all.map(\.sha256) == [Self.sha256OfHello])
            }
        }

        @Test func aBrokenRequestKeepsItsBytes() async throws {
            try await withMockServer { server in
                let uploads = server.acceptUploads()
                let path = try create(server)
                var client: RawClient? = try RawClient(port: server.port)
                client?.send("PATCH \(path) HTTP/1.1\r\nHost: a\r\nUpload-Draft-Interop-Version: 8\r\nUpload-Offset: 0\r\n")
                client?.send("Upload-Complete: ?1\r\nContent-Type: application/partial-upload\r\nContent-Length: 5\r\n\r\nhel")
                client = nil
                // The creation, and the broken request.
                try await server.waitUntil { $0.requests == 2 }
                #expect(uploads.all[0].offset == 3)
                #expect(try append(server, path, at: 3, "lo").hasPrefix("HTTP/1.1 200 OK\r\n"))
                #expect(uploads.all.map(\.sha256) == [Self.sha256OfHello])
            }
        }

        @Test(arguments: ["HEAD", "DELETE", "PATCH"]) func aLaterRequestEndsTheEarlier(method: String) async throws {
            try await withMockServer { server in
                let uploads = server.acceptUploads(progressBytes: 1)
                let path = try create(server)
                let client = try RawClient(port: server.port)
                client.send("PATCH \(path) HTTP/1.1\r\nHost: a\r\nUpload-Draft-Interop-Version: 8\r\nUpload-Offset: 0\r\n")
                client.send("Upload-Complete: ?1\r\nContent-Type: application/partial-upload\r\nContent-Length: 5\r\n\r\nhel")
                #expect(client.read(until: "\r\n\r\n").contains("\r\nUpload-Offset: 3\r\n"))
                switch method {
                case "HEAD": #expect(try offset(server, path) == "Upload-Offset: 3\r\nUpload-Complete: ?0\r\n")
                case "DELETE": #expect(try send(server, "DELETE \(path)").hasPrefix("HTTP/1.1 204 "))
                default: #expect(try append(server, path, at: 3, "lo").contains("HTTP/1.1 200 OK\r\n"))
                }
                client.send("lo")
                #expect(client.end() != .other)
                #expect(uploads.all[0].isActive == (method != "DELETE"))
                #expect(uploads.all[0].offset == (method == "PATCH" ? 5 : 3))
                if method == "DELETE" { #expect(try send(server, "HEAD \(path)").hasPrefix("HTTP/1.1 404 ")) }
            }
        }

        @Test func aWrongOffsetIsAConflict() async throws {
            try await withMockServer { server in
                server.acceptUploads()
                let path = try create(server)
                _ = try append(server, path, at: 0, "hel", completes: false)
                let response = try append(server, path, at: 4, "o")
                #expect(response.hasPrefix("HTTP/1.1 409 Conflict\r\nContent-Type: application/problem+json\r\nUpload-Offset: 3\r\n"))
                #expect(response.contains("\(problem)mismatching-upload-offset"))
                #expect(response.contains(#""expected-offset":3"#) && response.contains(#""provided-offset":4"#))
                #expect(try append(server, path, at: 3, "lo").hasPrefix("HTTP/1.1 200 OK\r\n"))
            }
        }

        @Test func aCompleteUploadTakesNoMoreContent() async throws {
            try await withMockServer { server in
                let uploads = server.acceptUploads()
                let path = try create(server)
                _ = try append(server, path, at: 0, "hello")
                let response = try append(server, path, at: 5, "more")
                #expect(response.hasPrefix("HTTP/1.1 400 ") && response.contains("\(problem)completed-upload"))
                #expect(uploads.all[0].offset == 5)
            }
        }

        @Test func lengthsThatContradictAreRefused() async throws {
            try await withMockServer { server in
                let uploads = server.acceptUploads()
                let created = try send(server, "POST /uploads", "Upload-Complete: ?1", "Upload-Length: 6", body: "hello")
                #expect(created.hasPrefix("HTTP/1.1 400 ") && created.contains("\(problem)inconsistent-upload-length"))
                #expect(uploads.all.isEmpty)
                let path = try create(server, "Upload-Length: 5")
                #expect(try append(server, path, at: 0, "hell").contains("\(problem)inconsistent-upload-length"))
                #expect(try append(server, path, at: 0, "hel", completes: false, "Upload-Length: 6").contains("\(problem)inconsistent-"))
                #expect(try offset(server, path) == "Upload-Offset: 0\r\nUpload-Complete: ?0\r\n")
                // Content beyond the length ends the upload.
                #expect(try append(server, path, at: 0, "hello again", completes: false).contains("\(problem)inconsistent-"))
                #expect(try send(server, "HEAD \(path)").hasPrefix("HTTP/1.1 404 "))
            }
        }

        @Test func limitsAreEnforced() async throws {
            try await withMockServer { server in
                var limits = MockUploads.Limits()
                (limits.maxSizeBytes, limits.minSizeBytes, limits.maxAppendBytes, limits.minAppendBytes) = (8, 2, 5, 3)
                let uploads = server.acceptUploads(limits: limits)
                let field = "Upload-Limit: max-size=8, min-size=2, max-append-size=5, min-append-size=3\r\n"
                let options = try send(server, "OPTIONS /uploads")
                #expect(options.hasPrefix("HTTP/1.1 204 ") && options.contains("Accept-Patch: application/partial-upload\r\n\(field)"))
                for (length, body, status) in [("9", "", 413), ("1", "", 400), ("8", "hello!", 413), ("8", "h", 400), ("8", "hel", 201)] {
                    let response = try send(server, "POST /uploads", "Upload-Complete: ?0", "Upload-Length: \(length)", body: body)
                    #expect(response.contains("HTTP/1.1 \(status) "), "\(length) \(body)")
                    #expect(response.contains(field) == (status != 400))
                }
                let path = try #require(uploads.all.last?.resourcePath)
                #expect(try append(server, path, at: 3, "lo", completes: false).hasPrefix("HTTP/1.1 400 "))
                #expect(try append(server, path, at: 3, "lo hel", completes: false).hasPrefix("HTTP/1.1 413 "))
                #expect(try append(server, path, at: 3, "lo hi").hasPrefix("HTTP/1.1 200 OK\r\n"))
            }
        }

        /// Such a request creates no upload resource, and reaches none.
        @Test(arguments: [nil, "6", "9", "8;x", "?1"]) func anotherVersionIsAConventionalUpload(version: String?) async throws {
            try await withMockServer { server in
                let uploads = server.acceptUploads()
                let response = try send(server, "POST /uploads", "Upload-Complete: ?0", body: "hello", version: version)
                let isEight = version == "8;x"
                #expect(response.hasPrefix(isEight ? "HTTP/1.1 104 " : "HTTP/1.1 200 OK\r\n"))
                #expect(uploads.all.map(\.isComplete) == [!isEight])
                #expect((uploads.all[0].resourcePath == nil) == !isEight)
                let path = try create(server)
                #expect(try send(server, "HEAD \(path)", version: version).hasPrefix(isEight ? "HTTP/1.1 204 " : "HTTP/1.1 404 "))
            }
        }

        @Test func invalidAppendsAreRefused() async throws {
            try await withMockServer { server in
                let uploads = server.acceptUploads()
                let path = try create(server)
                let type = "Content-Type: application/partial-upload"
                #expect(try send(server, "PATCH \(path)", "Upload-Offset: 0", "Upload-Complete: ?1", body: "a").hasPrefix("HTTP/1.1 415 "))
                #expect(try send(server, "PATCH \(path)", "Upload-Offset: 0", type, body: "a").hasPrefix("HTTP/1.1 400 "))
                #expect(try send(server, "PATCH \(path)", "Upload-Complete: ?1", type, body: "a").hasPrefix("HTTP/1.1 400 "))
                #expect(try append(server, path, at: -1, "a").hasPrefix("HTTP/1.1 400 "))
                #expect(try send(server, "PUT \(path)").hasPrefix("HTTP/1.1 405 "))
                #expect(uploads.all[0].offset == 0)
                uploads.forget()
                #expect(try append(server, path, at: 0, "a").hasPrefix("HTTP/1.1 404 "))
            }
        }

        @Test func the104CanBeLeftOut() async throws {
            try await withMockServer { server in
                server.acceptUploads(at: "/files", sendsInformational: false)
                let response = try send(server, "POST /files", "Upload-Complete: ?0")
                #expect(response.hasPrefix("HTTP/1.1 201 Created\r\n") && response.contains("Location: /files/"))
            }
        }

        @Test func aFailedTargetRespondsAfterACompleteUpload() async throws {
            try await withMockServer { server in
                server.acceptUploads { _ in .status(.unprocessableContent) }
                let path = try create(server)
                #expect(try append(server, path, at: 0, "hello").hasPrefix("HTTP/1.1 422 Unprocessable Content\r\nUpload-Complete: ?1\r\n"))
            }
        }

        @Test func aConventionalUploadThatBreaksOffIsLost() async throws {
            try await withMockServer { server in
                let uploads = server.acceptUploads()
                uploads.cut(afterBytes: 2)
                let response = try send(server, "POST /uploads", body: "hello", version: nil)
                #expect(response.isEmpty)
                #expect(uploads.all.map(\.isActive) == [false] && uploads.all.map(\.offset) == [2])
                #expect("\(uploads.all[0])" == "conventional upload: 2 of 5 bytes, ended")
            }
        }

        @Test func aCutResetsAStreamOfHTTP2() async throws {
            let files = try FileAuthority()
            try await withMockServer(.tls(try files.authority.certificate())) { server in
                let uploads = server.acceptUploads()
                uploads.cut(afterBytes: 100_000)
                let content = Data.seeded(300_000)
                try await withNIO {
                    $0.tls.extraRootsPEMFiles = [files.path]
                } _: { transport in
                    func send(
                        _ method: HTTPRequest.Method, _ path: String, _ body: Data = Data(), offset: Int? = nil
                    ) async throws -> Response {
                        var request = try Request(method, url: server.url(path), body: body.isEmpty ? .empty : .data(body))
                        request.headers[HTTPField.Name("Upload-Draft-Interop-Version")!] = "8"
                        if !body.isEmpty { request.headers[HTTPField.Name("Upload-Complete")!] = "?1" }
                        if let offset { request.headers[HTTPField.Name("Upload-Offset")!] = "\(offset)" }
                        if offset != nil { request.headers[.contentType] = "application/partial-upload" }
                        return try await transport.whole(request).response
                    }
                    await #expect(throws: TransportError.self) { () async throws in _ = try await send(.post, "/uploads", content) }
                    let path = try #require(uploads.all.first?.resourcePath)
                    let head = try await send(.head, path)
                    #expect(head.headers[HTTPField.Name("Upload-Offset")!] == "100000")
                    let rest = try await send(.patch, path, content.dropFirst(100_000), offset: 100_000)
                    #expect(rest.status == .ok)
                }
                let isSame = uploads.all.map(\.content) == [content]
                #expect(isSame && server.acceptedConnectionCount == 1)
            }
        }

        @Test(.enabled(if: haveCurl, "curl is not on this machine")) func curlUploadsAndContinues() async throws {
            try await withMockServer { server in
                let uploads = server.acceptUploads()
                let folder = try TestFolder("mock-uploads")
                let content = Data.seeded(600_000)
                try folder.write(content, to: "whole")
                uploads.cut(afterBytes: 400_000)
                let version = "Upload-Draft-Interop-Version: 8"
                await #expect(throws: ProgramFailure.self) {
                    try await curl("-H", version, "-H", "Upload-Complete: ?1", "-T", folder.file("whole"), server.url("/uploads"))
                }
                let path = try #require(uploads.all.first?.resourcePath)
                let head = try await curl("-I", "-H", version, server.url(path))
                #expect(head.contains("Upload-Offset: 400000\r\n") && head.contains("Upload-Length: 600000\r\n"))
                try folder.write(content.dropFirst(400_000), to: "rest")
                let done = try await curl(
                    "-i", "-X", "PATCH", "-H", version, "-H", "Upload-Complete: ?1", "-H", "Upload-Offset: 400000", "-H",
                    "Content-Type: application/partial-upload", "--data-binary", "@\(folder.file("rest"))", server.url(path))
                #expect(done.contains("HTTP/1.1 200 OK\r\n") && done.contains("Upload-Complete: ?1\r\n"))
                #expect(uploads.all.map(\.content) == [content])
            }
        }
    }
}
#endif
