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

    @Test func aDifferenceIsShown() throws {
        let vector = EventVector(
            name: "wrong", wire: Data("data: a\n\n".utf8), events: [.init(type: "message", data: "b", lastEventId: "")], retry: nil,
            streamLastEventId: nil)
        #expect(vector.differences().count == 10 + 4)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("vectors.json")
        try Data("[]".utf8).write(to: file)
        #expect(throws: ExitCode.self) { try EventVectorsCommand.parse(["--vectors", file.path]).run() }
    }
}
