import Errand
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ErrandCore

/// A body that is written to a file.
@Suite(.timeLimit(.minutes(5))) struct ResponseBodyFileTests {
    private let folder: TestFolder
    private var target: URL { URL(fileURLWithPath: folder.file("a.bin")) }

    init() throws { folder = try TestFolder("body-file") }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
    }

    private func permissions(_ name: String = "a.bin") throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: folder.file(name))[.posixPermissions] as? Int
    }

    private func body(_ source: any BodySource, expectedLength: Int64? = nil) -> ResponseBody {
        func opened(_ source: some BodySource) -> ResponseBody { ResponseBody(source, expectedLength: expectedLength) }
        return opened(source)
    }

    @Test func aNameThatBeginsWithACombiningMarkIsInItsFolder() async throws {
        let path = folder.file("\u{301}a.zip")
        try await ResponseBody(Data("x".utf8)).write(toPath: path)
        #expect(try names == ["\u{301}a.zip"] && folder.read("\u{301}a.zip") == Data("x".utf8))
    }

    @Test func aPathWithANULIsRefused() async throws {
        try folder.write("old", to: "a.bin")
        let path = folder.file("a.bin") + "\0.txt"
        let error = await #expect(throws: FileWriteError.self) { try await ResponseBody(Data("new".utf8)).write(toPath: path) }
        #expect(error?.code == EINVAL && error?.description.contains("\0") == false)
        #expect(try names == ["a.bin"] && folder.read("a.bin") == Data("old".utf8))
        #expect(throws: FileReadError.self) { try RequestBody.file(atPath: path) }
    }

    @Test func aPipeIsNotReplaced() async throws {
        let path = folder.file("pipe")
        #expect(mkfifo(path, 0o600) == 0)
        let error = await #expect(throws: FileWriteError.self) { try await ResponseBody(Data("x".utf8)).write(toPath: path) }
        #expect(error?.code == EINVAL && error?.description == "cannot replace '\(path)': it is not a regular file")
        #expect(try names == ["pipe"])
        // Such as /dev/stdout.
        let link = folder.file("link")
        for target in ["/dev/null", path] {
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
            let error = await #expect(throws: FileWriteError.self) { try await ResponseBody(Data("x".utf8)).write(toPath: link) }
            #expect(error?.description == "cannot replace '\(link)': it is not a regular file")
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == target)
            try FileManager.default.removeItem(atPath: link)
        }
        // A link to a missing file is replaced in the same way as a link to a file.
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.file("missing"))
        try await ResponseBody(Data("x".utf8)).write(toPath: link)
        #expect(try folder.read("link") == Data("x".utf8) && names == ["link", "pipe"])
    }

    @Test func aBodyIsWrittenAndCounted() async throws {
        let source = ScriptedBodySource(["one", "two", "three"])
        #expect(try await body(source).write(to: target) == 11)
        #expect(try folder.read("a.bin") == Data("onetwothree".utf8))
        #expect(try names == ["a.bin"])
        #expect(try permissions() == 0o600)
    }

    @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 1_000_000]) func eachLengthIsWrittenWhole(_ count: Int) async throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let pieces = stride(from: 0, to: count, by: 10_007).map { Array(bytes[$0..<min(count, $0 + 10_007)]) }
        #expect(try await body(ScriptedBodySource(chunks: pieces)).write(to: target) == Int64(count))
        #expect(try folder.read("a.bin") == Data(bytes))
        #expect(try await ResponseBody(Data(bytes)).write(toPath: folder.file("b.bin")) == Int64(count))
        #expect(try folder.read("b.bin") == Data(bytes))
        #expect(try names == ["a.bin", "b.bin"])
    }

    @Test func shortWritesAndInterruptionsOfTheSystemAreHandled() async throws {
        let turns = Atomic(0)
        let calls = FileCalls { descriptor, bytes in
            if turns.add(1, ordering: .relaxed).newValue % 3 == 0 { return -Int(EINTR) }
            return FileCalls.system.write(descriptor, UnsafeRawBufferPointer(rebasing: bytes.prefix(1_000)))
        }
        let bytes = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0) })
        #expect(try await ResponseBody(bytes).write(toPath: target.path, options: .standard, calls: calls) == 100_000)
        #expect(try folder.read("a.bin") == bytes)
    }

    @Test func optionsSetPermissionsAndSynchronize() async throws {
        let options = FileWriteOptions(permissions: 0o644, synchronizesToDisk: true)
        try await ResponseBody(Data("x".utf8)).write(to: target, options: options)
        #expect(try permissions() == 0o644)
        #expect(
            FileWriteOptions.standard
                == FileWriteOptions(replacesExistingFile: true, permissions: 0o600, synchronizesToDisk: false, limitBytes: nil))
    }

    @Test func aFileIsReplacedOnlyWhenTheBodyIsWhole() async throws {
        try folder.write("old", to: "a.bin")
        let lost = TransportError(.connectionLost, phase: .body, request: nil, delivery: .sent)
        await #expect(throws: TransportError.self) {
            try await body(ScriptedBodySource(["new"], then: .failure(lost))).write(to: target)
        }
        #expect(try folder.read("a.bin") == Data("old".utf8))
        #expect(try names == ["a.bin"])
        try await body(ScriptedBodySource(["new"])).write(to: target)
        #expect(try folder.read("a.bin") == Data("new".utf8))
        #expect(try permissions() == 0o600, "the permissions of the file that was replaced do not matter")
    }

    @Test func aSymbolicLinkIsReplacedAndNotFollowed() async throws {
        try folder.write("other", to: "b.bin")
        try FileManager.default.createSymbolicLink(atPath: target.path, withDestinationPath: folder.file("b.bin"))
        try await ResponseBody(Data("new".utf8)).write(to: target)
        #expect(try folder.read("b.bin") == Data("other".utf8))
        #expect(try folder.read("a.bin") == Data("new".utf8))
    }

    /// If the name could be foreseen, another user could take it first, in a folder to which all users may write.
    @Test func temporaryNamesCannotBeForeseen() throws {
        let files = try (0..<4).map { _ in try OutputFile(path: target.path, options: .standard, calls: .system) }
        #expect(try names.allSatisfy { $0.hasPrefix(".errand-") && $0.hasSuffix(".part") })
        let numbers = try names.compactMap { UInt64($0.dropFirst(8).dropLast(5), radix: 16) }.sorted()
        #expect(numbers.count == 4)
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1 - $0 > 1000 }, "they are not counted: \(numbers)")
        for file in files { file.discard() }
        #expect(try names == [])
    }

    @Test func cancellationLeavesNothingAndReleasesTheBody() async throws {
        let source = ScriptedBodySource(["one"], then: .stall)
        let task = Task { [target] in try await ResponseBody(source).write(to: target) }
        await source.reachedEnding.waitIgnoringCancellation()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try names == [])
        #expect(source.abandonCount > 0)
    }

    /// The body is whole, and the file has no name yet.
    @Test func cancellationAtTheEndOfTheBodyGivesNoName() async throws {
        let reads = Counter()
        let source = ClosureBodySource {
            guard reads.add() > 1 else { return Data("one".utf8) }
            withUnsafeCurrentTask { $0?.cancel() }
            return nil
        }
        let task = Task { [target] in try await ResponseBody(source).write(to: target) }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try names == [])
    }

    /// Reading a body in memory never waits, and does not notice the cancellation.
    @Test func aCancelledTaskGivesABodyInMemoryNoName() async throws {
        let task = Task { [target] in
            withUnsafeCurrentTask { $0?.cancel() }
            return try await ResponseBody(Data("one".utf8)).write(to: target)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try names == [])
    }

    @Test func aFullDiskIsNamedAndLeavesNothing() async throws {
        let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        let device = full.fileDescriptor
        let calls = FileCalls { _, bytes in FileCalls.system.write(device, bytes) }
        try folder.write("old", to: "a.bin")
        let source = ScriptedBodySource(["one"], then: .end)
        do {
            _ = try await body(source).write(toPath: target.path, options: .standard, calls: calls)
            Issue.record("the disk is full")
        } catch let error as FileWriteError {
            #expect(error.code == ENOSPC && error.path == target.path)
            #expect(error.description == "cannot write '\(target.path)': no space left on the disk (errno 28)")
            #expect(error.localizedDescription == "The file cannot be written.")
            #expect(error.failureReason == "No space left on the disk.")
            #expect(error.recoverySuggestion == "Free some space and try again.")
        }
        #expect(try names == ["a.bin"])
        #expect(try folder.read("a.bin") == Data("old".utf8))
        try full.close()
    }

    @Test(arguments: [
        ("/data/a.zip", ENOENT, "the folder '/data' does not exist"), ("a.zip", ENOENT, "the current folder does not exist"),
        ("/a.zip", EACCES, "cannot create files in the folder '/': permission denied"),
        ("/data/x/a.zip", EROFS, "cannot create files in the folder '/data/x': \(systemErrorText(EROFS))"),
        ("/data/a.zip", ENOSPC, "\(systemErrorText(ENOSPC)) (errno \(ENOSPC))"),
    ])
    func aFailureToCreateAFileNamesItsFolder(path: String, code: Int32, reason: String) {
        let error = FileWriteError.creating(at: path, operation: "lock", code: code)
        #expect(error.description == "cannot lock '\(path)': \(reason)" && error.code == code && error.recoverySuggestion != nil)
    }

    @Test func aRemovedFileNeedsNoNewFolder() {
        let error = FileWriteError.removed("/data/a.zip", operation: "lock")
        #expect(error.description == "cannot lock '/data/a.zip': it has just been removed" && error.code == ENOENT)
        #expect(error.recoverySuggestion == "Try again.")
    }

    @Test func aMissingFolderIsFoundBeforeAnythingIsRead() async throws {
        let source = ScriptedBodySource(["one"])
        let path = folder.file("missing/a.bin")
        let error = await #expect(throws: FileWriteError.self) { try await body(source).write(toPath: path) }
        #expect(error?.code == ENOENT)
        #expect(error?.description == "cannot create a file beside '\(path)': the folder '\(folder.file("missing"))' does not exist")
        #expect(error?.recoverySuggestion == "Create the folder and try again.")
        #expect(source.unreadCount == 1)
        #expect(source.abandonCount > 0)
    }

    @Test func aFolderIsNotWrittenOver() async throws {
        try folder.folder("a.bin")
        for path in [target.path, target.path + "/"] {
            let error = await #expect(throws: FileWriteError.self) { try await ResponseBody(Data()).write(toPath: path) }
            #expect(error?.code == EISDIR)
        }
        #expect(try names == ["a.bin"])
    }

    @Test func anExistingFileIsKeptWithoutPermissionToReplace() async throws {
        let options = FileWriteOptions(replacesExistingFile: false)
        #expect(try await ResponseBody(Data("first".utf8)).write(to: target, options: options) == 5)
        let source = ScriptedBodySource(["second"])
        let error = await #expect(throws: FileWriteError.self) { try await body(source).write(to: target, options: options) }
        #expect(error?.code == EEXIST)
        #expect(source.unreadCount == 1)
        #expect(try folder.read("a.bin") == Data("first".utf8))
        #expect(try names == ["a.bin"])
    }

    @Test func aFileCreatedDuringTheWriteIsKeptWithoutPermissionToReplace() async throws {
        let source = ScriptedBodySource(steps: [
            { [folder] in
                try folder.write("other", to: "a.bin")
                return Data("mine".utf8)
            }
        ])
        let error = await #expect(throws: FileWriteError.self) {
            try await body(source).write(to: target, options: FileWriteOptions(replacesExistingFile: false))
        }
        #expect(error?.code == EEXIST)
        #expect(try folder.read("a.bin") == Data("other".utf8))
        #expect(try names == ["a.bin"])
    }

    @Test func aLimitBoundsDeclaredAndUndeclaredLengths() async throws {
        let options = FileWriteOptions(limitBytes: 5)
        for length: Int64? in [nil, 6] {
            let source = ScriptedBodySource(["one", "two"])
            let error = await #expect(throws: TransportError.self) {
                try await body(source, expectedLength: length).write(to: target, options: options)
            }
            #expect(error?.code == .bodyTooLarge)
            #expect(source.unreadCount == (length == nil ? 0 : 2))
            #expect(try names == [])
        }
        #expect(try await ResponseBody(Data("12345".utf8)).write(to: target, options: options) == 5)
    }

    @Test func aBodyThatWasReadWritesNothing() async throws {
        let read = ResponseBody(Data("x".utf8))
        _ = try await read.collect()
        await #expect(throws: BodyAlreadyUsedError.self) { try await read.write(to: target) }
        #expect(try names == [])
    }

    /// A slow disk would hold up every task of the process.
    @Test func writingIsNotDoneOnACooperativeThread() async throws {
        let wereInTask = Mutex<[Bool]>([])
        let calls = FileCalls { descriptor, bytes in
            let isInTask = withUnsafeCurrentTask { $0 != nil }
            wereInTask.withLock { $0.append(isInTask) }
            return FileCalls.system.write(descriptor, bytes)
        }
        _ = try await ResponseBody(Data(count: 200_000)).write(toPath: target.path, options: .standard, calls: calls)
        #expect(wereInTask.withLock { !$0.isEmpty && $0.allSatisfy { !$0 } })
    }

    @Test func aFileWithoutAFolderIsInTheCurrentOne() async throws {
        let name = "errand-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: name) }
        #expect(try await ResponseBody(Data("x".utf8)).write(toPath: name) == 1)
        #expect(FileManager.default.contents(atPath: name) == Data("x".utf8))
    }
}
