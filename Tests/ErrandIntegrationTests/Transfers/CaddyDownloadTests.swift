#if SWIFT_NIO
internal import Errand
internal import ErrandTransfers
internal import Foundation
internal import TestSupport
internal import Testing

/// Downloads from Caddy, a server whose encoded responses have the strong entity tag of the unencoded file.
@Suite(.timeLimit(.minutes(5)), .enabled(if: RealServer.caddy.isHere, Comment(rawValue: RealServer.caddy.missing)))
struct CaddyDownloadTests {
    private static let bytes = 4 << 20
    private static let policy = TransferPolicy(backoff: .constant(.milliseconds(5)))

    @Test(arguments: ["/", "/gzip/"]) func aFileSurvivesCuts(path: String) async throws {
        let folder = try TestFolder("download-caddy")
        let target = URL(fileURLWithPath: folder.file("file"))
        let (content, name) = (Data.seeded(Self.bytes, seed: path == "/" ? 5 : 6), "transfer-\(UUID().uuidString)")
        let file = URL(fileURLWithPath: try RealServer.caddy.folder()).appendingPathComponent(name)
        try content.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let port = try RealServer.caddy.port()
        // One connection is cut in the head, two in the body.
        let limits = [Self.bytes / 3, 100, Self.bytes / 3]
        let relay = try RawServer { connection in
            try connection.relay(to: port, limit: connection.number <= limits.count ? limits[connection.number - 1] : .max)
        }
        defer { relay.stop() }
        try await withNIO { transport in
            let request = try Request(.get, url: relay.url(path + name))
            _ = try await Download(request, to: target, over: transport.decompress(), policy: Self.policy).file()
        }
        let received = try folder.read("file")
        #expect(received == content)
        #expect(relay.counts.value.accepted == 4)
    }
}
#endif
