#if Auth
internal import Errand
internal import ErrandTesting
internal import Foundation
internal import TestSupport
internal import Testing

/// Real processes share the file of a cookie store, and are killed while they write the file: 20 of them, or as many as
/// `ERRAND_COOKIE_KILLS` says.
///
/// The processes are this very program, which runs ``CookieProcess`` alone.
@Suite(.timeLimit(.minutes(30))) struct CookieProcessTests {
    private static let kills = ProcessInfo.processInfo.environment["ERRAND_COOKIE_KILLS"].flatMap { Int($0) } ?? 20
    private static let processCount = 2

    @Test(.enabled(if: OwnProgram.isKnown, "the path of this program is known on Linux alone"))
    func aKilledProcessLosesNoCookie() async throws {
        let folder = try TestFolder("cookie-processes")
        let store = FileCookieStore(atPath: folder.file("cookies.json"))
        let here = (0..<200).map { CookieProcess.cookie("here", $0) }
        _ = try await store.apply(changed: here, removed: [])
        var children: [String: Process] = [:]
        defer { for child in children.values { OwnProgram.kill(child) } }
        let random = SeededRandom(seed: 41)
        var started = 0
        for kill in 1...Self.kills {
            while children.count < Self.processCount {
                started += 1
                let environment = ["ERRAND_COOKIE_PROCESS": "p\(started) \(folder.path)"]
                children["p\(started)"] = try OwnProgram.start(test: "CookieProcess/writesUntilItIsKilled", environment: environment)
            }
            let victim = children.keys.sorted()[Int(random.next() * Double(children.count)) % children.count]
            let count = CookieProcess.steps(of: victim, in: folder.path) + 1 + Int(random.next() * 10)
            await eventually { CookieProcess.steps(of: victim, in: folder.path) >= count || children[victim]?.isRunning != true }
            // The process is now somewhere between two steps.
            for _ in 0..<Int(random.next() * 2_000) { await Task.yield() }
            let process = try #require(children[victim])
            children[victim] = nil
            #expect(process.isRunning, "\(victim) has ended")
            OwnProgram.kill(process)
            process.waitUntilExit()
            // Seldom, because the other processes leave little time for one more writer.
            if kill % 5 == 0 {
                let changed = CookieProcess.cookie("kill", kill)
                #expect(try await store.apply(changed: [changed], removed: [here[kill % here.count].key]).contains(changed))
            }
            try await check(store, in: folder, started: started, kills: kill)
        }
        for child in children.values {
            OwnProgram.kill(child)
            child.waitUntilExit()
        }
        children = [:]
        try await check(store, in: folder, started: started, kills: Self.kills)
        let names = Set(try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { !$0.hasPrefix("steps-") })
        #expect(names.subtracting(["cookies.json.part"]) == ["cookies.json", "cookies.json.lock"], "\(names)")
        for name in names {
            #expect(try FileManager.default.attributesOfItem(atPath: folder.file(name))[.posixPermissions] as? Int == 0o600)
        }
    }

    private func check(_ store: FileCookieStore, in folder: TestFolder, started: Int, kills: Int) async throws {
        // The steps that were completed before the file is read.
        let steps = Dictionary(uniqueKeysWithValues: (1...started).map { ("p\($0)", CookieProcess.steps(of: "p\($0)", in: folder.path)) })
        let names = Set(try await store.load().map(\.name))
        for (name, count) in steps {
            let done = Array(0...count).dropFirst()
            // The next step may be in the file, although the process has not counted the step.
            let expected = Set(done.filter { !CookieProcess.isRemoved($0, by: count + 1) }.map { "\(name)-\($0)" })
            #expect(expected.isSubset(of: names), "\(name) has lost \(expected.subtracting(names).sorted().prefix(5))")
            let gone = done.filter { CookieProcess.isRemoved($0, by: count) }.map { "\(name)-\($0)" }
            #expect(names.isDisjoint(with: gone), "\(name): removed cookies are back")
        }
        let own = stride(from: 5, through: kills, by: 5)
        for kill in own { #expect(names.contains("kill-\(kill)") && !names.contains("here-\(kill % 200)")) }
        #expect(names.filter { $0.hasPrefix("here-") }.count == 200 - Set(own.map { $0 % 200 }).count)
    }
}

/// What the other processes do. Elsewhere it does nothing.
@Suite struct CookieProcess {
    static func cookie(_ name: String, _ number: Int) -> Cookie {
        Cookie(
            name: "\(name)-\(number)", value: String(repeating: "v", count: 100), domain: "a.example",
            expires: HTTPDate(secondsSinceEpoch: 4_000_000_000), created: HTTPDate(secondsSinceEpoch: 1))
    }

    /// The number of cookies that a process keeps. Each step stores a cookie, and removes an older cookie.
    static let keptCount = 10

    /// Whether the cookie of a step was removed by another step, up to a number of steps.
    static func isRemoved(_ step: Int, by count: Int) -> Bool { step + keptCount <= count }

    /// The number of steps that a process has completed.
    static func steps(of name: String, in folder: String) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: "\(folder)/steps-\(name)")[.size] as? Int) ?? 0
    }

    @Test func writesUntilItIsKilled() async throws {
        guard let words = ProcessInfo.processInfo.environment["ERRAND_COOKIE_PROCESS"]?.split(separator: " ").map(String.init) else {
            return
        }
        let (name, folder) = (words[0], words[1])
        let store = FileCookieStore(atPath: folder + "/cookies.json")
        // One octet for each completed step.
        let path = "\(folder)/steps-\(name)"
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        let steps = try #require(FileHandle(forWritingAtPath: path))
        for step in 1... {
            let removed = step > Self.keptCount ? [Self.cookie(name, step - Self.keptCount).key] : []
            _ = try await store.apply(changed: [Self.cookie(name, step)], removed: removed)
            try steps.write(contentsOf: Data([1]))
            // The test has ended, and its folder is gone.
            guard FileManager.default.fileExists(atPath: path) else { return }
        }
    }
}
#endif
