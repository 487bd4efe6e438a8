import Errand
import ErrandTesting
import Foundation
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct ReadmeTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

    /// A text with samples, and the file that has them compiled.
    struct Samples: Sendable, CustomTestStringConvertible {
        let text: String
        let compiled: String
        let least: Int
        var testDescription: String { text }
    }

    static let samples = [
        Samples(text: "README.md", compiled: "Samples.swift", least: 5),
        Samples(text: "Sources/Errand/Errand.docc/ClosureClients.md", compiled: "NotesClient.swift", least: 8),
        Samples(text: "Sources/Errand/Errand.docc/WritingMiddleware.md", compiled: "OwnMiddleware.swift", least: 7),
    ]

    /// The Swift blocks of a text, but for those of a manifest, each as its lines without indentation and blank lines.
    private static func blocks(of text: String) throws -> [[String]] {
        let root = folder.deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(contentsOf: root.appendingPathComponent(text), encoding: .utf8)
        return text.components(separatedBy: "```swift\n").dropFirst().compactMap { part in
            let block = part.components(separatedBy: "\n```")[0]
            return block.contains("Package.swift") ? nil : trimmedLines(of: block)
        }
    }

    private static func trimmedLines(of text: String) -> [String] {
        text.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty && !$0.hasPrefix("// swift-format-ignore") && $0 != "import Errand" }
    }

    @Test(arguments: samples) func everySampleIsCompiled(_ samples: Samples) throws {
        let file = Self.folder.appendingPathComponent(samples.compiled)
        let compiled = Self.trimmedLines(of: try String(contentsOf: file, encoding: .utf8))
        let blocks = try Self.blocks(of: samples.text)
        #expect(blocks.count >= samples.least)
        for block in blocks {
            let isThere = compiled.indices.contains { compiled[$0...].starts(with: block) }
            #expect(isThere, "not in \(samples.compiled): \(block.joined(separator: "\n"))")
        }
    }

    @Test func theArticleOnClosuresDoesWhatItSays() async throws {
        await modelShowsWhatItGets()
        try await requestsAreRight()
        let model = await firstScreen()
        await model.load()
        #expect(await model.notes.count == 2)
        await Composition.$dependencies.withValue(AppDependencies(notes: .unexpected)) {
            let model = await firstScreen()
            await model.load()
            #expect(await model.message != nil)
        }
        _ = AppDependencies.live()
    }

    /// The way of testing that README shows, with a model that has a date.
    @Test func aModelWithADateIsStubbedAsReadmeShows() async throws {
        struct Release: Codable, Sendable, Equatable {
            var name: String
            var publishedAt: Date
        }
        let release = Release(name: "1.0", publishedAt: Date(timeIntervalSince1970: 1_795_264_560))
        let stub = StubTransport(Stub(.get, "/releases/{id}").responds(.json(release)))
        let client = APIClient(stub.server("https://a.example"))
        let read: Release = try await client.get("/releases/7")
        #expect(read == release && stub.requests.map(\.path) == ["/releases/7"])
    }

    @Test func theArticleOnMiddlewareDoesWhatItSays() async throws {
        let clock = ManualClock()
        let stub = StubTransport(
            Stub(.get, "/busy").responds(.status(.serviceUnavailable, headers: [.retryAfter: "1"]), .status(.ok)),
            Stub().responds(.custom { (HTTPResponse(status: .ok), Data(($0.headers[.tenant] ?? "none").utf8)) }))
        let patient = stub.wrapped(by: MaintenanceMiddleware(clock: clock))
        let response = try await clock.advancingToSleepers { try await patient.send(Request(.get, url: "https://a.example/busy")) }
        #expect(response.status == .ok && stub.requests.count == 2)
        let open = Mutex(0)
        let counted = composed(stub.wrapped(by: OpenCallsMiddleware { change in open.withLock { $0 += change } }), isVerbose: true)
        for (url, tenant) in [
            ("https://a.example.com/x", "blue"), ("https://a.example.com/public/x", "none"), ("https://b.example/x", "none"),
        ] {
            #expect(try await counted.send(Request(.get, url: url)).body.collect() == Data(tenant.utf8))
        }
        #expect(open.withLock { $0 } == 0)
        #expect(
            counted.description
                == "timeout(30 s) > retry(3 attempts, 100 ms to 20 s, budget 5 + 20 % of successes) > number > "
                + "tenant(blue) when host *.example.com and not (path /public/**) > OpenCallsMiddleware > StubTransport")
    }

    @Test(arguments: ["a\r\nb\rc\n\r\r\n", "", "\r", "\r\n", "a"]) func theSampleOfATransformDoesWhatItSays(_ text: String) async throws {
        let counted = Mutex(0)
        let expected = text.utf8.reduce(into: (text: "", wasReturn: false)) { line, byte in
            if byte != 10 || !line.wasReturn { line.text += byte == 13 || byte == 10 ? "\n" : String(UnicodeScalar(byte)) }
            line.wasReturn = byte == 13
        }.text
        for split in 0...text.utf8.count {
            let pieces = [Data(text.utf8.prefix(split)), Data(text.utf8.dropFirst(split))].filter { !$0.isEmpty }
            let stub = StubTransport(Stub().responds(.stream(pieces)))
            let response = try await stub.wrapped(by: MeterMiddleware { count in counted.withLock { $0 += count } })
                .send(Request(.get, url: "https://a.example/"))
            #expect(try await response.body.transformed(by: UnixLines()).collect() == Data(expected.utf8), "split at \(split)")
        }
        #expect(counted.withLock { $0 } == (text.utf8.count + 1) * text.utf8.count)
    }

    @Test func theSamplesDoWhatTheySay() async throws {
        try await stubbed()
        let stub = StubTransport(
            Stub(.get, "/lines").responds(.status(.ok, text: "a\n\nb\n")), Stub(.put, "/backups/{name}").responds(.status(.created)))
        let stack = stub.server("https://a.example")
        try await lines(of: stack)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)")
        try Data("archive".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try await backUp(file, as: "mon/day", to: named(stack)) == .created)
        #expect(stub.requests.last?.request.head.path == "/backups/mon%2Fday")
        #expect(stub.requests.last?.request.head.headerFields[.userAgent] == "Notes/1.0")
        #expect(stub.requests.last?.body == Data("archive".utf8))
        let fine = StubTransport(Stub().responds(.status(.ok, text: "fine")))
        #expect(resilient(fine).orderProblems.isEmpty && seen(fine, by: Silence()).orderProblems.isEmpty)
        let response = try await seen(resilient(fine), by: Silence()).send(Request(.get, url: "https://a.example/"))
        #expect(try await response.body.collect() == Data("fine".utf8))
        #expect(response.metadata.profile?.layers.first?.name == "events")
    }
}

private struct Silence: EventSink {
    func record(_ event: ExchangeEvent) {}
}
