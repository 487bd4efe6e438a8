#if AsyncHTTPClient
internal import Errand
internal import Foundation
internal import TestSupport
internal import Testing

extension AsyncHTTPClientTransportTests {
    /// Bodies in gzip, made by the system's own program.
    @Suite(.enabled(if: Programs.find("gzip") != nil, "there is no gzip on this machine"))
    struct DecompressionTests {
        /// What `script` writes, as gzip.
        private func gzipped(_ script: String) async throws -> Data {
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString).gz")
            defer { try? FileManager.default.removeItem(at: file) }
            try await Programs.run("/bin/sh", ["-c", "(\(script)) | gzip -9 > '\(file.path)'"])
            return try Data(contentsOf: file)
        }

        /// Serves `body` as gzip, whatever is asked for.
        private func serving<Result: Sendable>(
            _ body: Data, coding: String = "gzip", _ read: (AsyncHTTPClientTransport, String, Watched<RawRequest?>) async throws -> Result
        ) async throws -> Result {
            let seen = Watched<RawRequest?>(nil)
            let server = try RawServer.answering { connection, request, _ in
                seen.change { $0 = request }
                try connection.respond(fields: ["Content-Encoding: \(coding)"], body: body, bodyIsSent: request.method != "HEAD")
            }
            defer { server.stop() }
            let transport = AsyncHTTPClientTransport.decompressing()
            return try await withTransport(transport) { try await read($0, server.url(), seen) }
        }

        @Test func aDownloadIsWrittenDecodedAndItsTotalIsNotKnownBeforeItsEnd() async throws {
            let folder = try TestFolder("gzip-download")
            try await serving(try await gzipped("seq 1 20000")) { transport, url, _ in
                let reports = Watched<[TransferProgress]>([])
                let target = URL(fileURLWithPath: folder.file("numbers"))
                let file = try await transport.download(Request(.get, url: url), to: target) { progress in
                    reports.change { $0.append(progress) }
                }
                #expect(file.bytes == 108_894 && file.metadata.contentCoding == "gzip")
                #expect(reports.value.first == TransferProgress(bytes: 0, total: nil))
                #expect(reports.value.last == TransferProgress(bytes: 108_894, total: 108_894))
                #expect(try folder.read("numbers").suffix(12) == Data("19999\n20000\n".utf8))
            }
        }

        @Test func aBodyIsDecodedAndItsFieldsTellOfWhatItIsNow() async throws {
            try await serving(try await gzipped("echo hello")) { transport, url, seen in
                let response = try await transport.send(Request(.get, url: url))
                #expect(try await response.body.collect() == Data("hello\n".utf8))
                #expect(response.headers[.contentEncoding] == nil && response.headers[.contentLength] == nil)
                #expect(response.metadata.contentCoding == "gzip")
                #expect(seen.value?.values("accept-encoding") == ["gzip, deflate"])
            }
        }

        @Test func whoAsksForACodingOrARangeGetsTheBytesAsTheyAre() async throws {
            let body = try await gzipped("echo hello")
            for field in [HTTPField(name: .acceptEncoding, value: "gzip"), HTTPField(name: .range, value: "bytes=0-")] {
                try await serving(body) { transport, url, seen in
                    let response = try await transport.send(Request(.get, url: url, headers: HTTPFields([field])))
                    let isRaw = try await response.body.collect() == body
                    #expect(isRaw)
                    #expect(response.headers[.contentEncoding] == "gzip")
                    #expect(seen.value?.values("accept-encoding") == (field.name == .range ? [] : ["gzip"]))
                }
            }
        }

        /// 64 MiB of zeros come in 64 KiB.
        @Test func aBombFailsBeforeItHasGoneOff() async throws {
            let bomb = try await gzipped("head -c 67108864 /dev/zero")
            #expect(bomb.count < 100_000)
            try await serving(bomb) { transport, url, _ in
                var received = 0
                let failure = try await transportError {
                    for try await chunk in try await transport.send(Request(.get, url: url)).body { received += chunk.count }
                }
                #expect(failure.code == .bodyTooLarge)
                #expect(failure.delivery == .sent)
                #expect(received <= bomb.count * 200)
            }
        }

        /// RFC 9110, 8.4.1: names are case-insensitive, and `x-gzip` is `gzip`.
        @Test(arguments: ["GZIP", "Gzip", "x-gzip", "X-GZIP"])
        func codingsAreKnownByAnySpelling(coding: String) async throws {
            try await serving(try await gzipped("echo hello"), coding: coding) { transport, url, _ in
                let response = try await transport.send(Request(.get, url: url))
                #expect(try await response.body.collect() == Data("hello\n".utf8))
                #expect(response.headers[.contentEncoding] == nil && response.headers[.contentLength] == nil)
                #expect(response.metadata.contentCoding == "gzip")
                #expect(response.body.expectedLength == nil)
            }
        }

        /// Which one was applied last is not what the decompressor looks at.
        @Test(arguments: ["gzip, br", "br, gzip", "br", "identity", "gzip, gzip"])
        func whatIsNotDecodedStaysAsItIs(coding: String) async throws {
            let body = try await gzipped("echo hello")
            try await serving(body, coding: coding) { transport, url, _ in
                let response = try await transport.send(Request(.get, url: url))
                #expect(try await response.body.collect() == body)
                #expect(response.headers[.contentEncoding] == coding)
                #expect(response.headers[.contentLength] == "\(body.count)")
                #expect(response.metadata.contentCoding == nil)
            }
        }

        @Test func aResponseWithoutABodyHasNothingToDecode() async throws {
            try await serving(Data(count: 20)) { transport, url, _ in
                let response = try await transport.send(Request(.head, url: url))
                #expect(try await response.body.collect().isEmpty)
                #expect(response.headers[.contentEncoding] == "gzip")
                #expect(response.headers[.contentLength] == "20")
            }
            try await serving(Data()) { transport, url, _ in
                let body = try await transport.send(Request(.get, url: url)).body.collect()
                #expect(body.isEmpty)
            }
        }

        /// A retry would get the same again: the connection was not lost.
        @Test(arguments: [-3, -12, 1, 40])
        func aBodyThatIsCutOffOrGoesOnIsAnInvalidResponse(change: Int) async throws {
            var body = try await gzipped("echo hello")
            if change < 0 { body.removeLast(-change) } else { body.append(body.prefix(change)) }
            let changed = body
            try await serving(changed) { transport, url, _ in
                let failure = try await transportError { _ = try await transport.send(Request(.get, url: url)).body.collect() }
                #expect(failure.code == .invalidResponse, "\(failure)")
            }
        }

        @Test func whatIsNoGzipFails() async throws {
            try await serving(Data("plain".utf8)) { transport, url, _ in
                let failure = try await transportError { _ = try await transport.send(Request(.get, url: url)).body.collect() }
                #expect(failure.code == .invalidResponse)
            }
        }
    }
}
#endif
