import Errand
import ErrandTesting
import Foundation
import Testing

struct ReadmeTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

    /// The Swift blocks of the README, but for those of a manifest, each as its lines without indentation and blank lines.
    private static func blocks() throws -> [[String]] {
        let root = folder.deletingLastPathComponent().deletingLastPathComponent()
        let readme = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
        return readme.components(separatedBy: "```swift\n").dropFirst().compactMap { part in
            let block = part.components(separatedBy: "\n```")[0]
            return block.contains("Package.swift") ? nil : trimmedLines(of: block)
        }
    }

    private static func trimmedLines(of text: String) -> [String] {
        text.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty && !$0.hasPrefix("// swift-format-ignore") && $0 != "import Errand" }
    }

    @Test func everySampleIsCompiled() throws {
        let compiled = Self.trimmedLines(of: try String(contentsOf: Self.folder.appendingPathComponent("Samples.swift"), encoding: .utf8))
        let blocks = try Self.blocks()
        #expect(blocks.count >= 5)
        for block in blocks {
            let isThere = compiled.indices.contains { compiled[$0...].starts(with: block) }
            #expect(isThere, "not in Samples.swift: \(block.joined(separator: "\n"))")
        }
    }

    @Test func theSamplesDoWhatTheySay() async throws {
        try await stubbed()
        let stub = StubTransport(
            Stub(.get, "/lines").answers(.status(.ok, text: "a\n\nb\n")), Stub(.put, "/backups/{name}").answers(.status(.created)))
        let stack = stub.server("https://a.example")
        try await lines(of: stack)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)")
        try Data("archive".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try await backUp(file, as: "mon/day", to: named(stack)) == .created)
        #expect(stub.requests.last?.request.head.path == "/backups/mon%2Fday")
        #expect(stub.requests.last?.request.head.headerFields[.userAgent] == "Notes/1.0")
        #expect(stub.requests.last?.body == Data("archive".utf8))
    }
}
