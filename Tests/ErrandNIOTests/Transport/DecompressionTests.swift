#if NIO && MockServer
import ErrandCompression
import ErrandCore
import ErrandNIO
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
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
            _ body: Data, coding: String = "gzip", _ read: (HTTPStack, String) async throws -> Result
        ) async throws -> Result {
            let server = try RawServer.answering { connection, request, _ in
                try connection.respond(fields: ["Content-Encoding: \(coding)"], body: body, bodyIsSent: request.method != "HEAD")
            }
            defer { server.stop() }
            return try await withNIO { try await read($0.decompress(), server.url()) }
        }

        @Test func aDownloadIsWrittenDecodedAndItsTotalIsNotKnownBeforeItsEnd() async throws {
            let folder = try TestFolder("gzip-download")
            try await serving(try await gzipped("seq 1 20000")) { transport, url in
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
    }
}
#endif
