#if SWIFT_NIO && Auth && MockServer
internal import Errand
internal import ErrandTesting
internal import Foundation
internal import TestSupport
internal import Testing

/// Real processes share the file of a list of hosts, and are killed while they write the file: 20 of them, or as many as
/// `ERRAND_HSTS_KILLS` says.
///
/// The processes are this very program, which runs ``HSTSProcess`` alone.
@Suite(.timeLimit(.minutes(30))) struct HSTSProcessTests {
    private static let kills = ProcessInfo.processInfo.environment["ERRAND_HSTS_KILLS"].flatMap { Int($0) } ?? 20

    @Test(.enabled(if: OwnProgram.isKnown, "the path of this program is known on Linux alone"))
    func aKilledProcessLosesNoWrittenHost() async throws {
        let folder = try TestFolder("hsts-processes")
        let random = SeededRandom(seed: 41)
        func written(_ name: String) -> [Substring] {
            ((try? String(contentsOfFile: folder.file(name), encoding: .utf8)) ?? "").split(separator: "\n")
        }
        for round in 1...(Self.kills + 1) / 2 {
            let names = ["p\(round)a", "p\(round)b"]
            let children = try names.map { name in
                try OwnProgram.start(
                    test: "HSTSProcess/notesUntilKilled", environment: ["ERRAND_HSTS_PROCESS": "\(name) \(folder.path)"])
            }
            defer { for child in children { OwnProgram.kill(child) } }
            for (name, child) in zip(names, children) {
                let count = 1 + Int(random.next() * 5)
                try await poll("\(name) to write \(count) hosts", upTo: .seconds(120)) {
                    written(name).count >= count || !child.isRunning
                } until: {
                    $0
                }
                OwnProgram.kill(child)
                child.waitUntilExit()
            }
            // The file can be read, and has each host that a process knew to be written.
            let stored = Set(try await FileHSTSStore(atPath: folder.file("hsts.txt")).load().map(\.name))
            let expected = Set(names.flatMap { written($0) }.map(String.init))
            #expect(!expected.isEmpty && expected.isSubset(of: stored), "round \(round): \(expected.subtracting(stored))")
            guard !Task.isCancelled else { return }
        }
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.file("hsts.txt"))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }
}

/// What the other processes do. Elsewhere it does nothing.
@Suite struct HSTSProcess {
    @Test func notesUntilKilled() async throws {
        guard let words = ProcessInfo.processInfo.environment["ERRAND_HSTS_PROCESS"]?.split(separator: " ").map(String.init) else {
            return
        }
        let (name, folder) = (words[0], words[1])
        let hosts = HSTSList(store: FileHSTSStore(atPath: folder + "/hsts.txt"))
        let response = StubResponse.status(.ok, headers: [.strictTransportSecurity: "max-age=86400"])
        let stack = StubTransport(Stub().responds(response, repeatingLast: true)).hsts(hosts)
        #expect(FileManager.default.createFile(atPath: folder + "/" + name, contents: nil))
        let report = try #require(FileHandle(forWritingAtPath: folder + "/" + name))
        for number in 0..<40 {
            let host = "\(name)-\(number).example"
            _ = try await stack.send(Request(.get, url: "https://\(host)/"))
            try await hosts.save()
            try report.write(contentsOf: Data((host + "\n").utf8))
        }
    }
}
#endif
