internal import ErrandConformance
internal import ErrandCore
internal import Synchronization
internal import TestSupport
internal import Testing

@testable internal import ErrandURLSession

/// A session that still delivers a number of bytes after each suspension, because it has already received them.
private final class LateDriver: SessionDriving {
    private let driver = ScriptedDriver()
    private let lateBytes: Int
    /// The number of bytes that the suspended task may still deliver; `nil` if the task is not suspended.
    private let rest = Mutex<Int?>(nil)

    init(lateBytes: Int) { self.lateBytes = lateBytes }

    var isSuspended: Bool { rest.withLock { $0 != nil } }
    func start() async throws { try await driver.start() }

    func resume() {
        rest.withLock { $0 = nil }
        driver.resume()
    }

    func suspend() { rest.withLock { $0 = lateBytes } }
    func cancel() { driver.cancel() }

    /// Returns whether the session delivers a chunk of `count` bytes now.
    func delivers(_ count: Int) -> Bool {
        rest.withLock { rest in
            guard let late = rest else { return true }
            guard late >= count else { return false }
            rest = late - count
            return true
        }
    }
}

/// A reader that is slower than the server: how much an exchange holds.
@Suite struct SlowReaderTests {
    private static let mebibyte = 1024 * 1024

    /// The reader takes 1 MB/s of 256 MiB, and the server sends 100 MB/s. In a step of 16.384 ms, the reader takes one chunk of 16 KiB, and
    /// the session delivers at most 100 chunks.
    ///
    /// The exchange holds less than 512 KiB, one chunk, and the bytes that the session delivers after the suspension. If the session
    /// delivers at most 3 MiB after the suspension, the exchange holds at most 4 MiB.
    @Test(arguments: [0, 64 * 1024, 1024 * 1024, 3 * 1024 * 1024])
    func aSlowReaderHoldsAtMost4MiB(lateBytes: Int) async throws {
        let chunk = Data(count: 16 * 1024)
        let count = 256 * Self.mebibyte / chunk.count
        let rules = SessionExchange.Machine.Rules()
        let driver = LateDriver(lateBytes: lateBytes)
        let exchange = SessionExchange(try Request(.get, url: "http://a.example/"), rules: rules)
        let call = Task { try await exchange.run(on: driver) }
        try await driver.start()
        _ = exchange.receive(ReceivedHead(HTTPResponse(status: .ok), to: .get))
        let response = try await call.value

        var (delivered, read, furthest, suspensions) = (0, 0, 0, 0)
        var mustWait = false
        var wrongSteps: [Int] = []
        var limit = rules.marks.readAheadBytes
        // Compares the task with the bounds.
        func check() {
            let held = (delivered - read) * chunk.count
            if held >= limit, !mustWait { (mustWait, suspensions) = (true, suspensions + 1) }
            if held * 2 < limit { mustWait = false }
            if driver.isSuspended != mustWait { wrongSteps.append(delivered) }
            furthest = max(furthest, held)
        }
        for _ in 0..<count {
            for _ in 0..<100 where delivered < count && driver.delivers(chunk.count) {
                exchange.receive(chunk)
                delivered += 1
                check()
            }
            if exchange.takeReadyChunk() != nil { read += 1 }
            limit = rules.marks.windowBytes
            check()
        }
        exchange.complete(nil)

        #expect(wrongSteps.isEmpty, "the task was suspended or resumed at another bound: \(wrongSteps.prefix(3))")
        #expect(delivered == count && read == count && suspensions > 50)
        #expect(furthest <= rules.marks.windowBytes + chunk.count + lateBytes && furthest <= 4 * Self.mebibyte, "\(furthest) bytes")
        #expect(try await exchange.next() == nil)
        #expect(try await response.end().isComplete)
    }

    #if canImport(FoundationNetworking)
    /// The key of an option for calls that must not read ahead without a bound.
    private enum SlowReaderKey: OptionKey {
        static var defaultValue: Bool { false }
        static var requiredCapabilities: TransportCapabilities { .streamingDownload }
    }

    @Test func anOptionThatNeedsBackPressureIsRefusedByName() async throws {
        #expect(!SessionAbilities.current.canSuspend && !URLSessionTransport().capabilities.contains(.streamingDownload))
        var request = try Request(.get, url: "http://a.invalid/")
        request.options[SlowReaderKey.self] = true
        let sent = request
        let refusal: UnsupportedOptionError = try await failure { try await HTTPStack(URLSessionTransport()).send(sent) }
        #expect(refusal.option == "slowReader" && refusal.missingCapabilities == .streamingDownload && refusal.delivery == .notSent)
        #expect("\(refusal)".contains("the option 'slowReader' needs a transport with 'streamingDownload'"))
    }
    #endif
}
