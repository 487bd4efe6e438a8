import ErrandCore
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct FileStampTests {
    @Test func aChangeOfTheFileChangesTheStamp() throws {
        let folder = try TestFolder("stamp")
        let path = folder.file("a")
        try Data("abc".utf8).write(to: URL(fileURLWithPath: path))
        let first = try FileStamp(path: path)
        #expect(first.lengthBytes == 3 && first.modified > 1_600_000_000_000_000_000)
        #expect(try FileStamp(path: path) == first)
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSince1970: 1_800_000_000)], ofItemAtPath: path)
        let second = try FileStamp(path: path)
        #expect(second.modified == 1_800_000_000_000_000_000 && second != first)
        try Data("abcd".utf8).write(to: URL(fileURLWithPath: path))
        #expect(try FileStamp(path: path).lengthBytes == 4)
    }

    @Test func onlyARegularFileHasAStamp() throws {
        let folder = try TestFolder("stamp")
        for path in [folder.path, folder.file("missing"), "/dev/null", folder.file("a\0b"), ""] {
            #expect(throws: FileReadError.self) { try FileStamp(path: path) }
        }
    }
}
