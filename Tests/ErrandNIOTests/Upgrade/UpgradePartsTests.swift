#if SWIFT_NIO
import ErrandCore
import Foundation
import TestSupport
import Testing

@testable import ErrandNIO

/// The parts of an upgrade that need no socket.
@Suite(.timeLimit(.minutes(5))) struct UpgradePartsTests {
    @Test(arguments: [
        (nil, "Upgrade"), ("close", "close, Upgrade"), ("keep-alive, UPGRADE", "keep-alive, UPGRADE"), ("", "Upgrade"),
    ])
    func theFieldsOfTheRequestAreCompleted(options: String?, connection: String) {
        var own: HTTPFields = [.accept: "*/*", .upgrade: "other"]
        own[.connection] = options
        let request = UpgradeRequest(protocolName: "websocket")
        let head = request.added(to: HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/", headerFields: own))
        #expect(head.headerFields[values: .upgrade] == ["websocket"])
        #expect(head.headerFields[values: .connection] == [connection])
        #expect(head.headerFields[.accept] == "*/*")
    }

    @Test(arguments: [("WebSocket", true), ("websocket", true), ("websocket/13", false), ("websocket, h2c", false), ("", false)])
    func onlyTheRequestedProtocolIsAccepted(value: String, isAccepted: Bool) {
        let head = HTTPResponse(status: .switchingProtocols, headerFields: [.upgrade: value])
        #expect(UpgradeRequest(protocolName: "websocket").isAccepted(by: head) == isAccepted)
        #expect(!UpgradeRequest(protocolName: "websocket").isAccepted(by: HTTPResponse(status: .switchingProtocols)))
    }

    /// By octets: a mark makes another letter of the one before it, and costs no time.
    @Test func theProtocolIsComparedByItsOctets() {
        let request = UpgradeRequest(protocolName: "websocket")
        for value in ["websocket\u{300}", "web\u{17F}ocket", "websoc\u{212A}et"] {
            #expect(!request.isAccepted(by: HTTPResponse(status: .switchingProtocols, headerFields: [.upgrade: value])))
        }
        let ratio = growth(of: 2000) {
            HTTPResponse(status: .switchingProtocols, headerFields: [.upgrade: "w" + String(repeating: "\u{300}\u{316}", count: $0)])
        } _: { response in
            expect(!request.isAccepted(by: response))
        }
        #expect(ratio < 24)
    }

    @Test func writesAreTakenTogetherInTheirOrder() throws {
        var writes = UpgradedWrites()
        expect(try writes.append(Data([1])))
        expect(try !writes.append(Data([2])))
        expect(try !writes.appendEnd(TestError("1")))
        let (chunks, ends) = writes.take()
        #expect(chunks == [Data([1]), Data([2])])
        #expect(ends)
        let (none, endsAgain) = writes.take()
        #expect(none.isEmpty && !endsAgain)
    }

    @Test func noPieceIsAddedAfterTheEnd() throws {
        var writes = UpgradedWrites()
        expect(try writes.appendEnd(TestError("1")))
        #expect(throws: TestError("1")) { _ = try writes.append(Data([1])) }
        #expect(throws: TestError("1")) { _ = try writes.appendEnd(TestError("2")) }
        writes.close(TestError("3"))
        #expect(throws: TestError("3")) { _ = try writes.append(Data([1])) }
        let (chunks, ends) = writes.take()
        #expect(chunks.isEmpty && !ends)
    }

    // MARK: - The window

    @Test func aWindowHoldsEveryWriterUntilThereIsRoom() async throws {
        let window = WriteWindow()
        try window.count(WriteWindow.limitBytes + 30)
        let executor = QueueExecutor()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 { group.addTask(executorPreference: executor) { try await window.wait() } }
            // The last one waits until everything has left.
            group.addTask(executorPreference: executor) { try await window.wait(upTo: 0) }
            await executor.drain()
            window.remove(30)
            for _ in 0..<3 { try await group.next() }
            window.remove(WriteWindow.limitBytes)
            try await group.next()
        }
    }

    @Test func aCancelledWriterDoesNotWakeTheOthers() async throws {
        let window = WriteWindow()
        try window.count(WriteWindow.limitBytes + 1)
        let executor = QueueExecutor()
        let cancelled = Task(executorPreference: executor) { try await window.wait() }
        let waiting = Task(executorPreference: executor) { try await window.wait() }
        await executor.drain()
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        window.close(because: TestError("1"))
        await #expect(throws: TestError("1")) { try await waiting.value }
        #expect(throws: TestError("1")) { try window.count(1) }
    }

    @Test func bytesSentBeforeTheEndAreNoFailure() async throws {
        let window = WriteWindow()
        try window.count(1)
        window.remove(1)
        window.close(because: TestError("1"))
        try await window.wait(upTo: 0)
    }
}
#endif
