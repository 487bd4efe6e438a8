import ArgumentParser
import Foundation
import Testing

@testable import ConformanceCommand

/// The programs that run vectors find no difference, and say so if there is one.
@Suite(.timeLimit(.minutes(5))) struct VectorTests {
    @Test(.enabled(if: Suites.folder("structured-fields") != nil, Suites.missing)) func structuredFieldsAreReadAndWritten() throws {
        let folder = try #require(Suites.folder("structured-fields"))
        try StructuredFieldsCommand.parse(["--dir", folder.path]).run()
    }

    @Test(.enabled(if: Suites.folder("sse") != nil, Suites.missing)) func eventStreamsAreParsed() throws {
        let folder = try #require(Suites.folder("sse"))
        try EventVectorsCommand.parse(["--vectors", folder.appendingPathComponent("vectors.json").path]).run()
    }

    @Test(.enabled(if: Suites.folder("cookies") != nil, Suites.missing), arguments: [("vectors", 111), ("dates", 70)])
    func cookiesAreStoredAndSent(name: String, count: Int) throws {
        let suite = try #require(Suites.folder("cookies"))
        try withFolder { folder in
            let output = folder.appendingPathComponent("output.json")
            let words = ["--vectors", suite.appendingPathComponent("\(name).json").path, "--output", output.path]
            try CookiesCommand.parse(words).run()
            let outcomes = try JSONDecoder().decode([CookieVector.Outcome].self, from: Data(contentsOf: output))
            #expect(outcomes.count == count)
            let excluded = outcomes.filter { $0.excluded != nil }.map(\.test)
            #expect(excluded == (name == "vectors" ? ["DISABLED_CHROMIUM0020"] : []))
            #expect(outcomes.allSatisfy { ($0.sent != nil) == (name == "vectors" && $0.excluded == nil) })
        }
    }

    @Test func aDifferenceOfCookiesIsShown() throws {
        try withFolder { folder in
            let (file, output) = (folder.appendingPathComponent("vectors.json"), folder.appendingPathComponent("output.json"))
            let cases = """
                [{"test": "right", "received": ["a=1; Path=/x", "b=2"], "sent-to": "/x", "sent": [{"name": "a", "value": "1"}, \
                {"name": "b", "value": "2"}]},
                {"test": "left out", "received": ["a=1"], "sent": [], "excluded": "a reason"},
                {"test": "wrong", "received": ["a=1"], "sent": [{"name": "a", "value": "1"}], "sent_6265bis": []},
                {"test": "Wed, 09 Dec 2009 16:27:23 GMT", "expected": null}]
                """
            let suite = try JSONDecoder().decode([CookieVector].self, from: Data(cases.utf8))
            let differences = try suite.map { try $0.difference(from: $0.outcome()) }
            #expect(
                differences == [
                    nil, nil, "wrong: [a=1], expected: []",
                    "Wed, 09 Dec 2009 16:27:23 GMT: Wed, 09 Dec 2009 16:27:23 GMT, expected: no date",
                ])
            for text in [cases, "[]"] {
                try Data(text.utf8).write(to: file)
                let command = try CookiesCommand.parse(["--vectors", file.path, "--output", output.path])
                #expect(throws: ExitCode.self) { try command.run() }
            }
        }
    }

    private func withFolder(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder)
    }

    @Test func aDifferenceIsShown() throws {
        let vector = EventVector(
            name: "wrong", wire: Data("data: a\n\n".utf8), events: [.init(type: "message", data: "b", lastEventId: "")], retry: nil,
            streamLastEventId: nil)
        #expect(vector.differences().count == 10 + 4)
        try withFolder { folder in
            let file = folder.appendingPathComponent("vectors.json")
            try Data("[]".utf8).write(to: file)
            #expect(throws: ExitCode.self) { try EventVectorsCommand.parse(["--vectors", file.path]).run() }
        }
    }
}
