import ErrandCore
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ErrandTransfers

#if Crypto
import ErrandHashing
#endif

/// A download is cancelled at each suspension. Then no bytes are lost, and the next run ends.
@Suite(.timeLimit(.minutes(5))) struct DownloadTortureTests {
    private static let content = Data.seeded(9_000)

    private let folder: TestFolder

    init() throws { folder = try TestFolder("torture") }

    private func server(_ change: (inout ContentServer.Behavior) -> Void) -> ContentServer {
        let server = ContentServer(Self.content)
        server.behavior.withLock { behavior in
            behavior.chunkBytes = 1_000
            behavior.beforeChunk = { await Task.yield() }
            change(&behavior)
        }
        return server
    }

    private func download(_ server: ContentServer) throws -> Download {
        let request = try get("/file")
        return Download(
            Download.Settings(
                url: URL(fileURLWithPath: folder.file("file")), sender: server.transport, policy: TransferPolicy(backoff: .immediate),
                options: .standard, makeRequest: { _ in request }))
    }

    private func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: folder.file(name)) }

    /// Cancels a download at each suspension, and checks each time that the next run needs no byte twice.
    private func torture(pausesAt pause: Int? = nil, _ change: @escaping @Sendable (inout ContentServer.Behavior) -> Void) async throws {
        let current = Mutex<Download?>(nil)
        _ = try await CancellationTorture(leastCancelled: 10).run {
            let server = self.server(change)
            let download = try self.download(server)
            current.withLock { $0 = download }
            guard let pause else { return try await download.file().bytes }
            let count = Counter()
            server.behavior.withLock { behavior in
                behavior.beforeChunk = {
                    if count.add() == pause { download.pause() }
                    await Task.yield()
                }
            }
            async let resumptions: Void = {
                for await state in download.states {
                    if case .paused = state.phase { download.resume() }
                }
            }()
            let bytes = try await download.file().bytes
            await resumptions
            return bytes
        } accepts: { bytes in
            bytes == Self.content.count
        } check: { run in
            let download = try #require(current.withLock { $0.take() })
            #expect(download.state.phase.isFinal, "\(run)")
            if exists("file") {
                // The file is whole, also if the call was cancelled after the rename.
                #expect(try folder.read("file") == Self.content, "\(run)")
                #expect(!exists("file.errand-part"), "\(run)")
                try FileManager.default.removeItem(atPath: folder.file("file"))
                return try await download.discard()
            }
            let record = try await DownloadFiles.readJournal(of: folder.file("file"), replaces: false)
            let bytes = Int(record?.bytes ?? 0)
            if bytes > 0 { #expect(try folder.read("file.errand-part").prefix(bytes) == Self.content.prefix(bytes), "\(run)") }
            // All bytes that have arrived are on the disk.
            #expect(download.state.progress.bytes == Int64(bytes), "\(run)")
            #expect(download.resumption?.bytes == (bytes > 0 ? Int64(bytes) : nil), "\(run)")
            // The next run continues after the last byte that the journal names.
            let next = self.server { _ in }
            _ = try await self.download(next).file()
            #expect(try folder.read("file") == Self.content, "\(run)")
            #expect(next.ranges == [bytes > 0 ? "bytes=\(min(bytes, Self.content.count - 1))-" : nil], "\(run)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["file"], "\(run)")
            try FileManager.default.removeItem(atPath: folder.file("file"))
        }
    }

    @Test func aDownloadFromTheFirstByteToTheLast() async throws { try await torture { _ in } }

    @Test func aDownloadThatResumesAfterCuts() async throws { try await torture { $0.cuts = [3_000, 0, 2_500] } }

    @Test func aDownloadThatStartsAgain() async throws { try await torture { ($0.cuts, $0.honorsRanges) = ([3_000], false) } }

    @Test func aDownloadThatIsRefusedAndWaits() async throws {
        try await torture { behavior in
            let count = Counter()
            behavior.change = { _, head, body in
                guard count.add() < 3 else { return }
                (head.status, body) = (.serviceUnavailable, Data("busy".utf8))
            }
        }
    }

    @Test func aDownloadThatIsPaused() async throws { try await torture(pausesAt: 4) { _ in } }

    @Test func aDownloadWithADigest() async throws {
        #if Crypto
        let digest = "sha-256=:\(Data(OctetHash.of(Self.content, by: .sha256)).base64EncodedString()):"
        try await torture { $0.fields[HTTPField.Name("Repr-Digest")!] = digest }
        #endif
    }
}
