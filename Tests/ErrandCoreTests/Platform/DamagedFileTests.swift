import Errand
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ErrandCore

#if canImport(Glibc)
import Glibc
#endif

/// Journals and partial files whose contents, path or disk is not as expected.
@Suite(.timeLimit(.minutes(10))) struct DamagedFileTests {
    private static let quick: FileCalls = {
        var calls = FileCalls.system
        calls.synchronize = { _ in 0 }
        return calls
    }()

    /// "The owner of the file alone can read it (mode 0600)."
    @Test func aJournalReadableByOthersIsMadePrivateOrRefused() throws {
        let folder = try TestFolder("damaged")
        let path = try folder.write(Data("ERRJRNL1".utf8), to: "journal")  // 0644
        let journal = try? JournalFile(path: path, calls: Self.quick)
        try journal?.append(Data("private".utf8))
        let mode = try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
        #expect(journal == nil || mode & 0o077 == 0, "mode \(String(mode, radix: 8))")
    }

    @Test func aJournalAtEveryLengthAndWithEveryOctetChangedIsAPrefix() throws {
        let folder = try TestFolder("damaged")
        let path = folder.file("journal")
        let records = [Data(), Data("a".utf8), Data("ERRJRNL1".utf8), Data(repeating: 0, count: 40), Data(repeating: 255, count: 9)]
        do {
            let journal = try JournalFile(path: path, calls: Self.quick)
            for record in records { try journal.append(record) }
        }
        let whole = try folder.read("journal")
        for length in 0...whole.count {
            try folder.write(whole.prefix(length), to: "journal")
            let journal = try JournalFile(path: path, calls: Self.quick)
            #expect(journal.openedRecords == Array(records.prefix(journal.openedRecords.count)))
            let count = journal.openedRecords.count
            try journal.append(Data("next".utf8))
            journal.close()
            let again = try JournalFile(path: path, calls: Self.quick)
            #expect(again.openedRecords == records.prefix(count) + [Data("next".utf8)] && again.droppedBytes == 0)
        }
        for index in whole.indices {
            var changed = whole
            changed[index] ^= UInt8.random(in: 1...255)
            try folder.write(changed, to: "journal")
            guard let journal = try? JournalFile(path: path, calls: Self.quick) else {
                #expect(index < 8)
                continue
            }
            #expect(index >= 8 && journal.openedRecords == Array(records.prefix(journal.openedRecords.count)))
        }
    }

    @Test func falseLengthsAllocateNothing() throws {
        let folder = try TestFolder("damaged")
        for length in [UInt32.max, UInt32.max - 7, 1 << 31, 1 << 30] {
            var data = Data("ERRJRNL1".utf8)
            withUnsafeBytes(of: length.littleEndian) { data += $0 }
            data += Data(repeating: 0, count: 12)
            try folder.write(data, to: "journal")
            let journal = try JournalFile(path: folder.file("journal"), calls: Self.quick)
            #expect(journal.openedRecords.isEmpty && journal.droppedBytes == 16 && journal.lengthBytes == 8)
        }
    }

    @Test func aLinkFolderOrDeviceIsRefusedAsAFile() throws {
        let folder = try TestFolder("damaged")
        let target = try folder.write("ERRJRNL1", to: "target")
        let link = folder.file("link")
        #expect(symlink(target, link) == 0)
        #expect(throws: FileWriteError.self) { try JournalFile(path: link, calls: Self.quick) }
        for opening in [PartialFile.Opening.new, .existing, .either] {
            #expect(throws: FileWriteError.self) { try PartialFile(path: link, opening) }
            #expect(throws: FileWriteError.self) { try PartialFile(path: folder.path, opening) }
        }
        let pipe = folder.file("pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        #expect(throws: FileWriteError.self) { try JournalFile(path: pipe, calls: Self.quick) }
        // If a link has the name of the replacement, no bytes are written to the target of the link.
        let path = folder.file("journal")
        let journal = try JournalFile(path: path, calls: Self.quick)
        #expect(symlink(target, path + ".new") == 0)
        try journal.replace(with: [Data("x".utf8)])
        #expect(try folder.read("target") == Data("ERRJRNL1".utf8))
        #expect(try JournalFile(path: path, calls: Self.quick).openedRecords == [Data("x".utf8)])
    }

    @Test func aRecordOfManyGigabytesIsRefused() async {
        await #expect(processExitsWith: .success) {
            let folder = try TestFolder("damaged")
            let journal = try JournalFile(path: folder.file("journal"))
            let huge = Data(count: 5 << 30)  // never written, so it takes no memory
            do { try journal.append(huge); exit(3) } catch {}
            do { try journal.replace(with: [huge]); exit(4) } catch {}
            guard !journal.hasRoom(for: .max), journal.hasRoom(for: .min) else { exit(5) }
        }
    }

    @Test func theLimitOfAJournalAppliesToReplacements() throws {
        let folder = try TestFolder("damaged")
        let journal = try JournalFile(path: folder.file("journal"), limitBytes: 64, calls: Self.quick)
        try journal.append(Data("old".utf8))
        #expect(throws: FileWriteError.self) { try journal.replace(with: [Data(count: 49)]) }
        #expect(try JournalFile(path: folder.file("journal"), calls: Self.quick).openedRecords == [Data("old".utf8)])
        try journal.replace(with: [Data(count: 48)])
    }

    /// A write that fails, on a disk that also refuses to remove the written bytes.
    @Test func aTornFrameIsRemovedBeforeTheNextRecord() throws {
        let folder = try TestFolder("damaged")
        let isBroken = Mutex(false)
        var calls = Self.quick
        calls.writeAt = { descriptor, bytes, offset in
            guard isBroken.withLock({ $0 }) else { return FileCalls.system.writeAt(descriptor, bytes, offset) }
            if bytes.count > 9 { return FileCalls.system.writeAt(descriptor, UnsafeRawBufferPointer(rebasing: bytes[..<9]), offset) }
            return -Int(EIO)
        }
        calls.truncate = { isBroken.withLock { $0 } ? EIO : FileCalls.system.truncate($0, $1) }
        let journal = try JournalFile(path: folder.file("journal"), calls: calls)
        try journal.append(Data("first".utf8))
        isBroken.withLock { $0 = true }
        #expect(throws: FileWriteError.self) { try journal.append(Data(repeating: 7, count: 30)) }
        isBroken.withLock { $0 = false }
        try journal.append(Data("x".utf8))
        journal.close()
        let again = try JournalFile(path: folder.file("journal"), calls: calls)
        #expect(again.openedRecords == [Data("first".utf8), Data("x".utf8)] && again.droppedBytes == 0)
    }

    @Test func aPartialFileRefusesInvalidNumbers() throws {
        let folder = try TestFolder("damaged")
        let file = try PartialFile(path: folder.file("part"), .new)
        for offset in [Int64.max, Int64.max - 1, -1, .min] {
            #expect(throws: FileWriteError.self) { try file.write(Data("ab".utf8), at: offset) }
        }
        for length in [Int64.max, -1, .min] { #expect(throws: FileWriteError.self) { try file.truncate(to: length) } }
        #expect(try file.read(count: 10, at: 1 << 40).isEmpty && file.lengthBytes() == 0)
        #expect(throws: FileWriteError.self) { try file.read(count: 10, at: -1) }
        file.close()
        file.close()
        #expect(throws: FileWriteError.self) { try file.write(Data("a".utf8), at: 0) }
        for path in ["", "a\0b", folder.path + "/none/x"] { #expect(throws: FileWriteError.self) { try PartialFile(path: path, .either) } }
    }

    @Test func aJournalThatManyThreadsUseIsWhole() async throws {
        let folder = try TestFolder("damaged")
        let journal = try JournalFile(path: folder.file("journal"), calls: Self.quick)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<400 {
                group.addTask {
                    try? journal.append(Data("\(number)".utf8), synchronizes: number % 2 == 0)
                    if number % 17 == 0 { try? journal.replace(with: [Data("replaced".utf8)]) }
                    if number % 5 == 0 { try? journal.synchronize() }
                }
            }
        }
        let length = journal.lengthBytes
        journal.close()
        let again = try JournalFile(path: folder.file("journal"), calls: Self.quick)
        #expect(again.droppedBytes == 0 && again.lengthBytes == length && again.openedRecords.first == Data("replaced".utf8))
    }
}
