import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct LockedPrivateFileTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder("locked") }

    private var path: String { folder.file("secret") }

    private func file(limitBytes: Int = 1_000) -> LockedPrivateFile {
        LockedPrivateFile(path, limitBytes: limitBytes, clock: ContinuousClock())
    }

    @Test func aChangeReplacesTheFileAndReturnsAResult() async throws {
        let file = file()
        #expect(try await file.read() == nil && file.description == "file \(path)")
        #expect(try await file.change { ($0, .replaced(by: Data("one".utf8))) } == nil)
        #expect(try await file.change { ($0, .unchanged) } == Data("one".utf8))
        #expect(try await file.change { ($0, .emptied(Data())) } == Data("one".utf8))
        #expect(try await file.read() == Data())
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(names == ["secret", "secret.lock"])
        for name in names {
            #expect(try FileManager.default.attributesOfItem(atPath: folder.file(name))[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test func concurrentChangesAreMerged() async throws {
        let file = file()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<10 { try await file.change { ((), .replaced(by: ($0 ?? Data()) + [1])) } }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await file.read()?.count == 80)
    }

    @Test func aRefusedChangeKeepsTheFileAndReleasesTheLock() async throws {
        let file = file(limitBytes: 3)
        try await file.change { _ in ((), .replaced(by: Data("one".utf8))) }
        await #expect(throws: TestError.self) { try await file.change { _ -> (Int, LockedPrivateFile.Change) in throw TestError("no") } }
        #expect(try await file.read() == Data("one".utf8))
        try await file.change { _ in ((), .replaced(by: Data("four".utf8))) }
        let error = await #expect(throws: FileReadError.self) { try await file.change { _ in ((), .unchanged) } }
        #expect(error?.code == EFBIG)
    }

    /// A change would replace the link, and the linked file would keep its secrets.
    @Test func aSymbolicLinkIsRefused() async throws {
        let target = folder.file("target")
        try await PrivateFile.write(Data("old".utf8), to: target)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
        let file = file()
        let error = await #expect(throws: FileReadError.self) { try await file.read() }
        #expect(error?.code == ELOOP && error?.path == path)
        #expect(error?.description.contains("it is a symbolic link; use the path of the file to which the link leads") == true)
        await #expect(throws: FileReadError.self) { try await file.change { _ in ((), .replaced(by: Data("new".utf8))) } }
        #expect(try folder.read("target") == Data("old".utf8))
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path) == target)
        // A link without a file is refused too.
        try FileManager.default.removeItem(atPath: target)
        await #expect(throws: FileReadError.self) { try await file.read() }
        // Other code may follow links.
        try await PrivateFile.write(Data("old".utf8), to: target)
        #expect(try await PrivateFile.read(path) == Data("old".utf8))
    }

    @Test func aFileMayHaveSeveralLocks() async throws {
        let file = file()
        let lock = try #require(try await PrivateFile.lock(path + ".other", within: .zero))
        try await file.change { _ in ((), .replaced(by: Data())) }
        let busy = await #expect(throws: FileWriteError.self) { try await file.whileLocked(by: ".other", within: .zero) {} }
        #expect(busy?.code == EBUSY && busy?.path == path + ".other")
        await #expect(throws: TestError("0.0 seconds")) {
            try await file.whileLocked(by: ".other", within: .zero, orThrow: { TestError("\($0)") }) {}
        }
        lock.release()
        #expect(try await file.whileLocked(by: ".other", within: .zero) { 1 } == 1)
    }
}
