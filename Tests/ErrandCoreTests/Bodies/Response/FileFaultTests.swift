import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import ErrandCore

/// The files that remain after a body was written to a file, for every behavior of the disk.
@Suite(.timeLimit(.minutes(5))) struct FileFaultTests {
    private static let chunkBytes = 50_000

    private let folder: TestFolder
    private var target: URL { URL(fileURLWithPath: folder.file("a.bin")) }

    init() throws { folder = try TestFolder("file-faults") }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
    }

    /// The number of descriptors of this process for the folder and its files; `nil` if the system does not show descriptors.
    private var openDescriptors: Int? { Self.openDescriptors(below: folder.path) }

    private static func openDescriptors(below path: String) -> Int? {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") else { return nil }
        return names.count { (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)"))?.hasPrefix(path) == true }
    }

    /// Chunks of which no two are equal.
    private static func chunks(_ count: Int) -> [[UInt8]] {
        let words = UInt32(chunkBytes / 4)
        return (0..<UInt32(count)).map { chunk in Array(chunk * words..<(chunk + 1) * words).withUnsafeBytes { Array($0) } }
    }

    private func body(_ chunks: [[UInt8]]) -> ResponseBody { ResponseBody(ScriptedBodySource(chunks: chunks)) }

    @Test func manyChunksAreWrittenInTheirOrder() async throws {
        let chunks = Self.chunks(40)
        #expect(try await body(chunks).write(to: target) == Int64(40 * Self.chunkBytes))
        #expect(try folder.read("a.bin") == Data(chunks.joined()))
        #expect(try names == ["a.bin"])
    }

    @Test(arguments: [nil, 1, 3]) func theNameIsGivenAfterTheLastWrite(_ failing: Int?) async throws {
        try folder.write("old", to: "a.bin")
        let turns = Counter()
        let seen = Watched<[Data?]>([])
        let calls = FileCalls { [folder] descriptor, bytes in
            seen.change { $0.append(try? folder.read("a.bin")) }
            return turns.add(1) == failing ? -Int(ENOSPC) : FileCalls.system.write(descriptor, bytes)
        }
        let chunks = Self.chunks(5)
        do {
            _ = try await body(chunks).write(toPath: target.path, options: .standard, calls: calls)
            #expect(failing == nil)
        } catch let error as FileWriteError {
            #expect(failing != nil && error.code == ENOSPC)
        }
        #expect(seen.value.count == failing ?? 3 && seen.value.allSatisfy { $0 == Data("old".utf8) })
        #expect(try folder.read("a.bin") == (failing == nil ? Data(chunks.joined()) : Data("old".utf8)))
        #expect(try names == ["a.bin"])
    }

    /// What may happen to a body that is written.
    enum Course: CaseIterable { case whole, synchronized, notReplaced, breaksOff, diskIsFull, cancelled, folder }

    @Test(arguments: Course.allCases) func noDescriptorIsLeftOpen(_ course: Course) async throws {
        try #require(openDescriptors == 0, "no /proc here")
        let most = Watched(0)
        let calls = FileCalls { [path = folder.path] descriptor, bytes in
            most.change { $0 = max($0, Self.openDescriptors(below: path) ?? 0) }
            return course == .diskIsFull ? -Int(ENOSPC) : FileCalls.system.write(descriptor, bytes)
        }
        let options = FileWriteOptions(replacesExistingFile: course != .notReplaced, synchronizesToDisk: course == .synchronized)
        if course == .folder { try folder.folder("a.bin") }
        let lost = TransportError(.connectionLost, phase: .body, request: nil, delivery: .sent)
        let ending: ScriptedBodySource.Ending =
            switch course {
            case .breaksOff: .failure(lost)
            case .cancelled: .stall
            default: .end
            }
        let source = ScriptedBodySource(chunks: Self.chunks(3), then: ending)
        let task = Task { [path = target.path] in
            try await ResponseBody(source).write(toPath: path, options: options, calls: calls)
        }
        if course == .cancelled {
            await source.reachedEnding.waitIgnoringCancellation()
            task.cancel()
        }
        let result = await task.result
        let succeeds = [.whole, .synchronized, .notReplaced].contains(course)
        #expect((try? result.get()) == (succeeds ? Int64(3 * Self.chunkBytes) : nil))
        #expect(most.value == (course == .folder ? 0 : 1) && openDescriptors == 0)
        #expect(try names == (succeeds || course == .folder ? ["a.bin"] : []))
    }

    /// The bytes first, then the name.
    @Test func aDiskIsSynchronizedBeforeAndAfterTheNameIsGiven() async throws {
        let seen = Watched<[[String]]>([])
        var calls = FileCalls.system
        calls.synchronize = { [folder] descriptor in
            seen.change { $0.append((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []) }
            return FileCalls.system.synchronize(descriptor)
        }
        _ = try await body(Self.chunks(1)).write(toPath: target.path, options: FileWriteOptions(synchronizesToDisk: true), calls: calls)
        #expect(seen.value.count == 2 && seen.value.first?.contains("a.bin") == false && seen.value.last == ["a.bin"])
        seen.change { $0 = [] }
        _ = try await body(Self.chunks(1)).write(toPath: target.path, options: .standard, calls: calls)
        #expect(seen.value == [])
    }

    @Test func aFileThatCannotBeSynchronizedIsNotCreated() async throws {
        try folder.write("old", to: "a.bin")
        var calls = FileCalls.system
        calls.synchronize = { _ in EIO }
        let error = await #expect(throws: FileWriteError.self) {
            try await body(Self.chunks(1)).write(toPath: target.path, options: FileWriteOptions(synchronizesToDisk: true), calls: calls)
        }
        #expect(error?.description == "cannot synchronize '\(target.path)': input or output failed (errno 5)")
        #expect(try names == ["a.bin"] && folder.read("a.bin") == Data("old".utf8))
    }

    @Test func theErrorOfAnUnsynchronizedNameSaysThatTheFileExists() async throws {
        var calls = FileCalls.system
        calls.synchronize = { descriptor in
            var status = stat()
            return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR ? EIO : 0
        }
        let error = await #expect(throws: FileWriteError.self) {
            try await body(Self.chunks(1)).write(toPath: target.path, options: FileWriteOptions(synchronizesToDisk: true), calls: calls)
        }
        #expect(
            error?.description
                == "cannot synchronize the folder of '\(target.path)': input or output failed (errno 5); the file is complete, and has its final name"
        )
        #expect(error?.localizedDescription == "The file is complete, but a loss of power may remove it.")
        #expect(try names == ["a.bin"] && folder.read("a.bin") == Data(Self.chunks(1).joined()))
    }

    @Test func theDescriptionOfAFileHasNoControlCharacters() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok, text: "x")))
        let file = try await stub.download(.sample(), to: URL(fileURLWithPath: folder.file("a\u{1b}[31m.bin")))
        #expect(file.description == #"\#(folder.path)/a\u{1b}[31m.bin (1 byte), 200 to GET https://a.example/"#)
    }

    #if !os(iOS) && !os(tvOS) && !os(watchOS) && !os(visionOS)
    @Test func theUmaskTakesNoPermissionAway() async {
        await #expect(processExitsWith: .success) {
            let folder = try TestFolder("umask")
            umask(0o777)
            for permissions: UInt16 in [0o600, 0o644, 0o777] {
                let path = folder.file("\(permissions)")
                try await ResponseBody(Data("x".utf8)).write(toPath: path, options: FileWriteOptions(permissions: permissions))
                let attributes = try FileManager.default.attributesOfItem(atPath: path)
                try #require(attributes[.posixPermissions] as? Int == Int(permissions))
            }
        }
    }
    #endif

    #if canImport(Glibc)
    /// A write that the system itself refuses, after it has accepted a part.
    @Test func aFileThatGrowsTooLargeIsNamedAndLeavesNothing() async {
        await #expect(processExitsWith: .success) {
            let folder = try TestFolder("limit")
            try folder.write("old", to: "a.bin")
            signal(SIGXFSZ, SIG_IGN)
            let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
            var before = rlimit()
            try #require(getrlimit(resource, &before) == 0)
            var limit = rlimit(rlim_cur: 100_000, rlim_max: before.rlim_max)
            try #require(setrlimit(resource, &limit) == 0)
            let path = folder.file("a.bin")
            let error = await #expect(throws: FileWriteError.self) {
                try await ResponseBody(ScriptedBodySource(chunks: FileFaultTests.chunks(4))).write(toPath: path)
            }
            try #require(setrlimit(resource, &before) == 0)
            try #require(error?.description == "cannot write '\(path)': file too large (errno 27)")
            try #require(FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a.bin"])
            try #require(folder.read("a.bin") == Data("old".utf8))
        }
    }
    #endif
}
