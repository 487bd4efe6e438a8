#if SWIFT_NIO
internal import Errand
internal import ErrandTesting
internal import ErrandTransfers
internal import Foundation
internal import TestSupport
internal import Testing

/// Downloads over real sockets, from servers that others wrote.
///
/// By default, the tests cut and kill seldom, and files are small. `ERRAND_TRANSFER_MIB` is the size of the file in MiB,
/// `ERRAND_TRANSFER_CUTS` the number of cuts, and `ERRAND_TRANSFER_KILLS` the number of killed processes.
@Suite(.serialized, .timeLimit(.minutes(10)), .enabled(if: NginxServer.isHere, "\(NginxServer.missing)"))
struct DownloadServerTests {
    static func setting(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap { Int($0) } }

    private static let bytes = (setting("ERRAND_TRANSFER_MIB") ?? 16) << 20
    private static let cuts = setting("ERRAND_TRANSFER_CUTS") ?? 20
    private static let kills = setting("ERRAND_TRANSFER_KILLS") ?? 5
    private static let policy = TransferPolicy(backoff: .constant(.milliseconds(5)))

    private let folder: TestFolder
    private var target: URL { URL(fileURLWithPath: folder.file("file")) }

    init() throws { folder = try TestFolder("download-servers") }

    /// The path of a file on nginx, which is written at the first use.
    private static let file = Task {
        let nginx = try await NginxServer.shared()
        try nginx.publish(.seeded(bytes), as: "transfer")
        return nginx
    }

    @Test func aFileSurvivesManyCuts() async throws {
        let nginx = try await Self.file.value
        let content = Data.seeded(Self.bytes)
        let (random, port) = (SeededRandom(seed: 43), nginx.port(.plain))
        // Some connections are cut in the head, most in the body.
        let average = Self.bytes / Self.cuts
        let limits = (0..<Self.cuts).map { $0 % 10 == 3 ? 100 : 400 + Int(random.next() * Double(average) * 1.6) }
        let relay = try RawServer { connection in
            try connection.relay(to: port, limit: connection.number <= limits.count ? limits[connection.number - 1] : .max)
        }
        defer { relay.stop() }
        let counter = Counter()
        let file = try await withNIO { transport in
            let request = try Request(.get, url: relay.url("/transfer"))
            let download = Download(request, to: target, over: CountingSender(transport, counter), policy: Self.policy)
            return try await download.file()
        }
        #expect(file.bytes == Int64(Self.bytes))
        #expect(try folder.read("file") == content)
        #expect(relay.counts.value.accepted >= Self.cuts / 2)
        #expect(counter.value <= Self.bytes + Self.bytes / 10, "\(counter.value) bytes were received for \(Self.bytes)")
    }

    @Test(arguments: ["/gzip/transfer", "/br/transfer"]) func anEncodingServerIsResumed(_ path: String) async throws {
        let nginx = try await Self.file.value
        let (content, port) = (Data.seeded(Self.bytes), nginx.port(.plain))
        let relay = try RawServer { connection in
            try connection.relay(to: port, limit: connection.number == 1 ? Self.bytes / 2 : .max)
        }
        defer { relay.stop() }
        let counter = Counter()
        try await withNIO { transport in
            let request = try Request(.get, url: relay.url(path))
            _ = try await Download(
                request, to: target, over: CountingSender(transport.decompress(), counter), policy: Self.policy
            ).file()
        }
        #expect(try folder.read("file") == content)
        #expect(counter.value <= Self.bytes + Self.bytes / 10)
    }

    @Test func aFileThatChangesHalfWayStartsAgain() async throws {
        let nginx = try await NginxServer.shared()
        let (old, new, port) = (Data.seeded(3 << 20, seed: 1), Data.seeded(3 << 20, seed: 2), nginx.port(.plain))
        try nginx.publish(old, as: "changing")
        let relay = try RawServer { connection in
            try connection.relay(to: port, limit: connection.number == 1 ? 2 << 20 : .max)
            // The modification time of the new file differs by whole seconds, as nginx counts.
            if connection.number == 1 { try nginx.publish(new, as: "changing", modified: Date(timeIntervalSinceNow: -500)) }
        }
        defer { relay.stop() }
        try await withNIO { transport in
            let request = try Request(.get, url: relay.url("/changing"))
            let policy = TransferPolicy(backoff: .constant(.seconds(1)))
            _ = try await Download(request, to: target, over: transport, policy: policy).file()
        }
        #expect(try folder.read("file") == new)
    }

    @Test(.enabled(if: Programs.find("python3") != nil, "there is no python3 on this machine"))
    func aServerWithoutRangesStartsAgain() async throws {
        let www = try TestFolder("download-python")
        let content = Data.seeded(2 << 20)
        try www.write(content, to: "transfer")
        let port = try #require(try LoopbackPorts.free(1).first)
        let python = try #require(Programs.find("python3"))
        let child = try ChildServer(
            folder: www.path, command: [python, "-m", "http.server", "--bind", "127.0.0.1", "--directory", www.path, "\(port)"])
        defer { child.stop() }
        let relay = try RawServer { connection in
            try connection.relay(to: port, limit: connection.number == 2 ? 1 << 20 : .max)
        }
        defer { relay.stop() }
        try await withNIO { transport in
            let probe = try Request(.get, url: "http://127.0.0.1:\(port)/")
            // Python's server says on its standard output that it listens, but the output is buffered.
            try await poll("the start of Python's server", upTo: .seconds(30)) {
                guard let response = try? await transport.send(probe) else { return false }
                response.body.abandon()
                return true
            } until: {
                $0
            }
            let request = try Request(.get, url: relay.url("/transfer"))
            let download = Download(request, to: target, over: transport, policy: Self.policy)
            _ = try await download.file()
        }
        #expect(try folder.read("file") == content)
    }

    @Test(.enabled(if: OwnProgram.isKnown, "the path of this program is known on Linux alone"))
    func killedProcessesLoseOnlyTheBytesAfterTheJournal() async throws {
        let nginx = try await Self.file.value
        let (content, random) = (Data.seeded(Self.bytes), SeededRandom(seed: 7))
        let port = nginx.port(.plain)
        // 16 MiB take about 4 s, so that the processes are killed in the middle.
        let relay = try RawServer { connection in try connection.relay(to: port) }
        defer { relay.stop() }
        for _ in 1...Self.kills {
            let process = try OwnProgram.start(
                test: "DownloadProcess/downloads", environment: ["ERRAND_DOWNLOAD_PROCESS": "\(nginx.url("/slow/transfer")) \(target.path)"]
            )
            defer { OwnProgram.kill(process) }
            let part = target.path + ".errand-part"
            let before = length(of: part)
            try await poll("bytes of the process", upTo: .seconds(60)) {
                length(of: part) > before || !process.isRunning
            } until: {
                $0
            }
            try await Task.sleep(for: .milliseconds(Int(random.next() * 1_500)))
            OwnProgram.kill(process)
            process.waitUntilExit()
            let journal = try #require(try await DownloadJournal.bytes(besides: target.path))
            #expect(journal <= length(of: part))
        }
        let known = try #require(try await DownloadJournal.bytes(besides: target.path))
        let counter = Counter()
        try await withNIO { transport in
            let request = try Request(.get, url: nginx.url("/transfer"))
            _ = try await Download(request, to: target, over: CountingSender(transport, counter), policy: Self.policy).file()
        }
        #expect(try folder.read("file") == content)
        #expect(counter.value == Self.bytes - Int(known))
    }

    private func length(of path: String) -> Int64 {
        ((try? FileManager.default.attributesOfItem(atPath: path)[.size]) as? NSNumber)?.int64Value ?? 0
    }
}

/// The number of bytes that a journal names.
private enum DownloadJournal {
    private struct Content: Decodable { let record: DownloadResumption }

    static func bytes(besides path: String) async throws -> Int64? {
        guard let data = FileManager.default.contents(atPath: path + ".errand-part.json") else { return nil }
        return try JSONDecoder().decode(Content.self, from: data).record.bytes
    }
}

/// The process that downloads until it is killed. In any other process, the test does nothing.
@Suite(.timeLimit(.minutes(5))) struct DownloadProcess {
    @Test func downloads() async throws {
        guard let words = ProcessInfo.processInfo.environment["ERRAND_DOWNLOAD_PROCESS"]?.split(separator: " ").map(String.init) else {
            return
        }
        try await withNIO { transport in
            _ = try await Download(try Request(.get, url: words[0]), to: URL(fileURLWithPath: words[1]), over: transport).file()
        }
    }
}

/// Counts the bytes of bodies that arrive.
private struct CountingSender<Inner: HTTPSender>: HTTPSender {
    private let inner: Inner
    private let counter: Counter

    init(_ inner: Inner, _ counter: Counter) { (self.inner, self.counter) = (inner, counter) }

    func send(_ request: Request) async throws -> Response {
        var response = try await inner.send(request)
        let counter = counter
        response.body = response.body.observed { event in
            if case .chunk(let chunk) = event { counter.add(chunk.count) }
        }
        return response
    }
}
#endif
