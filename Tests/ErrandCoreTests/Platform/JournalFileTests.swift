import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct JournalFileTests {
    private let folder: TestFolder
    private var path: String { folder.file("journal") }

    init() throws { folder = try TestFolder("journal") }

    /// After a process has closed the file, the process may no longer have the lock of the file.
    @Test func aClosedJournalReplacesNothing() throws {
        try fill([Data("first".utf8)])
        let journal = try JournalFile(path: path, calls: Self.quick)
        journal.close()
        #expect(throws: FileWriteError.self) { try journal.replace(with: [Data("second".utf8)]) }
        #expect(throws: FileWriteError.self) { try journal.append(Data("third".utf8)) }
        #expect(try JournalFile(path: path, calls: Self.quick).openedRecords == [Data("first".utf8)])
    }

    /// Records of many lengths, which hold frames themselves.
    private static let records: [Data] =
        [0, 1, 3, 7, 8, 9, 40].map { count in Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ count) }) } + [
            Data("ERRJRNL1".utf8), frame(Data("inner".utf8)),
        ]

    private static func frame(_ record: Data) -> Data {
        let length = withUnsafeBytes(of: UInt32(record.count).littleEndian) { Data($0) }
        return length + withUnsafeBytes(of: CRC32.of(length, record).littleEndian) { Data($0) } + record
    }

    private static let header = Data("ERRJRNL1".utf8)
    private static func file(_ records: some Sequence<Data>) -> Data { records.reduce(header) { $0 + frame($1) } }

    /// A disk that is quick.
    private static let quick: FileCalls = {
        var calls = FileCalls.system
        calls.synchronize = { _ in 0 }
        return calls
    }()

    private func fill(_ records: [Data]) throws {
        let journal = try JournalFile(path: path, calls: Self.quick)
        for record in records { try journal.append(record) }
    }

    private func reopened() throws -> [Data] { try JournalFile(path: path, calls: Self.quick).openedRecords }

    @Test func theChecksumMatchesRFC1952() {
        #expect(CRC32.of(Array("123456789".utf8)) == 0xCBF4_3926)
        #expect(CRC32.of(Array("1234".utf8), Array("56789".utf8)) == 0xCBF4_3926 && CRC32.of([UInt8]()) == 0)
    }

    @Test func aReopenedJournalHasItsRecords() throws {
        try fill(Self.records)
        #expect(try folder.read("journal") == Self.file(Self.records))
        let again = try JournalFile(path: path)
        #expect(again.openedRecords == Self.records && again.droppedBytes == 0 && again.lengthBytes == Self.file(Self.records).count)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    // MARK: Files after a crash

    @Test func aFileThatIsCutAnywhereHasTheWholeRecordsBeforeTheCut() throws {
        let whole = Self.file(Self.records)
        for cut in 0...whole.count {
            try whole.prefix(cut).write(to: URL(fileURLWithPath: path))
            let journal = try JournalFile(path: path, calls: Self.quick)
            let count = (0...Self.records.count).last { Self.file(Self.records.prefix($0)).count <= max(cut, 8) } ?? 0
            #expect(journal.openedRecords == Array(Self.records.prefix(count)), "cut at \(cut)")
            #expect(journal.droppedBytes == (cut < 8 ? 0 : cut - Self.file(Self.records.prefix(count)).count))
            #expect(try folder.read("journal").count == journal.lengthBytes, "cut at \(cut)")
            // The next record is not read as a part of the dropped record.
            try journal.append(Data("next".utf8))
            #expect(try reopened() == Array(Self.records.prefix(count)) + [Data("next".utf8)], "cut at \(cut)")
        }
    }

    @Test func aRecordThatWasDamagedIsNeverRead() throws {
        let whole = Self.file(Self.records)
        for index in 8..<whole.count {
            for change in [UInt8(1), 0x80, 0xFF] {
                var damaged = whole
                damaged[index] ^= change
                try damaged.write(to: URL(fileURLWithPath: path))
                let records = try reopened()
                let count = (0...Self.records.count).last { Self.file(Self.records.prefix($0)).count <= index } ?? 0
                #expect(records == Array(Self.records.prefix(count)), "octet \(index)")
            }
        }
    }

    @Test func aFileOfAnotherFormatIsUnchanged() throws {
        for content in ["ERRJRNL2", "x", "some text of a person", "ERRJRNX"] {
            try folder.write(content, to: "journal")
            let error = try #require(throws: FileWriteError.self) { try JournalFile(path: path) }
            #expect(error.description.contains("it is not a journal of this version"))
            #expect(try folder.read("journal") == Data(content.utf8))
        }
        try FileManager.default.removeItem(atPath: path)
        let target = try folder.write("old", to: "target")
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
        #expect(throws: FileWriteError.self) { try JournalFile(path: path) }
        #expect(try folder.read("target") == Data("old".utf8))
    }

    // MARK: Bounds

    @Test func theFileIsBounded() throws {
        let journal = try JournalFile(path: path, limitBytes: 64)
        #expect(journal.hasRoom(for: 48) && !journal.hasRoom(for: 49))
        #expect(throws: FileWriteError.self) { try journal.append(Data(count: 49)) }
        try journal.append(Data(count: 48))
        #expect(journal.lengthBytes == 64 && !journal.hasRoom(for: 0))
        let error = try #require(throws: FileWriteError.self) { try journal.append(Data()) }
        #expect(error.code == EFBIG)
        #expect(throws: FileWriteError.self) { try journal.replace(with: [Data(count: 40), Data()] + [Data(count: 40)]) }
        #expect(try JournalFile(path: path, limitBytes: 64).openedRecords == [Data(count: 48)])
        try fill(Array(repeating: Data(count: 10), count: 10))
        let large = try #require(throws: FileWriteError.self) { try JournalFile(path: path, limitBytes: 64) }
        #expect(large.code == EFBIG && FileManager.default.fileExists(atPath: path))
    }

    @Test func recordsAreReplaced() throws {
        let journal = try JournalFile(path: path)
        for record in Self.records { try journal.append(record) }
        try journal.replace(with: [Data("only".utf8)])
        try journal.append(Data("then".utf8))
        #expect(try reopened() == [Data("only".utf8), Data("then".utf8)] && journal.lengthBytes == 8 + 8 + 4 + 8 + 4)
        try journal.replace(with: [])
        #expect(try reopened() == [] && FileManager.default.contentsOfDirectory(atPath: folder.path) == ["journal"])
        journal.close()
        #expect(throws: FileWriteError.self) { try journal.append(Data()) }
        #expect(throws: FileWriteError.self) { try journal.synchronize() }
    }

    /// A process that was killed while it replaced the records leaves the other file.
    @Test func theFileOfAnInterruptedReplacementIsRemoved() throws {
        try fill([Data("a".utf8)])
        try folder.write("half", to: "journal.new")
        let journal = try JournalFile(path: path)
        #expect(journal.openedRecords == [Data("a".utf8)] && !FileManager.default.fileExists(atPath: path + ".new"))
        try folder.write("half", to: "journal.new")
        try journal.replace(with: [Data("b".utf8)])
        #expect(try reopened() == [Data("b".utf8)])
    }

    // MARK: Every call

    /// Calls the system, and does something else at one of the calls.
    private final class Faults: Sendable {
        private let count = Atomic(0)
        private let fault: @Sendable (_ number: Int) -> Int32

        /// - Parameter fault: returns an error number for a call, by its number from 1; 0 lets the system do it.
        init(_ fault: @escaping @Sendable (_ number: Int) -> Int32) { self.fault = fault }

        var total: Int { count.load(ordering: .relaxed) }
        private func next() -> Int32 { fault(count.add(1, ordering: .relaxed).newValue) }

        var calls: FileCalls {
            var calls = FileCalls.system
            calls.writeAt = { descriptor, bytes, offset in
                let code = self.next()
                // A disk that is almost full takes as many bytes as it has room for.
                if code != 0, bytes.count > 1, self.total % 2 == 0 {
                    return FileCalls.system.writeAt(descriptor, UnsafeRawBufferPointer(rebasing: bytes.prefix(bytes.count / 2)), offset)
                }
                return code == 0 ? FileCalls.system.writeAt(descriptor, bytes, offset) : -Int(code)
            }
            calls.truncate = { descriptor, length in
                let code = self.next()
                return code == 0 ? FileCalls.system.truncate(descriptor, length) : code
            }
            calls.synchronize = { descriptor in
                let code = self.next()
                return code
            }
            calls.rename = { old, new in
                let code = self.next()
                return code == 0 ? FileCalls.system.rename(old, new) : code
            }
            return calls
        }
    }

    /// Appends, replaces and appends. Returns, after each step, the acknowledged records, and the records that the file may also have.
    private func run(_ calls: FileCalls, after step: (_ certain: [Data], _ possible: [[Data]]) throws -> Void) throws {
        let journal: JournalFile
        do { journal = try JournalFile(path: path, calls: calls) } catch { return try step([], [[]]) }
        var certain: [Data] = []
        // The disk may also refuse to remove a record that was not acknowledged: the next one that is acknowledged removes it.
        var left: [Data] = []
        for number in 0..<4 {
            let record = Data("record \(number)".utf8)
            do {
                try journal.append(record)
                certain.append(record)
                left = []
            } catch {
                left.append(record)
            }
            try step(certain, [certain] + left.map { certain + [$0] })
            guard number == 1 else { continue }
            let new = [Data("replaced".utf8)]
            do {
                try journal.replace(with: new)
                (certain, left) = (new, [])
            } catch {
                if error.operation == FileWriteError.folderSynchronization { (certain, left) = (new, []) }
            }
            try step(certain, [certain] + left.map { certain + [$0] })
        }
    }

    /// The number of calls of a run without faults.
    private func callCount() throws -> Int {
        let faults = Faults { _ in 0 }
        try run(faults.calls) { _, _ in }
        try FileManager.default.removeItem(atPath: path)
        return faults.total
    }

    @Test func aFaultAtAnyCallLosesNoAcknowledgedRecord() throws {
        let count = try callCount()
        #expect(count > 12)
        for first in 1...count {
            for width in [1, 2, 3, .max] {
                let faults = Faults { $0 >= first && $0 - first < width ? ENOSPC : 0 }
                try run(faults.calls) { certain, possible in
                    // Another process opens the file. The test uses a copy, because opening a file repairs the file.
                    let copy = try copied()
                    let records = (try? JournalFile(path: copy, calls: Self.quick).openedRecords) ?? []
                    #expect(possible.contains(records), "fault at \(first), \(width) calls: \(records.count) of \(certain.count)")
                }
                try? FileManager.default.removeItem(atPath: path)
                #expect(!FileManager.default.fileExists(atPath: path + ".new"))
            }
        }
    }

    /// Copies the files to another folder, as they are at this moment, and returns the path of the journal there.
    private func copied(_ number: Int = 0) throws -> String {
        let other = folder.file("copy\(number)")
        try? FileManager.default.removeItem(atPath: other)
        try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: true)
        for name in ["journal", "journal.new"] where FileManager.default.fileExists(atPath: folder.file(name)) {
            try FileManager.default.copyItem(atPath: folder.file(name), toPath: other + "/" + name)
        }
        return other + "/journal"
    }

    @Test func aKillBeforeAnyCallKeepsAcknowledgedRecords() throws {
        let count = try callCount()
        let acknowledged = Mutex<[Data]>([])
        let copies = Mutex<[(path: String, acknowledged: [Data])]>([])
        let faults = Faults { [self] number in
            let before = acknowledged.withLock { $0 }
            if let copy = try? copied(number) { copies.withLock { $0.append((copy, before)) } }
            return 0
        }
        try run(faults.calls) { certain, _ in acknowledged.withLock { $0 = certain } }
        let all = copies.withLock { $0 }
        #expect(all.count == count)
        let replaced = [Data("replaced".utf8)]
        for (number, (copy, before)) in all.enumerated() {
            let records = try JournalFile(path: copy, calls: Self.quick).openedRecords
            let next = before + [Data("record \(before.first == replaced.first ? before.count + 1 : before.count)".utf8)]
            #expect([before, next, replaced].contains(records), "killed before call \(number + 1)")
            #expect(!FileManager.default.fileExists(atPath: copy + ".new"))
        }
        let bounds = [Data("replaced".utf8), Data("record 2".utf8), Data("record 3".utf8)]
        #expect(try reopened() == bounds)
    }

    @Test func theBytesAreSynchronizedBeforeTheName() throws {
        let steps = Mutex<[String]>([])
        var calls = FileCalls.system
        calls.synchronize = { descriptor in
            var octet: UInt8 = 0
            let isFolder = pread(descriptor, &octet, 1, 0) < 0 && errno == EISDIR
            steps.withLock { $0.append(isFolder ? "folder" : "file") }
            return 0
        }
        calls.rename = { old, new in
            steps.withLock { $0.append("rename") }
            return FileCalls.system.rename(old, new)
        }
        let journal = try JournalFile(path: path, calls: calls)
        #expect(steps.withLock { $0 } == ["file", "folder"])
        try journal.append(Data("a".utf8))
        try journal.append(Data("b".utf8), synchronizes: false)
        #expect(steps.withLock { $0 } == ["file", "folder", "file"])
        try journal.synchronize()
        #expect(steps.withLock { $0 } == ["file", "folder", "file", "file"])
        try journal.replace(with: [])
        #expect(steps.withLock { $0.dropFirst(4) } == ["file", "rename", "folder"])
    }
}
