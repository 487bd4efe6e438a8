import Errand
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ErrandConformance

/// A descriptor or a file that is left is seen whoever runs beside; work, and that there is nothing, only where nobody does.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct LeakTraitTests {
    private static let quick = LeakTrait(settling: .milliseconds(50), temporaryPrefixes: [TestFolder.prefix])
    private static let isAlone = !LeakTrait.isRunParallel
    private static let notAlone: Comment = "other tests may run beside it: swift test --no-parallel"

    private func perform(_ trait: LeakTrait = quick, _ body: @escaping @Sendable @concurrent () async throws -> Void) async throws {
        try await trait.provideScope(for: try #require(Test.current), testCase: Test.Case.current, performing: body)
    }

    /// Expects that the trait names each of these resources as left behind.
    private func expectLeft(
        _ phrases: String..., by trait: LeakTrait = quick, _ body: @escaping @Sendable @concurrent () async throws -> Void
    ) async throws {
        try await withKnownIssue {
            try await perform(trait, body)
        } matching: { issue in
            let text = issue.comments.map(\.rawValue).joined()
            return text.hasPrefix("the test left open:  ") && phrases.allSatisfy(text.contains)
        }
    }

    /// Keeps what a body leaves behind until the test is over.
    private final class Kept<Value: Sendable>: Sendable {
        private let value = Mutex<Value?>(nil)
        func keep(_ value: Value) { self.value.withLock { $0 = value } }
        func take() -> Value? {
            value.withLock { value in
                defer { value = nil }
                return value
            }
        }
    }

    // MARK: Leaks

    #if SWIFT_NIO
    @Test(.enabled(if: ClientSockets.areKnown, Comment(rawValue: ClientSockets.unknown)))
    func anOpenConnectionOfATransportIsReported() async throws {
        let server = try RawServer.responding { connection, _, _ in try connection.respond(body: Data("ok".utf8)) }
        defer { server.stop() }
        let kept = Kept<NIOTransport>()
        try await expectLeft("→ 127.0.0.1:\(server.port) (established)", "a TCP socket 127.0.0.1:\(server.port) → 127.0.0.1:") {
            let transport = NIOTransport()
            kept.keep(transport)
            let data = try await transport.send(Request(.get, url: server.url())).body.collect()
            #expect(data == Data("ok".utf8))
        }
        try await kept.take()?.shutdown()
    }

    @Test(.enabled(if: isAlone, notAlone))
    func aClosedTransportPasses() async throws {
        try await perform {
            let server = try RawServer.responding { connection, _, _ in try connection.respond(body: Data("ok".utf8)) }
            defer { server.stop() }
            try await withTransport(NIOTransport()) { transport in
                let data = try await transport.send(Request(.get, url: server.url())).body.collect()
                #expect(data == Data("ok".utf8))
            }
        }
    }
    #endif

    @Test(.enabled(if: ClientSockets.areKnown, Comment(rawValue: ClientSockets.unknown)))
    func aListeningSocketIsReported() async throws { try await expectListener(on: "127.0.0.1", shown: "127.0.0.1:") }

    @Test(
        .enabled(if: ClientSockets.areKnown, Comment(rawValue: ClientSockets.unknown)),
        .enabled(if: LoopbackPorts.haveIPv6, "no IPv6 on the loopback interface"))
    func aListeningSocketOnIPv6IsReported() async throws { try await expectListener(on: "::1", shown: "[::1]:") }

    private func expectListener(on host: String, shown address: String) async throws {
        let kept = Kept<RawServer>()
        try await expectLeft("a TCP socket \(address)", " (listening)") { kept.keep(try RawServer(host: host) { $0.waitForEnd() }) }
        kept.take()?.stop()
    }

    @Test(.enabled(if: ClientSockets.areKnown, Comment(rawValue: ClientSockets.unknown)))
    func anOpenFileIsReported() async throws {
        let folder = try TestFolder("leak")
        let path = try folder.write("content", to: "file")
        let kept = Kept<any BodySource>()
        try await expectLeft("the open file \(path)") {
            let source = try await RequestBody.file(atPath: path).open()
            _ = try await source.next()
            kept.keep(source)
        }
        kept.take()?.abandon()
    }

    @Test(.enabled(if: ClientSockets.areKnown, Comment(rawValue: ClientSockets.unknown)))
    func anOpenPipeIsReported() async throws {
        let kept = Kept<Pipe>()
        try await expectLeft("a pipe:[", ", 2 times") { kept.keep(Pipe()) }
        _ = kept.take()
    }

    @Test func aTemporaryFileIsReported() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(TestFolder.prefix)left-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await expectLeft("the temporary file \(path)") { try Data("left".utf8).write(to: URL(fileURLWithPath: path)) }
    }

    @Test func aFileInANamedFolderIsReported() async throws {
        let folder = try TestFolder("leak")
        let trait = LeakTrait(settling: .milliseconds(50), temporaryFolders: [folder.path], temporaryPrefixes: ["part-", "cache"])
        try await expectLeft("the temporary file \(folder.path)/part-1", "\(folder.path)/cache", by: trait) {
            for name in ["part-1", "cache", "other"] { _ = try folder.write("left", to: name) }
        }
    }

    @Test(.enabled(if: isAlone, notAlone))
    func aFileFromBeforeTheTestPasses() async throws {
        let folder = try TestFolder("leak")
        let trait = LeakTrait(settling: .milliseconds(50), temporaryFolders: [folder.path], temporaryPrefixes: ["part-"])
        try folder.write("more", to: "part-1")
        try await perform(trait) { _ = try folder.write("what was there", to: "part-1") }
    }

    @Test(.enabled(if: isAlone, notAlone))
    func anExchangeInProgressIsReported() async throws {
        let stub = StubTransport(Stub().responds(.stream([Data("a".utf8)])))
        let kept = Kept<Response>()
        try await expectLeft("the test left open:  an exchange that has not ended") {
            kept.keep(try await stub.send(Request(.get, url: "https://a.example/")))
        }
        kept.take()?.body.abandon()
    }

    @Test(.enabled(if: isAlone, notAlone))
    func anUnawaitedSingleFlightIsReported() async throws {
        let flight = SingleFlight<Int, Void>()
        let (mayEnd, end) = AsyncStream<Void>.makeStream()
        try await expectLeft("the test left open:  a single flight in progress") {
            let (begun, begin) = AsyncStream<Void>.makeStream()
            let caller = Task {
                try await flight.run(1, mustFinish: true) {
                    begin.finish()
                    for await _ in mayEnd {}
                }
            }
            for await _ in begun {}
            caller.cancel()
            _ = await caller.result
        }
        end.finish()
        try await poll("the flight to end", value: { flight.count }) { $0 == 0 }
    }

    // MARK: Tests without leaks

    @Test(.enabled(if: isAlone, notAlone))
    func anEmptyTestPasses() async throws {
        try await perform {}
    }

    @Test(.enabled(if: isAlone, notAlone))
    func theTraitWaitsForResourcesThatClose() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(TestFolder.prefix)late-\(UUID().uuidString)").path
        let late = Kept<Task<Void, any Error>>()
        try await perform(LeakTrait(settling: .seconds(10), temporaryPrefixes: [TestFolder.prefix])) {
            try Data().write(to: URL(fileURLWithPath: path))
            late.keep(
                Task {
                    try await Task.sleep(for: .milliseconds(30))  // some of the trait's looks, which are 5 ms apart
                    try FileManager.default.removeItem(atPath: path)
                })
        }
        #expect(!FileManager.default.fileExists(atPath: path))
        try await late.take()?.value
    }

    @Test(.enabled(if: isAlone, notAlone))
    func ignoredFilesPass() async throws {
        let folder = try TestFolder("leak")
        let path = try folder.write("content", to: "file")
        let kept = Kept<FileHandle>()
        try await perform(LeakTrait(settling: .milliseconds(50), ignoring: [folder.path], temporaryPrefixes: [TestFolder.prefix])) {
            kept.keep(try #require(FileHandle(forReadingAtPath: path)))
        }
        try kept.take()?.close()
    }

    @Test(.enabled(if: isAlone, notAlone))
    func endedOrReleasedExchangesPass() async throws {
        try await perform {
            let stub = StubTransport(Stub().responds(.stream([Data("a".utf8)])))
            _ = try await stub.send(Request(.get, url: "https://a.example/")).body.collect()
            _ = try await stub.send(Request(.get, url: "https://a.example/"))
            let lifetime = ExchangeLifetime()
            lifetime.end(.complete)
            lifetime.end(.abandoned)
            _ = (ExchangeLifetime(), ExchangeLifetime(outcome: .complete))
        }
    }

    // MARK: Applying the trait

    @Test func theErrorOfTheTestIsThrown() async throws {
        let trait = LeakTrait(settling: .zero, temporaryPrefixes: [TestFolder.prefix])
        await withKnownIssue(isIntermittent: true) {  // of what runs beside
            await #expect(throws: TestError.self) { try await perform(trait) { throw TestError() } }
        } matching: { issue in
            issue.comments.contains { $0.rawValue.hasPrefix("the test left open:  ") }
        }
    }

    @Test func aTraitWithinATraitDoesNotWaitForItself() async throws {
        let folder = try TestFolder("leak")
        let outer = LeakTrait(settling: .milliseconds(50), temporaryPrefixes: [TestFolder.prefix])
        let inner = LeakTrait(settling: .milliseconds(50), temporaryFolders: [folder.path], temporaryPrefixes: ["inner"])
        try await withKnownIssue {
            try await perform(outer) {
                try await inner.provideScope(for: #require(Test.current), testCase: nil) {
                    _ = try folder.write("left", to: "inner")
                }
            }
        } matching: {
            $0.comments.contains { $0.rawValue.hasPrefix("the test left open:  ") }
        }
    }

    @Suite(.leavesNothingBehind(temporaryPrefixes: [TestFolder.prefix], inParallelRuns: false))
    struct AppliedTests {
        private static let running = Atomic(0)

        /// Only one runs at a time, in whatever order the cases come.
        @Test(.enabled(if: isAlone, notAlone), arguments: 0..<8)
        func casesRunOneAtATime(number: Int) async throws {
            #expect(Self.running.wrappingAdd(1, ordering: .relaxed).newValue == 1)
            for _ in 0..<10 { await Task.yield() }
            Self.running.wrappingSubtract(1, ordering: .relaxed)
        }

        @Test(.leavesNothingBehind(settling: .zero, temporaryPrefixes: [TestFolder.prefix], inParallelRuns: false))
        func aTestCanHaveItsOwnTrait() {}
    }

    @Test(arguments: [
        ("0100007F:1F90", "127.0.0.1:8080"), ("00000000:0000", "0.0.0.0:0"),
        ("00000000000000000000000001000000:01BB", "[::1]:443"), ("00000000000000000000000000000000:0050", "[::]:80"),
        ("B80D01200000000067452301EFCDAB89:0001", "[2001:db8:0:0:123:4567:89ab:cdef]:1"), ("nonsense", "nonsense"), ("12:34", "12:34"),
    ])
    func anAddressIsShownInItsUsualNotation(text: String, shown: String) {
        #expect(SocketTable.address(text[...]) == shown)
    }
}

@Suite(.timeLimit(.minutes(5)))
struct FairLockTests {
    private let lock = FairLock()

    @Test func theLockIsGrantedInTheOrderOfRequests() async throws {
        try await lock.lock()
        let order = Watched([Int]())
        var tasks: [Task<Void, any Error>] = []
        for number in 1...5 {
            tasks.append(
                Task {
                    try await lock.lock()
                    order.change { $0.append(number) }
                })
            try await poll("the task to wait", value: { lock.waiting }) { $0 == number }
        }
        for number in 1...5 {
            #expect(order.value.count == number - 1)
            lock.unlock()
            try await order.wait { $0.count == number }
        }
        lock.unlock()
        for task in tasks { try await task.value }
        #expect(order.value == [1, 2, 3, 4, 5])
        try await lock.lock()
        lock.unlock()
    }

    @Test func aCancelledTaskLeavesTheQueue() async throws {
        try await lock.lock()
        let (cancelled, waiting) = (Task { try await lock.lock() }, Task { try await lock.lock() })
        try await poll("both to wait", value: { lock.waiting }) { $0 == 2 }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        lock.unlock()
        try await waiting.value
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await lock.lock()
        }
        await #expect(throws: CancellationError.self) { try await early.value }
        lock.unlock()
        try await lock.lock()
    }

    @Test func manyTasksAndCancellationsLoseNoTask() async throws {
        let isInside = Watched(false)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<400 {
                group.addTask {
                    let task = Task {
                        try await lock.lock()
                        #expect(!isInside.value)
                        isInside.change { $0 = true }
                        await Task.yield()
                        isInside.change { $0 = false }
                        lock.unlock()
                    }
                    if number % 3 == 0 { task.cancel() }
                    _ = await task.result
                }
            }
        }
        #expect(lock.waiting == 0)
        try await lock.lock()
    }
}
