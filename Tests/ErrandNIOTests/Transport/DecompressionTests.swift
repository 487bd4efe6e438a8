#if SWIFT_NIO && MockServer
import ErrandCompression
import ErrandCore
import ErrandNIO
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// Bodies in gzip, made by the system's own program.
    @Suite(.timeLimit(.minutes(5)), .enabled(if: Programs.find("gzip") != nil, "there is no gzip on this machine"))
    struct DecompressionTests {
        /// What `script` writes, as gzip.
        private func gzipped(_ script: String) async throws -> Data {
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString).gz")
            defer { try? FileManager.default.removeItem(at: file) }
            try await Programs.run("/bin/sh", ["-c", "(\(script)) | gzip -9 > '\(file.path)'"])
            return try Data(contentsOf: file)
        }

        @Test func aDownloadIsWrittenDecodedAndItsTotalIsNotKnownBeforeItsEnd() async throws {
            let folder = try TestFolder("gzip-download")
            let body = try await gzipped("seq 1 20000")
            let mayGoOn = Watched(false)
            let server = try RawServer.responding { connection, _, _ in
                try connection.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(body.count)\r\n\r\n")
                try connection.write(body.prefix(1_000))
                try mayGoOn.waitBlocking { $0 }
                try connection.write(body.dropFirst(1_000))
            }
            defer { server.stop() }
            try await withNIO { transport in
                let reports = Watched<[TransferProgress]>([])
                let target = URL(fileURLWithPath: folder.file("numbers"))
                let file = try await transport.decompress().download(Request(.get, url: server.url()), to: target) { progress in
                    mayGoOn.change { $0 = true }
                    reports.change { $0.append(progress) }
                }
                #expect(file.bytes == 108_894 && file.metadata.contentCoding == "gzip")
                #expect(reports.value.first == TransferProgress(bytes: 0, total: nil))
                #expect(reports.value.last == TransferProgress(bytes: 108_894, total: 108_894))
                #expect(try folder.read("numbers").suffix(12) == Data("19999\n20000\n".utf8))
            }
        }
    }

    /// Bodies that nginx encodes while it sends them.
    @Suite(.timeLimit(.minutes(5)), .enabled(if: NginxServer.isHere, Comment(rawValue: NginxServer.missing)))
    struct NginxDecompressionTests {
        private func check(_ coding: String) async throws {
            let server = try await NginxServer.shared()
            try await withNIO { transport in
                let stack = transport.decompress()
                let response = try await stack.send(Request(.get, url: server.url("/\(coding)/numbers")))
                #expect(response.metadata.contentCoding == coding && response.metadata.encodedFields[.contentEncoding] == coding)
                #expect(response.headers[.contentEncoding] == nil)
                #expect(try await response.body.collect() == NginxServer.numbers)
                let plain = try await stack.send(
                    Request(.get, url: server.url("/\(coding)/numbers"), headers: [.acceptEncoding: "identity"]))
                #expect(plain.metadata.contentCoding == nil && plain.headers[.contentLength] == "\(NginxServer.numbers.count)")
                #expect(try await plain.body.collect() == NginxServer.numbers)
            }
        }

        @Test func gzipFromNginxIsDecoded() async throws { try await check("gzip") }

        #if Brotli
        @Test(.enabled(if: NginxServer.hasBrotli, Comment(rawValue: NginxServer.hasNoBrotli)))
        func brotliFromNginxIsDecoded() async throws { try await check("br") }
        #endif
    }
}
#endif
