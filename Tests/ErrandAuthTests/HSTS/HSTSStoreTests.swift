#if Auth
import Errand
import ErrandStoreConformance
import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import ErrandAuth

/// The hosts between two runs: which hosts are written, when they are written, and how several processes share the file.
@Suite(.timeLimit(.minutes(5))) struct HSTSStoreTests {
    private let date = ManualDate(1_800_000_000)

    private func hosts(_ store: any HSTSStore) -> HSTSList { HSTSList(store: store) { [date] in date.date } }

    private func file(_ folder: TestFolder) -> FileHSTSStore {
        FileHSTSStore(atPath: folder.file("hsts.txt")) { [date] in date.date }
    }

    private func host(_ name: String, expires: Int64 = 60, noted: Int64 = 0) throws -> HSTSHost {
        try HSTSHost(name, includesSubdomains: false, expires: date.after(expires), noted: date.after(noted))
    }

    // MARK: Calls of the store

    @Test func aNewNoteIsWrittenInTheBackground() async throws {
        let store = RecordingHSTSStore()
        let hosts = hosts(store)
        try hosts.note("max-age=60", from: "https://a.example/")
        try await store.state.wait("the write") { $0.hosts.count == 1 }
        #expect(store.state.value.hosts == [try host("a.example")])
    }

    @Test func notesDuringAWriteAreWrittenTogether() async throws {
        let gate = Watched(false)
        let store = RecordingHSTSStore { try await gate.wait { $0 } }
        let hosts = hosts(store)
        try hosts.note("max-age=60", from: "https://a.example/")
        try await store.state.wait("the first write") { $0.notes.count == 1 }
        for name in ["b", "c", "d"] { try hosts.note("max-age=60", from: "https://\(name).example/") }
        try hosts.note("max-age=120", from: "https://a.example/")
        gate.change { $0 = true }
        try await hosts.save()
        #expect(store.state.value.notes.map { $0.map(\.name) } == [["a.example"], ["a.example", "b.example", "c.example", "d.example"]])
        #expect(store.state.value.hosts.first == (try host("a.example", expires: 120)))
    }

    @Test func aRepeatedPolicyIsWrittenAfterATenthOfItsLifetime() async throws {
        let store = RecordingHSTSStore()
        let hosts = hosts(store)
        func noteAndSave(_ value: String) async throws -> Int {
            try hosts.note(value, from: "https://a.example/")
            try await hosts.save()
            return store.state.value.notes.count
        }
        #expect(try await noteAndSave("max-age=1000") == 1)
        date.move(bySeconds: 99)
        #expect(try await noteAndSave("max-age=1000") == 1)
        date.move(bySeconds: 1)
        #expect(try await noteAndSave("max-age=1000") == 2)
        // Another policy, and a day.
        #expect(try await noteAndSave("max-age=1000; includeSubDomains") == 3)
        #expect(try await noteAndSave("max-age=31536000; includeSubDomains") == 4)
        date.move(bySeconds: 86_399)
        #expect(try await noteAndSave("max-age=31536000; includeSubDomains") == 4)
        date.move(bySeconds: 1)
        #expect(try await noteAndSave("max-age=31536000; includeSubDomains") == 5)
        #expect(try await noteAndSave("max-age=0") == 6)
        #expect(try await noteAndSave("max-age=0") == 6)
    }

    @Test func theStoreIsReadOnce() async throws {
        let store = RecordingHSTSStore([try host("a.example")])
        let hosts = hosts(store)
        #expect(!hosts.demandsHTTPS("http://a.example") && hosts.mustLoad)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<10 { group.addTask { try await hosts.load() } }
            try await group.waitForAll()
        }
        try await hosts.load()
        #expect(store.state.value.loads == 1 && hosts.demandsHTTPS("http://a.example") && !hosts.mustLoad)
    }

    @Test func aWriteIsAlsoALoad() async throws {
        let store = RecordingHSTSStore([try host("a.example", noted: -10)])
        let hosts = hosts(store)
        try hosts.note("max-age=60", from: "https://b.example/")
        try await hosts.save()
        #expect(hosts.names == ["a.example", "b.example"] && !hosts.mustLoad && store.state.value.loads == 0)
    }

    @Test func anUnreadableStoreIsReadAgainAfterAMinute() async throws {
        let store = RecordingHSTSStore([try host("a.example", expires: 1000)], failure: TestError("locked"))
        let hosts = hosts(store)
        await #expect(throws: TestError.self) { try await hosts.load() }
        #expect(hosts.takeFailure() is TestError && hosts.takeFailure() == nil)
        #expect(!hosts.mustLoad)
        store.state.change { $0.failure = nil }
        date.move(bySeconds: 59)
        #expect(!hosts.mustLoad)
        date.move(bySeconds: 1)
        #expect(hosts.mustLoad)
        try await hosts.load()
        #expect(hosts.names == ["a.example"])
    }

    @Test func aFailedWriteKeepsTheNotes() async throws {
        let store = RecordingHSTSStore(failure: TestError("full"))
        let hosts = hosts(store)
        try hosts.note("max-age=60", from: "https://a.example/")
        await #expect(throws: TestError.self) { try await hosts.save() }
        #expect(hosts.takeFailure() is TestError && hosts.demandsHTTPS("http://a.example"))
        store.state.change { $0.failure = nil }
        try hosts.note("max-age=60", from: "https://b.example/")
        try await store.state.wait("the next write") { $0.hosts.map(\.name) == ["a.example", "b.example"] }
    }

    @Test func aHostThatTheStoreStillHasIsRemoved() async throws {
        let store = RecordingHSTSStore([try host("a.example", noted: -10)])
        let hosts = hosts(store)
        // The list was not read yet.
        try hosts.note("max-age=0", from: "https://a.example/")
        try await hosts.save()
        #expect(store.state.value.hosts.map(\.isRemoved) == [true] && hosts.names == [])
    }

    @Test func allHostsAreRemovedHereAndInTheStore() async throws {
        let store = RecordingHSTSStore([try host("a.example", noted: -10)])
        let hosts = HSTSList(preloaded: [try HSTSHost("c.example")], store: store) { [date] in date.date }
        try hosts.note("max-age=60", from: "https://b.example/")
        hosts.removeAll()
        #expect(hosts.names == [".c.example"])
        try await hosts.save()
        #expect(hosts.names == [".c.example"] && store.state.value.hosts.allSatisfy(\.isRemoved) && store.state.value.hosts.count == 2)
        let other = self.hosts(store)
        try await other.load()
        #expect(other.names == [])
    }

    @Test func aRemovalIncludesTheHostsOfOtherLists() async throws {
        let store = RecordingHSTSStore()
        let (first, second) = (hosts(store), hosts(store))
        try await first.load()
        try second.note("max-age=60", from: "https://a.example/")
        try await second.save()
        first.removeAll()
        try await first.save()
        #expect(store.state.value.hosts.map(\.isRemoved) == [true])
        // After the removal, hosts can be noted again, also in the same second.
        try first.note("max-age=60", from: "https://a.example/")
        try await first.save()
        #expect(first.names == ["a.example"] && store.state.value.hosts.map(\.isRemoved) == [false])
    }

    @Test func aRemovalWithoutHostsWritesNothing() async throws {
        let store = RecordingHSTSStore()
        let hosts = hosts(store)
        hosts.removeAll()
        try await hosts.save()
        #expect(store.state.value.notes.isEmpty)
    }

    @Test func aCancelledSaveStillWaitsForItsWrite() async throws {
        let store = RecordingHSTSStore()
        let hosts = hosts(store)
        try hosts.note("max-age=60", from: "https://a.example/")
        try await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await hosts.save()
        }.value
        #expect(store.state.value.hosts == [try host("a.example")])
    }

    @Test func anOlderNoteOfTheStoreDoesNotReplaceALaterNote() async throws {
        let store = RecordingHSTSStore()
        let hosts = hosts(store)
        try hosts.note("max-age=1000", from: "https://a.example/")
        try await hosts.save()
        // The repetition is not written. Therefore the next write returns the first note.
        date.move(bySeconds: 50)
        try hosts.note("max-age=1000", from: "https://a.example/")
        try hosts.note("max-age=1000", from: "https://b.example/")
        try await hosts.save()
        #expect(store.state.value.hosts.map(\.expires) == [date.after(950), date.after(1_000)])
        #expect(hosts.hosts.map(\.expires) == [date.after(1_000), date.after(1_000)])
    }

    @Test func theListStaysBoundedWithAStore() async throws {
        let many = try (0..<1_500).map { try host("h\($0).example", noted: Int64($0) - 2_000) }
        let hosts = hosts(RecordingHSTSStore(many))
        try hosts.note("max-age=60", from: "https://first.example/")
        try await hosts.load()
        #expect(hosts.hosts.count == HSTSList.limit && hosts.demandsHTTPS("http://first.example"))
        #expect(!hosts.demandsHTTPS("http://h500.example") && hosts.demandsHTTPS("http://h501.example"))
        // The oldest note of the store is dropped first.
        try hosts.note("max-age=60", from: "https://second.example/")
        #expect(!hosts.demandsHTTPS("http://h501.example") && hosts.demandsHTTPS("http://h502.example"))
        try await hosts.save()
    }

    // MARK: The file

    @Test func theFileIsForItsOwnerAlone() async throws {
        let folder = try TestFolder("hsts")
        let hosts = hosts(file(folder))
        try hosts.note("max-age=60; includeSubDomains", from: "https://a.example/")
        try hosts.note("max-age=120", from: "https://b.example/")
        try await hosts.save()
        for name in ["hsts.txt", "hsts.txt.lock"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.file(name))
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
        #expect(try Set(FileManager.default.contentsOfDirectory(atPath: folder.path)) == ["hsts.txt", "hsts.txt.lock"])
        let lines = String(decoding: try folder.read("hsts.txt"), as: UTF8.self).split(separator: "\n").suffix(4)
        #expect(
            lines == [
                "# noted 1800000000", #".a.example "20270115 08:01:00""#, "# noted 1800000000", #"b.example "20270115 08:02:00""#,
            ])
        let next = self.hosts(file(folder))
        try await next.load()
        #expect(next.hosts == hosts.hosts && next.names == [".a.example", "b.example"])
    }

    @Test func aMissingFileIsAnEmptyList() async throws {
        let folder = try TestFolder("hsts")
        #expect(try await file(folder).load() == [])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }

    @Test(arguments: [
        ("", []), ("\n# only a comment\n\n", []),
        (#"a.example "20270115 08:01:00""#, ["a.example 1800000060 0"]),
        ("\t .A.Example.  \"20270115 08:01:00\"\r\n", []),
        (".A.Example. \"20270115 08:01:00\"\r\n", [".a.example 1800000060 0"]),
        ("a.example \"unlimited\"\n", ["a.example never 0"]),
        ("# noted 5\n# another\nb.example \"19700101 00:00:09\"\nc.example \"19700101 00:00:09\"", ["b.example 9 5", "c.example 9 0"]),
        ("# noted x\nb.example \"19700101 00:00:09\"", ["b.example 9 0"]),
        // Invalid lines beside a valid line are ignored.
        (
            "a\nb \"x\"\n127.0.0.1 \"unlimited\"\nc \"20271315 08:01:00\"\nd.example \"unlimited\"\ne.example unlimited",
            ["d.example never 0"]
        ),
    ])
    func aFileIsReadByItsLines(text: String, expected: [String]) throws {
        let hosts = HSTSFile.hosts(in: text) ?? []
        let shown = hosts.map { host in
            (host.includesSubdomains ? "." : "") + host.name + " \(host.expires.map { "\($0.secondsSinceEpoch)" } ?? "never")"
                + " \(host.noted.secondsSinceEpoch)"
        }
        #expect(shown == expected)
    }

    @Test(arguments: [#"{"hosts": []}"#, "a.example", "PNG\u{0}\u{1}", "<plist/>\n"])
    func aFileWithAnotherPurposeIsNotReplaced(text: String) async throws {
        let folder = try TestFolder("hsts")
        let path = try folder.write(text, to: "hsts.txt")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        let error = await #expect(throws: FileReadError.self) { try await file(folder).load() }
        #expect(error?.description.contains("it is not a list of hosts in the format of curl --hsts") == true)
        await #expect(throws: FileReadError.self) { try await file(folder).apply([host("a.example")]) }
        #expect(try folder.read("hsts.txt") == Data(text.utf8))
    }

    @Test func aFileThatOthersMayReadIsNotUsed() async throws {
        let folder = try TestFolder("hsts")
        try folder.write(#"a.example "unlimited""#, to: "hsts.txt")
        let error = await #expect(throws: FileReadError.self) { try await file(folder).load() }
        #expect(error?.code == EACCES)
    }

    @Test(arguments: HSTSStoreBehavior.all + HSTSStoreBehavior.shared)
    func theFileConforms(to behavior: HSTSStoreBehavior) async throws {
        let folder = try TestFolder("hsts")
        try await behavior.check { FileHSTSStore(atPath: folder.file("hsts.txt")) }
    }

    // MARK: Several processes

    @Test func twoListsThatShareAFileLoseNothing() async throws {
        let folder = try TestFolder("hsts")
        let lists = (0..<4).map { _ in hosts(file(folder)) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, list) in lists.enumerated() {
                group.addTask {
                    for number in 0..<25 {
                        try list.note("max-age=600", from: "https://h\(index)-\(number).example/")
                        try await list.save()
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await file(folder).load().count == 100)
        // Each list has the others' hosts after its next write.
        try lists[0].note("max-age=600", from: "https://last.example/")
        try await lists[0].save()
        #expect(lists[0].hosts.count == 101)
    }

    @Test func aRemovalReachesAnotherListWithAnOlderNote() async throws {
        let folder = try TestFolder("hsts")
        let (first, second) = (hosts(file(folder)), hosts(file(folder)))
        try first.note("max-age=6000", from: "https://a.example/")
        try await first.save()
        date.move(bySeconds: 1)
        try await second.load()
        try second.note("max-age=0", from: "https://a.example/")
        try await second.save()
        date.move(bySeconds: 1)
        try first.note("max-age=6000", from: "https://b.example/")
        try await first.save()
        #expect(first.names == ["b.example"] && first.demandsHTTPS("http://b.example") && !first.demandsHTTPS("http://a.example"))
        // The removal is kept for an hour.
        #expect(try await file(folder).load().filter(\.isRemoved).map(\.name) == ["a.example"])
        date.move(bySeconds: 3_600)
        try first.note("max-age=6000", from: "https://c.example/")
        try await first.save()
        #expect(try await file(folder).load().map(\.name) == ["b.example", "c.example"])
    }

    @Test func theLaterNoteOfAHostStays() throws {
        let (old, new) = (try host("a.example", expires: 10, noted: -5), try host("a.example", expires: 20, noted: -3))
        #expect(HSTSFile.merged([old], with: [new], at: date.now) == [new])
        #expect(HSTSFile.merged([new], with: [old], at: date.now) == [new])
        let same = try host("a.example", expires: 5, noted: -3)
        #expect(HSTSFile.merged([new], with: [same], at: date.now) == [same])
        // A note from the future was made with a wrong clock.
        let future = try host("a.example", expires: 900, noted: 800)
        let now = try host("a.example", expires: 30)
        #expect(HSTSFile.merged([future], with: [now], at: date.now) == [now])
    }

    @Test func theFileKeepsTheLatestNotes() throws {
        let many = try (0..<1_200).map { try host("h\($0).example", noted: Int64($0) - 2_000) }
        let merged = HSTSFile.merged(many, with: [try host("new.example")], at: date.now)
        #expect(merged.count == HSTSList.limit && merged.contains { $0.name == "new.example" })
        #expect(merged.map(\.name) == merged.map(\.name).sorted() && !merged.contains { $0.name == "h200.example" })
        #expect(HSTSFile.merged([try host("a.example", expires: -1, noted: -3_601)], with: [], at: date.now) == [])
        #expect(HSTSFile.merged([try host("a.example", expires: -1, noted: -3_600)], with: [], at: date.now).count == 1)
    }

    // MARK: curl

    @Test(.enabled(if: Programs.find("curl") != nil, "there is no curl on this machine"))
    func curlReadsTheFileAndItsFileIsRead() async throws {
        let folder = try TestFolder("hsts")
        let store = FileHSTSStore(atPath: folder.file("hsts.txt"))
        let hosts = HSTSList(store: store)
        try hosts.note("max-age=6000; includeSubDomains", from: "https://a.invalid/")
        try await hosts.save()
        // curl changes the URL, and fails to find the host.
        let shown = try await Programs.run(
            "/bin/sh", ["-c", "curl -s -o /dev/null --hsts '\(store.path)' -w '%{url_effective}' http://b.a.invalid/ || true"])
        #expect(shown.contains("https://b.a.invalid/"))
        // The list reads the file that curl has written.
        let written = try await store.load()
        #expect(written.map(\.name) == ["a.invalid"] && written.first?.expires == hosts.hosts.first?.expires)
    }
}
#endif
