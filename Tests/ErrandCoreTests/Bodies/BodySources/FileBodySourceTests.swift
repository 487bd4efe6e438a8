import Dispatch
import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import ErrandCore

/// A body that is read from a file.
@Suite(.timeLimit(.minutes(5))) struct FileBodySourceTests {
    /// A disk that returns nothing until it is released.
    private struct SlowDisk {
        let begun = Counter()
        let gate = DispatchSemaphore(value: 0)
        let wereInTask = Watched<[Bool]>([])

        var calls: FileCalls {
            var calls = FileCalls.system
            calls.read = { [begun, gate, wereInTask] descriptor, bytes, offset in
                let isInTask = withUnsafeCurrentTask { $0 != nil }
                wereInTask.change { $0.append(isInTask) }
                begun.add(1)
                guard gate.wait(timeout: .now() + 20) == .success else { return -Int(ETIMEDOUT) }
                return FileCalls.system.read(descriptor, bytes, offset)
            }
            return calls
        }

        func release(_ count: Int) { for _ in 0..<count { gate.signal() } }
    }

    private func source(_ file: TemporaryFile, to end: Int64, _ calls: FileCalls = .system) throws -> FileBodySource {
        FileBodySource(try ReadOnlyFile(path: file.path), path: file.path, from: 0, to: end, calls: calls)
    }

    @Test func chunksOfAFileComeInOrder() async throws {
        let words = Array(UInt32(0)..<75_000).withUnsafeBytes { Data($0) }
        let folder = try TestFolder("file-source")
        let source = try await RequestBody.file(atPath: folder.write(words, to: "a")).open()
        var (read, counts) = (Data(), [Int]())
        while let chunk = try await source.next() {
            read.append(chunk)
            counts.append(chunk.count)
        }
        #expect(read == words && counts == [131_072, 131_072, 37_856])
    }

    /// One blocked read for each cooperative thread would hold up every task of the process.
    @Test func aSlowDiskBlocksNoTask() async throws {
        let file = try TemporaryFile("0123456789")
        let disk = SlowDisk()
        // Not all of the threads for blocking work: other tests need some at the same time.
        let count = min(ProcessInfo.processInfo.activeProcessorCount, BlockingWork.width / 2)
        let read = try await withThrowingTaskGroup(of: Data?.self) { group in
            for _ in 0..<count {
                let source = try source(file, to: 10, disk.calls)
                group.addTask { try await source.next() }
            }
            await eventually { disk.begun.value == count }
            disk.release(count)
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(read == Array(repeating: Data("0123456789".utf8), count: count))
        #expect(disk.wereInTask.value == Array(repeating: false, count: count))
    }

    @Test func aReaderThatIsCancelledWhileTheDiskIsSlowLeavesNoDescriptor() async throws {
        let file = try TemporaryFile("0123456789")
        try #require(file.openDescriptors != nil, "no /proc here")
        let disk = SlowDisk()
        let source = try source(file, to: 10, disk.calls)
        let task = Task { try await source.next() }
        await eventually { disk.begun.value == 1 }
        #expect(file.openDescriptors == 1)
        task.cancel()
        await #expect(throws: CancellationError.self, "the reader does not wait for the disk") { try await task.value }
        source.abandon()
        #expect(file.openDescriptors == 1, "the read still needs it")
        disk.release(1)
        await eventually { file.openDescriptors == 0 }
        #expect(try await source.next() == nil)
    }

    @Test func aReadThatIsInterruptedIsRepeatedAndAFailureIsNamed() async throws {
        let file = try TemporaryFile("0123456789")
        let turns = Counter()
        var calls = FileCalls.system
        calls.read = { descriptor, bytes, offset in
            if turns.add(1) == 1 { return -Int(EINTR) }
            return offset == 0 ? FileCalls.system.read(descriptor, .init(rebasing: bytes.prefix(3)), offset) : -Int(EIO)
        }
        let source = try source(file, to: 10, calls)
        #expect(try await source.next() == Data("012".utf8))
        let error = await #expect(throws: FileReadError.self) { try await source.next() }
        #expect(error?.description == "cannot read '\(file.path)': input or output failed (errno 5)")
    }

    /// To open a pipe would wait for somebody who writes.
    @Test func aPipeInPlaceOfTheFileFailsImmediately() async throws {
        let folder = try TestFolder("file-pipe")
        let path = try folder.write("0123456789", to: "a")
        let body = try RequestBody.file(atPath: path)
        try FileManager.default.removeItem(atPath: path)
        #expect(mkfifo(path, 0o600) == 0)
        let error = await #expect(throws: FileReadError.self) { try await chunks(of: body.open()) }
        #expect(error?.description == "cannot read '\(path)': it is not a regular file")
    }

    /// A device may have no end.
    @Test func aDeviceOrAFolderInPlaceOfTheFileIsNotSent() async throws {
        let folder = try TestFolder("file-device")
        let path = try folder.write("0123456789", to: "a")
        let body = try RequestBody.file(atPath: path)
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/zero")
        let device = await #expect(throws: FileReadError.self) { try await body.open() }
        #expect(device?.description == "cannot read '\(path)': it is not a regular file")
        try FileManager.default.removeItem(atPath: path)
        try folder.folder("a")
        let directory = await #expect(throws: FileReadError.self) { try await body.open() }
        #expect(directory?.code == EISDIR)
    }
}
