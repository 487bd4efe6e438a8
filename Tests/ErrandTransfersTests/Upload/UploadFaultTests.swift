import ErrandCore
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ErrandTransfers

/// Each file call of an upload's journal fails. After each fault: a clear error or a whole upload, and a next run that ends.
@Suite(.timeLimit(.minutes(5))) struct UploadFaultTests {
    private static let content = Data.seeded(400_000)
    private static let protocols: [UploadProtocol] = [.tus, .resumable()]

    private let folder: TestFolder
    private var file: URL { URL(fileURLWithPath: folder.file("content")) }

    init() throws {
        folder = try TestFolder("upload-faults")
        try folder.write(Self.content, to: "content")
    }

    private func upload(_ server: UploadServer, _ calls: FileCalls = .system, resuming: UploadResumption? = nil) throws -> Upload {
        let request = try Request(.post, url: "https://a.example/files")
        var settings = Upload.Settings(
            sender: server, uploadProtocol: server.uploadProtocol, policy: TransferPolicy(backoff: .immediate), resuming: resuming,
            file: file, makeRequest: { _ in request })
        settings.calls = calls
        return Upload(settings)
    }

    /// Returns a server whose first connection with content breaks off.
    private func server(_ uploadProtocol: UploadProtocol) -> UploadServer {
        let server = UploadServer(uploadProtocol)
        server.behavior.withLock { $0.cuts = [150_000] }
        return server
    }

    private func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }

    @Test(arguments: protocols, [true, false]) func eachCallOfTheJournalMayFail(_ uploadProtocol: UploadProtocol, isLasting: Bool)
        async throws
    {
        let count = FileFaults()
        _ = try await upload(server(uploadProtocol), count.calls).response()
        #expect(Set(count.names.all).isSuperset(of: ["writeAt", "synchronize", "rename"]))
        for (number, name) in count.names.all.enumerated() {
            let (server, faults) = (server(uploadProtocol), FileFaults(isLasting ? .all(number) : .one(number)))
            let first = try upload(server, faults.calls)
            do {
                _ = try await first.response()
            } catch let error as FileWriteError {
                #expect(!"\(error)".isEmpty)
            } catch let error as TransferError {
                #expect(error.code == .journalUnreadable)
            }
            #expect(faults.failed == name)
            if server.contents.isEmpty {
                // The app has kept the value. In one process, the same object may continue.
                let next = isLasting ? try upload(server, resuming: first.resumption) : first
                _ = try await next.response()
            }
            #expect(server.contents == [Self.content], "\(number) \(name)")
            #expect(server.methods.filter { $0 == "POST" }.count == 1, "\(number) \(name): \(server.methods)")
            #expect(try names() == ["content"], "\(number) \(name)")
        }
    }
}
