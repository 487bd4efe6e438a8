import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct PartialFileTests {
    private let folder: TestFolder
    private var path: String { folder.file("part") }

    init() throws { folder = try TestFolder("partial") }

    @Test func aFileIsWrittenAtOffsetsAndContinued() throws {
        let first = try PartialFile(path: path, .new)
        try first.write(Data("def".utf8), at: 3)
        first.close()
        let second = try PartialFile(path: path, .existing)
        #expect(first.isNew && !second.isNew)
        #expect(try second.lengthBytes() == 6)
        try second.write(Data("abc".utf8), at: 0)
        try second.write(Data(), at: 100)
        try second.synchronize()
        try PartialFile.synchronizeFolder(of: path)
        #expect(try folder.read("part") == Data("abcdef".utf8))
        #expect(try second.read(count: 10, at: 2) == Data("cdef".utf8) && second.read(count: 2, at: 0) == Data("ab".utf8))
        #expect(try second.read(count: 4, at: 60).isEmpty)
        try second.truncate(to: 2)
        #expect(try folder.read("part") == Data("ab".utf8))
        #expect(try PartialFile(path: path, .either).lengthBytes() == 2)
    }

    @Test func eachOpeningRefusesOtherFiles() throws {
        #expect(throws: FileWriteError.self) { try PartialFile(path: path, .existing) }
        #expect(try PartialFile(path: path, .either).isNew)
        let taken = try #require(throws: FileWriteError.self) { try PartialFile(path: path, .new) }
        #expect(taken.code == EEXIST)
        let missing = try #require(throws: FileWriteError.self) { try PartialFile(path: folder.file("none/part"), .either) }
        #expect(missing.code == ENOENT && missing.description.contains("none"))
        #expect(throws: FileWriteError.self) { try PartialFile(path: folder.path, .either) }
        let link = folder.file("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        for opening in [PartialFile.Opening.new, .existing, .either] {
            #expect(throws: FileWriteError.self) { try PartialFile(path: link, opening) }
        }
        let pipe = folder.file("pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        #expect(throws: FileWriteError.self) { try PartialFile(path: pipe, .existing) }
    }

    @Test func onlyTheOwnerCanReadAFileByDefault() throws {
        _ = try PartialFile(path: path, .new)
        _ = try PartialFile(path: folder.file("open"), .new, permissions: 0o644)
        let modes = try ["part", "open"].map {
            try FileManager.default.attributesOfItem(atPath: folder.file($0))[.posixPermissions] as? Int
        }
        #expect(modes[0] == 0o600 && modes[1] == 0o644)
    }

    @Test func anExistingFileLosesPermissionsOnlyOnRequest() throws {
        _ = try PartialFile(path: path, .new, permissions: 0o644)
        let file = try PartialFile(path: path, .existing)
        func mode() throws -> Int? { try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int }
        #expect(try mode() == 0o644)
        try file.removePermissions()
        #expect(try mode() == 0o600)
    }

    // MARK: Faults

    @Test func shortWritesAndInterruptionsAreContinued() throws {
        let turns = Counter()
        var calls = FileCalls.system
        calls.writeAt = { descriptor, bytes, offset in
            let turn = turns.add(1)
            if turn % 3 == 0 { return -Int(EINTR) }
            return FileCalls.system.writeAt(descriptor, UnsafeRawBufferPointer(rebasing: bytes.prefix(turn % 2 + 1)), offset)
        }
        calls.read = { descriptor, bytes, offset in
            if turns.add(1) % 3 == 0 { return -Int(EINTR) }
            return FileCalls.system.read(descriptor, UnsafeMutableRawBufferPointer(rebasing: bytes.prefix(1)), offset)
        }
        let file = try PartialFile(path: path, .new, calls: calls)
        try file.write(Data("some more octets".utf8), at: 2)
        #expect(try file.read(count: 16, at: 2) == Data("some more octets".utf8))
    }

    @Test(arguments: ["write", "write nothing", "read", "truncate", "synchronize", "folder", "space"])
    func eachCallThatFailsNamesItself(_ call: String) throws {
        var calls = FileCalls.system
        switch call {
        case "write": calls.writeAt = { _, _, _ in -Int(ENOSPC) }
        case "write nothing": calls.writeAt = { _, _, _ in 0 }
        case "read": calls.read = { _, _, _ in -Int(EIO) }
        case "truncate": calls.truncate = { _, _ in EIO }
        case "space": calls.freeBytes = { _ in -Int64(EIO) }
        default: calls.synchronize = { _ in EIO }
        }
        let file = try PartialFile(path: path, .new, calls: calls)
        let error = try #require(throws: FileWriteError.self) {
            switch call {
            case "write", "write nothing": try file.write(Data("x".utf8), at: 0)
            case "read": _ = try file.read(count: 1, at: 0)
            case "truncate": try file.truncate(to: 9)
            case "synchronize": try file.synchronize()
            case "folder": try PartialFile.synchronizeFolder(of: path, calls: calls)
            default: _ = try PartialFile.freeBytes(for: path, calls: calls)
            }
        }
        #expect(error.code == (call == "write" ? ENOSPC : EIO) && error.path == path)
        let operations = ["folder": FileWriteError.folderSynchronization, "space": "find the free space for", "write nothing": "write"]
        #expect(error.operation == operations[call] ?? call)
    }

    @Test func aClosedFileFails() throws {
        let file = try PartialFile(path: path, .new)
        file.close()
        file.close()
        let error = try #require(throws: FileWriteError.self) { try file.write(Data("x".utf8), at: 0) }
        #expect(error.code == EBADF)
        #expect(throws: FileWriteError.self) { try file.lengthBytes() }
    }

    @Test func theFreeSpaceMatchesTheFileSystem() throws {
        #expect(try PartialFile.freeBytes(for: path) > 0 && PartialFile.freeBytes(for: "part") > 0)
        #expect(throws: FileWriteError.self) { try PartialFile.freeBytes(for: folder.file("none/part")) }
    }

    @Test(.enabled(if: SmallDisk.missing == nil, Comment(rawValue: SmallDisk.missing ?? "")))
    func theFreeSpaceOfAFullDiskIsZero() throws {
        let disk = try SmallDisk(bytes: 128 * 1024)
        #expect(try (1...128 * 1024).contains(PartialFile.freeBytes(for: disk.file("part"))))
        try disk.fill()
        #expect(try PartialFile.freeBytes(for: disk.file("part")) == 0)
    }
}
