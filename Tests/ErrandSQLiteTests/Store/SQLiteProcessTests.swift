#if SQLite
import ErrandCache
import ErrandFormats
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ErrandCore
@testable import ErrandSQLite

/// Real processes share a store on the disk, are killed at system calls, and fill their disk.
///
/// The processes are this very program, which runs ``CacheProcess`` alone. `ERRAND_CACHE_KILLS` is the number of kills (20 without it), and
/// `ERRAND_CACHE_SECONDS` the duration of the load in seconds (4 without it).
@Suite(.serialized, .timeLimit(.minutes(30)), .enabled(if: OwnProgram.isKnown, "the path of this program is known on Linux alone"))
struct SQLiteProcessTests {
    private static func number(_ name: String, _ standard: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? standard
    }

    private static func succeeds(_ words: [String]) -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = words
        (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }

    private static func start(_ words: String..., by launcher: [String] = []) throws -> Process {
        try OwnProgram.start(
            test: "CacheProcess/works", environment: ["ERRAND_CACHE_PROCESS": words.joined(separator: " ")], by: launcher)
    }

    // MARK: Kills

    /// The system calls that change files, and the largest number of the call at which a thread is killed.
    private static let calls = [
        ("pwrite64", 700), ("fcntl", 200), ("unlink", 3), ("pwrite64", 80), ("flock", 5), ("ftruncate", 3), ("fdatasync", 8),
        ("pread64", 60), ("close", 6), ("mkdir", 3),
    ]

    @Test func aKilledProcessLeavesWholeEntries() async throws {
        let kills = Self.number("ERRAND_CACHE_KILLS", 20)
        let folder = try TestFolder("cache-kills")
        let path = folder.file("store")
        let canTrace = Self.succeeds(["strace", "-o", "/dev/null", "true"])
        let random = SeededRandom(seed: 42)
        var (killed, attempts) = (0, 0)
        var byCall: [String: Int] = [:]
        while killed < kills, attempts < kills * 4 {
            attempts += 1
            // Some openings create the database, and most find a database with a log that was not closed.
            if attempts % 7 == 0 { try? FileManager.default.removeItem(atPath: path) }
            let (call, largest) = Self.calls[attempts % Self.calls.count]
            let number = 1 + Int(random.next() * Double(largest))
            // With --seccomp-bpf, strace 6.1 would not kill the process.
            let launcher = [
                "strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=\(call)", "-e", "inject=\(call):signal=KILL:when=\(number)",
            ]
            let process = try Self.start(
                "kill", path, "\(attempts)", canTrace ? "0" : "\(number)", by: canTrace ? launcher : [])
            process.waitUntilExit()
            if process.terminationReason == .uncaughtSignal || process.terminationStatus == 128 + 9 {
                killed += 1
                byCall[call, default: 0] += 1
            }
            try await Self.check(path, "after \(call) \(number)")
        }
        #expect(killed >= kills, "\(killed) kills in \(attempts) processes")
        let means = canTrace ? "at system calls" : "at calls of FileCalls, because ptrace is refused here"
        print("killed \(killed) of \(attempts) processes, \(means): \(byCall)")
    }

    /// Opens the store as the next process does, and checks all entries.
    private static func check(_ path: String, _ when: String) async throws {
        let events = RecordingList<SQLiteCacheStore.Event>()
        let store = SQLiteCacheStore(inFolder: path, onEvent: events.record)
        let listing = try await store.entries(limit: 10_000)
        var (bytes, large) = (Int64(0), 0)
        for listed in listing {
            let name = try await Samples.check(listed.entry, in: store)
            #expect(name != nil, "\(when): \(listed.url) has no body")
            bytes += listed.entry.head.extent.storedBytes
            if listed.entry.head.extent.storedBytes > 65_536 { large += 1 }
        }
        #expect(events.all.isEmpty, "\(when): \(events.all)")
        let usage = try await store.usage
        #expect(usage.entries == listing.count && usage.bytes <= usage.limitBytes, "\(when): \(usage)")
        let files = StoreFiles(path: path).bodies
        #expect(files.count == large, "\(when): \(files.count) files for \(large) entries")
        let writes = try await store.writer.run { try $0.writes }
        #expect(writes.isEmpty, "\(when): room for files that do not exist")
        // The store works.
        _ = try await Samples.add("after", bytes: 70_000, to: store, Samples.key("/after"))
    }

    // MARK: Several processes

    @Test func twoProcessesReadAndWriteTogether() async throws {
        let seconds = Self.number("ERRAND_CACHE_SECONDS", 4)
        let folder = try TestFolder("cache-load")
        let path = folder.file("store")
        let processes = try (0..<2).map { try Self.start("load", path, "\($0)", "\(seconds)", folder.file("report-\($0)")) }
        for process in processes { process.waitUntilExit() }
        for number in 0..<2 {
            let report = String(decoding: try folder.read("report-\(number)"), as: UTF8.self)
            print("load, process \(number): \(report)")
            #expect(report.hasPrefix("ok "), "process \(number): \(report)")
        }
        try await Self.check(path, "after the load")
    }

    @Test func anotherProcessSeesAnEntryAndASignOut() async throws {
        let folder = try TestFolder("cache-sight")
        let path = folder.file("store")
        let store = SQLiteCacheStore(inFolder: path)
        let key = Samples.key("/seen", account: "carol")
        _ = try await store.lookUp(key)
        let process = try Self.start("watch", path, folder.file("report"))
        defer { OwnProgram.kill(process) }
        func report() -> String { (try? folder.read("report")).map { String(decoding: $0, as: UTF8.self) } ?? "" }
        try await poll("the other process", upTo: .seconds(60), value: { report() }, until: { $0.contains("empty") })
        let published = ContinuousClock.now
        _ = try await Samples.add("seen", bytes: 100_000, to: store, key)
        try await poll("the entry in the other process", upTo: .seconds(60), value: { report() }, until: { $0.contains("seen") })
        print("another process has seen an entry within \(published.duration(to: .now))")
        try await store.forget(CredentialIdentity(scheme: "sample", account: "carol"))
        try folder.write("out", to: "signed-out")
        process.waitUntilExit()
        #expect(report().hasSuffix("gone"), "\(report())")
    }

    @Test func theRemovalOfAGroupAppliesToAnotherProcess() async throws {
        let folder = try TestFolder("cache-group")
        let path = folder.file("store")
        let store = SQLiteCacheStore(inFolder: path)
        let process = try Self.start("group", path, folder.file("report"))
        defer { OwnProgram.kill(process) }
        func report() -> String { (try? folder.read("report")).map { String(decoding: $0, as: UTF8.self) } ?? "" }
        try await poll("the entries of the other process", upTo: .seconds(60), value: { report() }, until: { $0 == "ready" })
        #expect(try await store.usage.entries == 2)
        try await store.removeAll(groups: ["x", "news"], of: Samples.url("/").origin)
        try folder.write("removed", to: "removed")
        process.waitUntilExit()
        #expect(report() == "gone, kept, given up, refused, stored again")
        #expect(try await store.usage.entries == 2)
    }

    @Test func twoAccountsInTwoProcessesGetOnlyTheirResponses() async throws {
        let folder = try TestFolder("cache-accounts")
        let path = folder.file("store")
        let processes = try (0..<2).map { try Self.start("accounts", path, "\($0)", "5000", folder.file("report-\($0)")) }
        for process in processes { process.waitUntilExit() }
        for number in 0..<2 {
            let report = String(decoding: try folder.read("report-\(number)"), as: UTF8.self)
            print("accounts, process \(number): \(report)")
            #expect(report.hasPrefix("ok 5000 "), "process \(number): \(report)")
        }
    }

    // MARK: A full disk

    @Test(.enabled(if: succeeds(["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"]), "no disk can be mounted here"))
    func callsSucceedOnAFullDisk() async throws {
        let folder = try TestFolder("cache-full")
        let disk = try folder.folder("disk")
        let script = "mount -t tmpfs -o size=2m,mode=755 none \"$0\" && exec \"$@\""
        let process = try Self.start(
            "full", disk, folder.file("report"), by: ["unshare", "-rm", "/bin/sh", "-c", script, disk])
        process.waitUntilExit()
        let report = String(decoding: try folder.read("report"), as: UTF8.self)
        print("full disk: \(report)")
        #expect(report.hasPrefix("ok "), "\(report)")
    }
}

/// What the other processes do. Elsewhere it does nothing.
@Suite struct CacheProcess {
    @Test func works() async throws {
        guard let words = ProcessInfo.processInfo.environment["ERRAND_CACHE_PROCESS"]?.split(separator: " ").map(String.init) else {
            return
        }
        switch words[0] {
        case "kill": try await writeUntilKilled(words[1], seed: UInt64(words[2]) ?? 0, killAt: Int(words[3]) ?? 0)
        case "load": try await load(words[1], seed: UInt64(words[2]) ?? 0, seconds: Int(words[3]) ?? 1, report: words[4])
        case "watch": try await watch(words[1], report: words[2])
        case "group": try await keepGroups(words[1], report: words[2])
        case "accounts": try await call(words[1], seed: UInt64(words[2]) ?? 0, count: Int(words[3]) ?? 0, report: words[4])
        case "full": try await fill(words[1], report: words[2])
        default: break
        }
    }

    private func write(_ report: String, to path: String) throws {
        try Data(report.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
    }

    /// Changes the store in all ways. The process is killed from outside; or here, at a call of `FileCalls`, if `killAt` is not 0.
    private func writeUntilKilled(_ path: String, seed: UInt64, killAt: Int) async throws {
        let count = Mutex(0)
        var calls = FileCalls()
        if killAt > 0 {
            calls.writeAt = { descriptor, bytes, offset in
                let isLast = count.withLock { count in
                    count += 1
                    return count == killAt
                }
                if isLast { kill(getpid(), SIGKILL) }
                return FileCalls.system.writeAt(descriptor, bytes, offset)
            }
        }
        let store = SQLiteCacheStore(inFolder: path, bytes: 3_000_000, entries: 30, entryBytes: 1_000_000, calls: calls)
        var random = SeededGenerator(seed: seed)
        for step in 0..<60 {
            try await change(store, step, &random)
        }
    }

    private func change(_ store: SQLiteCacheStore, _ step: Int, _ random: inout SeededGenerator) async throws {
        let path = "/\(Int.random(in: 0..<20, using: &random))"
        let account = Bool.random(using: &random) ? "carol" : nil
        let key = Samples.key(path, account: account)
        let name = "\(path)-\(account ?? "")-\(UInt64.random(in: 0 ... .max, using: &random))"
        switch Int.random(in: 0..<20, using: &random) {
        case 0: try await store.forget(CredentialIdentity(scheme: "sample", account: "carol"))
        case 1: try await store.removeAll(urls: [key.url])
        case 2 where step % 10 == 0: try await store.removeAll()
        case 3:
            let entries = try await store.lookUp(key).entries
            // The head names its body, so it keeps its name.
            try await store.updateHeads(entries)
        case 4:
            let generation = try await store.lookUp(key).generation
            let head = Samples.head(name, bytes: 200_000)
            do {
                let writer = try await store.makeWriter(for: key, head: head, expectedBytes: nil, since: generation)
                try? await writer.write(Samples.body(name, bytes: 150_000))
                writer.discard()
            } catch CacheStatus.Refusal.removed {
                // Another process has removed the URL.
            }
        default:
            let bytes = [0, 500, 20_000, 65_536, 65_537, 300_000].randomElement(using: &random) ?? 0
            _ = try? await Samples.add(name, bytes: bytes, to: store, key, language: ["de", "en"].randomElement(using: &random))
        }
    }

    private func load(_ path: String, seed: UInt64, seconds: Int, report: String) async throws {
        let events = RecordingList<SQLiteCacheStore.Event>()
        let store = SQLiteCacheStore(
            inFolder: path, bytes: 3_000_000, entries: 40, entryBytes: 1_000_000, onEvent: events.record)
        let end = ContinuousClock.now + .seconds(seconds)
        do {
            let counts = try await withThrowingTaskGroup(of: (Int, Int).self) { group in
                for task in 0..<4 {
                    group.addTask {
                        var random = SeededGenerator(seed: seed * 100 + UInt64(task))
                        var (steps, reads) = (0, 0)
                        while ContinuousClock.now < end {
                            steps += 1
                            if steps % 3 == 0 { try await change(store, 1, &random) }
                            let account = Bool.random(using: &random) ? "carol" : nil
                            let key = Samples.key("/\(Int.random(in: 0..<20, using: &random))", account: account)
                            for entry in try await store.lookUp(key).entries {
                                guard let name = try await Samples.check(entry, in: store) else { continue }
                                reads += 1
                                guard name.contains("-\(account ?? "")-") else { throw Samples.Torn(name: name) }
                            }
                            let usage = try await store.usage
                            guard usage.bytes <= 3_000_000, usage.entries <= 40 else { throw Samples.Torn(name: "\(usage)") }
                        }
                        return (steps, reads)
                    }
                }
                return try await group.reduce(into: (0, 0)) { ($0.0, $0.1) = ($0.0 + $1.0, $0.1 + $1.1) }
            }
            let events = events.all
            try write(
                events.allSatisfy { $0.kind != .replaced }
                    ? "ok \(counts.0) steps, \(counts.1) bodies, \(events.count) events" : "\(events)",
                to: report)
        } catch {
            try write("failed: \(error)", to: report)
        }
    }

    private func watch(_ path: String, report: String) async throws {
        let store = SQLiteCacheStore(inFolder: path)
        let key = Samples.key("/seen", account: "carol")
        guard try await store.lookUp(key).entries.isEmpty else { return try write("not new", to: report) }
        try write("empty", to: report)
        let name = try await poll("the entry", upTo: .seconds(300)) { () -> String? in
            guard let entry = try await store.lookUp(key).entries.first else { return nil }
            return try await Samples.check(entry, in: store)
        } until: {
            $0 != nil
        }
        try write(name ?? "", to: report)
        let signal = URL(fileURLWithPath: report).deletingLastPathComponent().path + "/signed-out"
        try await poll("the signal", upTo: .seconds(300), value: { FileManager.default.fileExists(atPath: signal) }) { $0 }
        // The first look-up after the sign-out.
        try write(try await store.lookUp(key).entries.isEmpty ? "seen, gone" : "seen, still there", to: report)
    }

    /// Stores entries of two groups, and begins two more entries. Reports the entries that are left after another process has removed a
    /// group.
    private func keepGroups(_ path: String, report: String) async throws {
        let store = SQLiteCacheStore(inFolder: path)
        let (news, sports) = (Samples.head("news", bytes: 10, group: "news"), Samples.head("sports", bytes: 10, group: "sports"))
        func begin(_ path: String, _ head: CacheEntry.Head, since generation: CacheGeneration) async throws -> any CacheWriter {
            let writer = try await store.makeWriter(for: Samples.key(path), head: head, expectedBytes: 10, since: generation)
            try await writer.write(Samples.body(path, bytes: 10))
            return writer
        }
        let generation = try await store.lookUp(Samples.key("/news")).generation
        _ = try await begin("/news", news, since: generation).publish(news, replacing: [])
        _ = try await begin("/sports", sports, since: generation).publish(sports, replacing: [])
        let open = try await begin("/late", news, since: generation)
        try write("ready", to: report)
        let signal = URL(fileURLWithPath: report).deletingLastPathComponent().path + "/removed"
        try await poll("the signal", upTo: .seconds(300), value: { FileManager.default.fileExists(atPath: signal) }) { $0 }
        var found: [String] = []
        found.append(try await store.lookUp(Samples.key("/news")).entries.isEmpty ? "gone" : "still there")
        found.append(try await store.lookUp(Samples.key("/sports")).entries.count == 1 ? "kept" : "lost")
        found.append((try? await open.publish(news, replacing: [])) == nil ? "given up" : "published")
        found.append((try? await begin("/late", news, since: generation)) == nil ? "refused" : "begun")
        let now = try await store.lookUp(Samples.key("/news")).generation
        let again = try? await begin("/news", news, since: now).publish(news, replacing: [])
        found.append(again == nil ? "not stored" : "stored again")
        try write(found.joined(separator: ", "), to: report)
    }

    /// A server that responds with the account of the request.
    private struct Server: HTTPSender {
        let exchanges = Counter()

        func send(_ request: Request) async throws -> Response {
            exchanges.add()
            let account = request.headers[.authorization] ?? "nobody"
            let path = request.target?.path ?? ""
            let body = Samples.body("\(account) of \(path)", bytes: path.hasSuffix("9") ? 100_000 : 2_000)
            return Response(
                head: HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=600", .contentLength: "\(body.count)"]), data: body,
                request: request)
        }
    }

    private func call(_ path: String, seed: UInt64, count: Int, report: String) async throws {
        do {
            let store = SQLiteCacheStore(inFolder: path)
            let server = Server()
            let stack = server.cache(in: store)
            var random = SeededGenerator(seed: seed)
            var hits = 0
            for number in 0..<count {
                let account = ["alice", "bob"].randomElement(using: &random) ?? ""
                let identity = CredentialIdentity(scheme: "sample", account: account)
                if number % 250 == 249 { try await store.forget(identity) }
                var request = try Request(
                    .get, url: "https://a.example/\(Int.random(in: 0..<30, using: &random))", headers: [.authorization: account])
                request.options.credentialIdentity = identity
                let response = try await stack.send(request)
                let body = try await response.body.collect()
                guard body.starts(with: Data("\(account) of ".utf8)) else { throw Samples.Torn(name: "the response of another account") }
                if response.metadata.cacheStatus?.isHit == true { hits += 1 }
            }
            try write("ok \(count) calls, \(hits) hits, \(server.exchanges.value) exchanges", to: report)
        } catch {
            try write("failed: \(error)", to: report)
        }
    }

    /// Sends calls until the disk is full, and some more.
    private func fill(_ disk: String, report: String) async throws {
        do {
            let store = SQLiteCacheStore(inFolder: disk + "/store")
            var failures = 0
            for number in 0..<40 {
                do { try await Samples.add("n", bytes: 60_000, to: store, Samples.key("/small/\(number)")) } catch { failures += 1 }
                do { try await Samples.add("n", bytes: 100_000, to: store, Samples.key("/large/\(number)")) } catch { failures += 1 }
            }
            let stored = try? await store.usage.entries
            guard failures > 0 else { throw Samples.Torn(name: "the disk was not full") }
            let stack = Server().cache(in: store)
            for number in 0..<60 {
                let request = try Request(.get, url: "https://a.example/\(number)9")
                let body = try await stack.send(request).body.collect()
                guard body == Samples.body("nobody of /\(number)9", bytes: 100_000) else { throw Samples.Torn(name: "\(number)") }
            }
            // A sign-out must succeed on a full disk.
            try await store.forget(CredentialIdentity(scheme: "sample", account: "carol"))
            try await store.removeAll()
            let after = try await store.usage.entries
            try await Samples.add("n", bytes: 100_000, to: store, Samples.key("/after"))
            try write("ok \(failures) failures, \(stored ?? -1) entries, 60 calls, then \(after) entries", to: report)
        } catch {
            try write("failed: \(error)", to: report)
        }
    }
}
#endif
