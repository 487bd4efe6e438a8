import Foundation
import Testing

@testable import ErrandCommand

struct TemporaryFileTests {
    private func inFolder(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder)
    }

    @Test func aLinkThatWaitsThereIsNotFollowed() throws {
        try inFolder { folder in
            let victim = folder.appendingPathComponent("victim")
            try Data("kept".utf8).write(to: victim)
            let out = folder.appendingPathComponent("out").path
            try FileManager.default.createSymbolicLink(atPath: out + ".errand-1", withDestinationPath: victim.path)
            // A link to nothing would be made into a file by whoever follows it.
            try FileManager.default.createSymbolicLink(atPath: out + ".errand-2", withDestinationPath: victim.path + "-2")
            var suffix = 0
            let file = try TemporaryFile.open(beside: out) {
                suffix += 1
                return "\(suffix)"
            }
            defer { close(file.descriptor) }
            #expect(file.path == out + ".errand-3")
            try Terminal.write(Data("new".utf8), to: file.descriptor)
            #expect(try Data(contentsOf: victim) == Data("kept".utf8))
            #expect(!FileManager.default.fileExists(atPath: victim.path + "-2"))
        }
    }

    @Test func takenNamesEndInAnError() throws {
        try inFolder { folder in
            let out = folder.appendingPathComponent("out").path
            try Data().write(to: URL(fileURLWithPath: out + ".errand-1"))
            #expect(throws: WriteError.self) { try TemporaryFile.open(beside: out, suffix: { "1" }) }
        }
    }

    @Test func itsNamesCannotBeForeseen() throws {
        try inFolder { folder in
            let out = folder.appendingPathComponent("out").path
            let files = try (0..<4).map { _ in try TemporaryFile.open(beside: out) }
            for file in files { close(file.descriptor) }
            #expect(Set(files.map(\.path)).count == 4)
            #expect(files.allSatisfy { !$0.path.hasSuffix("-\(ProcessInfo.processInfo.processIdentifier)") })
        }
    }
}
