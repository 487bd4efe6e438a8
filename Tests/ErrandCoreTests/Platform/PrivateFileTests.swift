import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct PrivateFileTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder("private") }

    // MARK: The lock

    @Test func theWaitForALockIsMeasuredByTheClock() async throws {
        let (path, clock) = (folder.file("lock"), ManualClock())
        let first = try #require(try await PrivateFile.lock(path, within: .seconds(1), clock: clock))
        let waiting = Task { try await PrivateFile.lock(path, within: .milliseconds(50), clock: clock) != nil }
        for _ in 0..<3 {
            try await clock.sleepers(atLeast: 1)
            #expect(clock.nextSleeper == .milliseconds(20))
            clock.advance(by: .milliseconds(20))
        }
        #expect(try await waiting.value == false)
        first.release()
        #expect(try await PrivateFile.lock(path, within: .zero, clock: clock) != nil)
        #expect(clock.sleeperCount == 0)
    }

    @Test func aLockThatIsReleasedIsTakenAtTheNextStep() async throws {
        let (path, clock) = (folder.file("lock"), ManualClock())
        let first = try #require(try await PrivateFile.lock(path, within: .seconds(1), clock: clock))
        let waiting = Task { try await PrivateFile.lock(path, within: .seconds(100), clock: clock) != nil }
        try await clock.sleepers(atLeast: 1)
        first.release()
        clock.advance(by: .milliseconds(20))
        #expect(try await waiting.value)
    }

    @Test func aCancelledWaitForALockEnds() async throws {
        let (path, clock) = (folder.file("lock"), ManualClock())
        let first = try #require(try await PrivateFile.lock(path, within: .seconds(1), clock: clock))
        let waiting = Task { try await PrivateFile.lock(path, within: .seconds(100), clock: clock) != nil }
        try await clock.sleepers(atLeast: 1)
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        first.release()
    }

    /// A program that another thread starts has a copy of the lock for a moment.
    @Test func aReservationInUseIsTriedFiftyTimes() async throws {
        let path = folder.file("secret")
        try await PrivateFile.write(Data("old".utf8), to: path)
        try await PrivateFile.reserve(path)
        let lock = try FileLock(path: path + ".part")
        #expect(try lock.take())
        var pauses: [Duration] = []
        if ReservedFile.existing(for: path, pause: { pauses.append($0) }) != nil { Issue.record("the file is in use") }
        #expect(pauses == Array(repeating: .milliseconds(10), count: 50))
        pauses = []
        let file = ReservedFile.existing(for: path) { pause in
            pauses.append(pause)
            if pauses.count == 3 { lock.release() }
        }
        #expect(pauses.count == 3)
        if let file { file.discard() } else { Issue.record("the file is free") }
    }

    // MARK: Limits

    @Test func theLimitIsAParameter() async throws {
        let path = folder.file("secret")
        try await PrivateFile.write(Data(count: 2_000_000), to: path)
        await #expect(throws: FileReadError.self) { try await PrivateFile.read(path) }
        #expect(try await PrivateFile.read(path, limitBytes: 2_000_000)?.count == 2_000_000)
        let error = await #expect(throws: FileReadError.self) { try await PrivateFile.read(path, limitBytes: 1_999_999) }
        #expect(error?.code == EFBIG && error?.description.contains("it has more than 1999999 bytes") == true)
        try await PrivateFile.reserve(path, limitBytes: 100)
        let part = try FileManager.default.attributesOfItem(atPath: path + ".part")[.size] as? Int
        #expect(part == 100 + PrivateFile.reservedGrowthBytes)
    }
}
