#if SWIFT_NIO
internal import Errand
internal import ErrandHashing
internal import ErrandTesting
internal import ErrandTransfers
internal import Foundation
internal import TestSupport
internal import Testing

/// Uploads by tus over real sockets, to servers that others wrote.
///
/// `ERRAND_TRANSFER_MIB` is the size of the content in MiB, `ERRAND_TRANSFER_CUTS` the number of cuts, and `ERRAND_TRANSFER_KILLS` the
/// number of killed processes. The numbers are small by default.
@Suite(.serialized, .timeLimit(.minutes(10))) struct TusUploadTests {
    /// A server, and the parts in which it gets the content.
    private struct Peer {
        let server: RealServer
        /// The largest content of one request; `nil` if the server keeps the bytes of a broken request.
        let partBytes: Int64?

        static let tuspyserver = Peer(server: .tuspyserver, partBytes: nil)
        /// This server keeps no byte of a broken request.
        static let aiohttpTus = Peer(server: .aiohttpTus, partBytes: 512 << 10)
    }

    private static let bytes = (DownloadServerTests.setting("ERRAND_TRANSFER_MIB") ?? 8) << 20
    private static let cuts = DownloadServerTests.setting("ERRAND_TRANSFER_CUTS") ?? 5
    private static let kills = DownloadServerTests.setting("ERRAND_TRANSFER_KILLS") ?? 2
    /// Longer than the time in which tuspyserver notices the end of a connection.
    private static let policy = TransferPolicy(backoff: .constant(.milliseconds(100)), jitter: .none)
    private static let content = Data.seeded(bytes, seed: 12)
    private static let sha256 = OctetHash.of(content, by: .sha256).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()

    private let folder: TestFolder
    private let name = "upload-\(UUID().uuidString)"
    private var file: URL { URL(fileURLWithPath: folder.file(name)) }

    init() throws {
        folder = try TestFolder("upload-servers")
        try folder.write(Self.content, to: name)
    }

    // MARK: Cuts

    @Test(.enabled(if: RealServer.tuspyserver.isHere, Comment(rawValue: RealServer.tuspyserver.missing)))
    func tuspyserverGetsAFileInSpiteOfManyCuts() async throws { try await surviveCuts(.tuspyserver) }

    @Test(.enabled(if: RealServer.aiohttpTus.isHere, Comment(rawValue: RealServer.aiohttpTus.missing)))
    func aiohttpTusGetsAFileInSpiteOfManyCuts() async throws { try await surviveCuts(.aiohttpTus) }

    private func surviveCuts(_ peer: Peer) async throws {
        let (random, port) = (SeededRandom(seed: 44), try peer.server.port())
        // Some connections are cut in the head, most in the content. All cuts come before the last byte.
        let average = Double(Self.bytes / Self.cuts)
        let limits = (0..<Self.cuts).map { $0 % 10 == 3 ? 100 : 1_000 + Int((0.1 + 0.8 * random.next()) * average) }
        let relay = try RawServer { connection in
            try connection.relay(to: port, uploadLimit: connection.number <= limits.count ? limits[connection.number - 1] : .max)
        }
        defer { relay.stop() }
        let finished = try await withNIO { transport in
            let upload = try upload(to: relay, peer, over: transport)
            _ = try await upload.response()
            return upload
        }
        #expect(finished.url != nil && finished.resumption == nil)
        try expectFinished(at: peer)
        #expect(relay.counts.value.accepted > Self.cuts)
        // The server forgets at most one part for each cut.
        let allowed = Self.bytes + Self.bytes / 10 + Self.cuts * Int(peer.partBytes ?? 0)
        #expect(relay.counts.value.bytesRead <= allowed, "\(relay.counts.value.bytesRead) bytes were sent for \(Self.bytes)")
    }

    // MARK: Kills

    @Test(
        .enabled(if: RealServer.tuspyserver.isHere, Comment(rawValue: RealServer.tuspyserver.missing)),
        .enabled(if: OwnProgram.isKnown, "the path of this program is known on Linux alone"))
    func killedProcessesContinueAtTuspyserver() async throws { try await surviveKills(.tuspyserver) }

    @Test(
        .enabled(if: RealServer.aiohttpTus.isHere, Comment(rawValue: RealServer.aiohttpTus.missing)),
        .enabled(if: OwnProgram.isKnown, "the path of this program is known on Linux alone"))
    func killedProcessesContinueAtAiohttpTus() async throws { try await surviveKills(.aiohttpTus) }

    private func surviveKills(_ peer: Peer) async throws {
        let (random, port) = (SeededRandom(seed: 8), try peer.server.port())
        let average = Double(Self.bytes / Self.kills)
        let limits = (0..<Self.kills).map { _ in 1_000 + Int((0.4 + 0.4 * random.next()) * average) }
        let stalled = Counter()
        let relay = try RawServer { connection in
            let isLast = connection.number > limits.count
            try connection.relay(to: port, uploadLimit: isLast ? .max : limits[connection.number - 1])
            guard !isLast else { return }
            // The process waits for the network when it is killed.
            stalled.add(1)
            connection.waitForEnd()
        }
        defer { relay.stop() }
        for number in 1...Self.kills {
            let process = try OwnProgram.start(
                test: "UploadProcess/uploads",
                environment: ["ERRAND_UPLOAD_PROCESS": "\(relay.url("/files")) \(file.path) \(peer.partBytes ?? 0)"])
            defer { OwnProgram.kill(process) }
            try await poll("bytes of the process", upTo: .seconds(60)) {
                stalled.value >= number || !process.isRunning
            } until: {
                $0
            }
            OwnProgram.kill(process)
            process.waitUntilExit()
            #expect(stalled.value == number && process.terminationReason == .uncaughtSignal)
        }
        // The server needs a moment to notice the end of the last connection.
        try await Task.sleep(for: .milliseconds(100))
        try await withNIO { transport in _ = try await upload(to: relay, peer, over: transport).response() }
        try expectFinished(at: peer)
        // On a loaded machine, the server can lose all bytes of a killed connection that it has not written yet.
        let allowed = Self.bytes + Self.bytes / 10 + limits.reduce(0, +)
        #expect(relay.counts.value.bytesRead <= allowed, "\(relay.counts.value.bytesRead) bytes were sent for \(Self.bytes)")
        #expect(try contents(folder) == [name])
    }

    // MARK: A refusal

    @Test(.enabled(if: RealServer.tuspyserver.isHere, Comment(rawValue: RealServer.tuspyserver.missing)))
    func unauthorizedKeepsTheRecord() async throws {
        let port = try RealServer.tuspyserver.port()
        let relay = try RawServer { connection in
            if connection.number == 2 {
                try connection.readHead()
                try connection.respond("401 Unauthorized", fields: ["Connection: close"])
            } else {
                try connection.relay(to: port, uploadLimit: connection.number == 1 ? Self.bytes / 2 : .max)
            }
        }
        defer { relay.stop() }
        // The journal is beside the file, and both move to another folder.
        let other = try TestFolder("upload-servers-moved")
        try await withNIO { transport in
            let error = await #expect(throws: StatusError.self) { try await upload(to: relay, .tuspyserver, over: transport).response() }
            #expect(error?.status == .unauthorized)
            for name in try contents(folder) {
                try FileManager.default.moveItem(atPath: folder.file(name), toPath: other.file(name))
            }
            let moved = URL(fileURLWithPath: other.file(name))
            _ = try await upload(moved, to: relay, .tuspyserver, over: transport).response()
        }
        try expectFinished(at: .tuspyserver)
        #expect(try contents(other) == [name])
        #expect(relay.counts.value.bytesRead <= Self.bytes + Self.bytes / 10)
    }

    @Test(.enabled(if: RealServer.aiohttpTus.isHere, Comment(rawValue: RealServer.aiohttpTus.missing)))
    func aServerThatForgetsAWholeUploadLeavesTheOutcomeUnknown() async throws {
        try await withNIO { transport in
            let sender = LosingSender(transport)
            let upload = try UploadProcess.upload(
                file, to: RealServer.aiohttpTus.url("/files"), partBytes: nil, over: sender, Self.policy)
            let error = await #expect(throws: TransferError.self) { try await upload.response() }
            #expect(error?.code == .outcomeUnknown && upload.resumption == nil)
            #expect(sender.patches.value == 1)
        }
        // The server has the content once.
        try expectFinished(at: .aiohttpTus)
    }

    // MARK: Parts of the tests

    private func upload(_ file: URL? = nil, to relay: RawServer, _ peer: Peer, over transport: NIOTransport) throws -> Upload {
        try UploadProcess.upload(file ?? self.file, to: relay.url("/files"), partBytes: peer.partBytes, over: transport, Self.policy)
    }

    private func contents(_ folder: TestFolder) throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path) }

    private func expectFinished(at peer: Peer) throws {
        let finished = try peer.server.finishedUploads().filter { $0.name == name }
        #expect(finished == [RealServer.FinishedUpload(name: name, bytes: Self.bytes, sha256: Self.sha256)])
    }
}

/// Loses the response to each PATCH.
private struct LosingSender<Inner: HTTPSender>: HTTPSender {
    private let inner: Inner
    let patches = Counter()

    init(_ inner: Inner) { self.inner = inner }

    func send(_ request: Request) async throws -> Response {
        let response = try await inner.send(request)
        guard request.method == .patch else { return response }
        patches.add(1)
        response.discard()
        throw TransportError(.connectionLost, phase: .response, request: request, delivery: .sent)
    }
}

/// The process that uploads until it is killed. In any other process, the test does nothing.
@Suite(.timeLimit(.minutes(5))) struct UploadProcess {
    @Test func uploads() async throws {
        guard let words = ProcessInfo.processInfo.environment["ERRAND_UPLOAD_PROCESS"]?.split(separator: " ").map(String.init) else {
            return
        }
        let partBytes = Int64(words[2]).flatMap { $0 > 0 ? $0 : nil }
        try await withNIO { transport in
            // The server needs a moment to notice the end of the earlier process.
            try await Task.sleep(for: .milliseconds(100))
            _ = try await Self.upload(URL(fileURLWithPath: words[1]), to: words[0], partBytes: partBytes, over: transport).response()
        }
    }

    /// Returns an upload with the metadata that both servers want.
    static func upload(
        _ file: URL, to url: String, partBytes: Int64?, over sender: some HTTPSender, _ policy: TransferPolicy = .standard
    ) throws -> Upload {
        let options = UploadOptions(partBytes: partBytes, metadata: ["filename": file.lastPathComponent, "filetype": "text/plain"])
        return Upload(try Request(.post, url: url), from: file, over: sender, by: .tus, policy: policy, options: options)
    }
}
#endif
