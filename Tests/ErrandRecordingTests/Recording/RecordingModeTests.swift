import Errand
import ErrandTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RecordingModeTests {
    private func text(_ stack: HTTPStack, _ request: Request) async throws -> String {
        String(decoding: try await stack.send(request).body.collect(), as: UTF8.self)
    }

    /// A transport whose responses name their calls.
    private func counting(_ name: String) -> ClosureTransport {
        let calls = Watched(0)
        return ClosureTransport { request in
            calls.change { $0 += 1 }
            return Response(head: HTTPResponse(status: .ok), data: Data("\(name)\(calls.value)".utf8), request: request)
        }
    }

    @Test func aPreparedRequestIsNeitherRecordedNorReplayed() async throws {
        let folder = try TestFolder("recording")
        let path = folder.file("a.har")
        let recording = try Recording(atPath: path, mode: .once, keepsUnknownText: true)
        let live = counting("live")
        #expect(try await live.record(on: recording).prepared(get("/x")).url?.path == "/x")
        #expect(recording.log.entries.isEmpty)
        _ = try await text(live.record(on: recording), get("/x"))
        try recording.save()
        let replay = try Recording(atPath: path, mode: .once, keepsUnknownText: true)
        #expect(try await live.record(on: replay).prepared(get("/x")).url?.path == "/x")
        #expect(replay.unplayed.count == 1)
    }

    @Test func modeOnceRecordsTheFirstRunAndReplaysLaterRuns() async throws {
        let folder = try TestFolder("recording")
        let path = folder.file("deep/er/a.har")
        let first = try Recording(atPath: path, mode: .once, keepsUnknownText: true)
        #expect(!first.isReplayOnly)
        let live = counting("live")
        for expected in ["live1", "live2"] { #expect(try await text(live.record(on: first), get("/x")) == expected) }
        try first.save()
        try first.save()

        let second = try Recording(atPath: path, mode: .once, keepsUnknownText: true)
        #expect(second.isReplayOnly && second.unplayed.count == 2)
        for expected in ["live1", "live2"] { #expect(try await text(live.record(on: second), get("/x")) == expected) }
        #expect(live.requestCount == 2 && second.unplayed.isEmpty)
        await #expect(throws: NoRecordedExchangeError.self) { _ = try await text(live.record(on: second), get("/y")) }
        #expect(live.requestCount == 2)
        let before = try folder.read("deep/er/a.har")
        try second.save()
        #expect(try folder.read("deep/er/a.har") == before)
    }

    @Test func aFileIsForItsOwnerAndKeepsItsPermissionsAndItsLinks() async throws {
        let folder = try TestFolder("recording")
        let files = FileManager.default
        func permissions() throws -> Int? { try files.attributesOfItem(atPath: folder.file("a.har"))[.posixPermissions] as? Int }
        try await folder.record([get("/a")], over: counting("old"))
        #expect(try permissions() == 0o600)
        try files.setAttributes([.posixPermissions: 0o640], ofItemAtPath: folder.file("a.har"))
        try files.createSymbolicLink(atPath: folder.file("link.har"), withDestinationPath: "a.har")
        let recording = try Recording(atPath: folder.file("link.har"), mode: .all, keepsUnknownText: true)
        _ = try await text(counting("new").record(on: recording), get("/b"))
        try recording.save()
        #expect(try permissions() == 0o640)
        #expect(try files.destinationOfSymbolicLink(atPath: folder.file("link.har")) == "a.har")
        #expect(String(decoding: try folder.read("a.har"), as: UTF8.self).contains("/b"))
    }

    @Test func aDeviceIsNotReplaced() async throws {
        let folder = try TestFolder("recording")
        let path = folder.file("null.har")
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/null")
        let recording = try Recording(atPath: path, mode: .all, keepsUnknownText: true)
        _ = try await text(counting("new").record(on: recording), get("/b"))
        #expect(throws: FileWriteError.self) { try recording.save() }
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path) == "/dev/null")
    }

    @Test func modeNewEpisodesReplaysKnownExchangesAndAddsOthers() async throws {
        let folder = try TestFolder("recording")
        try await folder.record([get("/a")], over: counting("old"))
        let recording = try Recording(atPath: folder.file("a.har"), mode: .newEpisodes, keepsUnknownText: true)
        let live = counting("new")
        let stack = live.record(on: recording)
        #expect(try await text(stack, get("/a")) == "old1")
        #expect(try await text(stack, get("/b")) == "new1")
        #expect(try await text(stack, get("/a")) == "new2", "each plays once")
        try recording.save()
        let bodies = try HARLog(fileContent: folder.read("a.har")).entries.map(\.response.content.text)
        #expect(bodies == ["old1", "new1", "new2"])
    }

    @Test func modeNoneNeverUsesTheNetwork() async throws {
        let folder = try TestFolder("recording")
        let recording = try Recording(atPath: folder.file("a.har"), mode: .none, keepsUnknownText: true)
        let live = counting("live")
        let error = await #expect(throws: NoRecordedExchangeError.self) { _ = try await text(live.record(on: recording), get("/a")) }
        #expect(error?.nearest == nil && error?.delivery == .notSent && error?.phase == .request)
        try recording.save()
        #expect(live.requestCount == 0 && folder.names.isEmpty)
    }

    @Test func modeAllUsesTheNetworkAndReplacesTheFile() async throws {
        let folder = try TestFolder("recording")
        try await folder.record([get("/a"), get("/b")], over: counting("old"))
        let recording = try Recording(atPath: folder.file("a.har"), mode: .all, keepsUnknownText: true)
        let live = counting("new")
        #expect(try await text(live.record(on: recording), get("/a")) == "new1")
        try recording.save()
        #expect(try HARLog(fileContent: folder.read("a.har")).entries.map(\.response.content.text) == ["new1"])
    }

    @Test func anEmptyRecordingIsNotWritten() throws {
        let folder = try TestFolder("recording")
        for mode in [Recording.Mode.once, .newEpisodes, .none] {
            try Recording(atPath: folder.file("a.har"), mode: mode, keepsUnknownText: true).save()
        }
        #expect(folder.names.isEmpty)
        try Recording(atPath: folder.file("a.har"), mode: .all, keepsUnknownText: true).save()
        #expect(try HARLog(fileContent: folder.read("a.har")).entries.isEmpty)
    }

    @Test func aRequestCanBeLeftOut() async throws {
        let folder = try TestFolder("recording")
        let recording = try Recording(atPath: folder.file("a.har"), mode: .once, keepsUnknownText: true)
        let stack = counting("live").record(on: recording)
        var request = try get("/a")
        request.options.record = .off
        #expect(try await text(stack, request) == "live1")
        #expect(recording.log.entries.isEmpty)
        #expect(try await text(stack, get("/a")) == "live2")
        #expect(recording.log.entries.count == 1)
    }

    @Test func savingWritesAlsoAfterAFailure() async throws {
        let folder = try TestFolder("recording")
        let recording = try Recording(atPath: folder.file("a.har"), mode: .once, keepsUnknownText: true)
        let stack = counting("live").record(on: recording)
        await #expect(throws: TestError.self) {
            try await recording.saving {
                _ = try await text(stack, get("/a"))
                throw TestError()
            }
        }
        #expect(folder.has("a.har"))
    }

    @Test func aHundredParallelCallsAreRecordedWhole() async throws {
        let folder = try TestFolder("recording")
        let live = ClosureTransport { request in
            let parts = (request.head.path ?? "").split(separator: "/").map(String.init)
            let steps: [@Sendable () async throws -> Data] = (0..<10).map { number in
                {
                    await Task.yield()
                    return Data("\(parts[0]):\(number);".utf8)
                }
            }
            return .streaming(ScriptedBodySource(steps: steps), to: request)
        }
        let recording = try Recording(atPath: folder.file("a.har"), mode: .once, keepsUnknownText: true)
        let stack = live.record(on: recording)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<100 {
                group.addTask { _ = try await stack.send(get("/\(number)")).body.collect() }
                if number % 10 == 0 { group.addTask { _ = recording.log } }
            }
            try await group.waitForAll()
        }
        try recording.save()
        let replay = try folder.replay()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<100 {
                group.addTask {
                    let (chunks, _) = try await chunks(of: try await replay.send(get("/\(number)")))
                    #expect(chunks == (0..<10).map { Data("\(number):\($0);".utf8) })
                }
            }
            try await group.waitForAll()
        }
    }

    @Test(arguments: ["", "{", "[]", "{}", #"{"log":{}}"#, #"{"log":{"version":"1.2","creator":{"name":"a"},"entries":[]}}"#])
    func anInvalidArchiveIsRefused(_ content: String) throws {
        let folder = try TestFolder("recording")
        let path = try folder.write(content, to: "a.har")
        #expect(throws: InvalidRecordingError.self) { try Recording(atPath: path, mode: .once) }
        #expect(throws: InvalidRecordingError.self) { try ReplayTransport(atPath: path) }
        #expect(throws: InvalidRecordingError.self) { try ReplayTransport(atPath: folder.file("b.har")) }
        #expect(try Recording(atPath: path, mode: .all, keepsUnknownText: true).unplayed.isEmpty)
    }

    @Test func aFileThatCannotBeWrittenFailsAndHarmsNothing() async throws {
        let folder = try TestFolder("recording")
        try folder.write("a file", to: "file")
        let recording = try Recording(atPath: folder.file("file/a.har"), mode: .once, keepsUnknownText: true)
        #expect(try await text(counting("live").record(on: recording), get("/a")) == "live1")
        #expect(throws: (any Error).self) { try recording.save() }
    }

    @Test func theLabelNamesFileAndMode() throws {
        let stack = ClosureTransport().record(on: try Recording(atPath: "/nowhere/a.har", mode: .newEpisodes, keepsUnknownText: true))
        #expect(stack.layers.first?.label == "record(a.har, newEpisodes)")
        #expect(stack.orderProblems.isEmpty)
    }

    @Test func aTransportThatIsShutDownRefuses() async throws {
        let folder = try TestFolder("recording")
        try await folder.record([get("/a")], over: counting("live"))
        let transport = try ReplayTransport(atPath: folder.file("a.har"))
        try await transport.shutdown()
        let error = await #expect(throws: TransportError.self) { try await transport.send(get("/a")) }
        #expect(error?.code == .shutDown)
        #expect(HTTPStack(transport).description == "ReplayTransport")
    }

    /// The permissions of a symbolic link allow everything.
    @Test func aLinkToAMissingFileIsKeptAndTheFileIsForItsOwner() async throws {
        let folder = try TestFolder("recording")
        let files = FileManager.default
        try files.createSymbolicLink(atPath: folder.file("link.har"), withDestinationPath: "next.har")
        try files.createSymbolicLink(atPath: folder.file("next.har"), withDestinationPath: "target.har")
        let recording = try Recording(atPath: folder.file("link.har"), mode: .all, keepsUnknownText: true)
        _ = try await text(counting("new").record(on: recording), get("/b"))
        try recording.save()
        try recording.save()
        #expect(try files.destinationOfSymbolicLink(atPath: folder.file("link.har")) == "next.har")
        #expect(try files.destinationOfSymbolicLink(atPath: folder.file("next.har")) == "target.har")
        #expect(try files.attributesOfItem(atPath: folder.file("target.har"))[.posixPermissions] as? Int == 0o600)
    }
}
