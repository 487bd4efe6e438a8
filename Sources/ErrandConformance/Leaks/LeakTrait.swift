internal import ErrandCore
public import Testing

/// Fails a test that leaves open connections, unfinished work of this library's, descriptors or temporary files.
///
/// ```swift
/// @Suite(.serialized, .leavesNothingBehind)
/// struct DownloadTests {
///     @Test func aDownloadIsWhole() async throws {
///         try await withTransport(AsyncHTTPClientTransport()) { transport in … }
///     }
/// }
/// ```
///
/// It looks before and after each test (each case of a parameterised one), waits a little for what is just about to close, and records
/// an issue that names each thing left:
///
/// - sockets, with their addresses: also the kept connections of a transport that was not shut down;
/// - files and pipes (not the descriptors that event loops live by: `eventfd`, `epoll`, `timerfd`);
/// - new entries directly in the temporary folder whose names begin as this library's do;
/// - exchanges whose `ExchangeLifetime` has not ended, and work of a `SingleFlight` that goes on.
///
/// **It looks at the whole process.** Tests that run beside one that is looked at count as part of it, so it is for a run without
/// parallel testing (`swift test --no-parallel`). Of its own tests only one runs at a time, and the wait for its turn counts towards a
/// test's time limit; but other suites may run beside them: see `inParallelRuns`. Temporary folders are the whole machine's. What a test shares
/// with later ones on purpose (a server started by the first) must be there before: put a trait that starts it in front of this one.
///
/// Descriptors are looked at where the system has `/proc/self/fd`.
public struct LeakTrait: TestTrait, SuiteTrait, TestScoping {
    let settling: Duration
    let inParallelRuns: Bool
    let scope: OpenThings.Scope

    public var isRecursive: Bool { true }

    /// - Parameters: as those of ``Testing/Trait/leavesNothingBehind(settling:ignoring:temporaryFolders:temporaryPrefixes:inParallelRuns:)``.
    public init(
        settling: Duration = .seconds(2), ignoring: [String] = [], temporaryFolders: [String]? = nil,
        temporaryPrefixes: [String] = ["errand"], inParallelRuns: Bool = true
    ) {
        (self.settling, self.inParallelRuns) = (settling, inParallelRuns)
        scope = OpenThings.Scope(
            ignoring: ignoring, temporaryFolders: temporaryFolders ?? [FileManager.default.temporaryDirectory.path],
            temporaryPrefixes: temporaryPrefixes)
    }

    /// Whether this test run may have tests side by side: it has not been told `--no-parallel`.
    public static var isRunParallel: Bool { !CommandLine.arguments.contains("--no-parallel") }

    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        guard inParallelRuns || !Self.isRunParallel else { return try await function() }
        // A suite's trait around a test's own: the lock is taken already.
        guard !Self.isLooking else { return try await look(at: test, function) }
        try await Self.turns.take()
        defer { Self.turns.pass() }
        try await Self.$isLooking.withValue(true) { try await look(at: test, function) }
    }

    @TaskLocal private static var isLooking = false
    private static let turns = Turns()

    private func look(at test: Test, _ function: @concurrent () async throws -> Void) async throws {
        let before = OpenThings(scope)
        let result: Result<Void, any Error>
        do {
            result = .success(try await function())
        } catch {
            result = .failure(error)
        }
        let left = await settled(since: before)
        if !left.isEmpty {
            Issue.record("left behind: \(left.joined(separator: "; "))", sourceLocation: test.sourceLocation)
        }
        try result.get()
    }

    /// What is left after the time to settle, or as soon as nothing is.
    private func settled(since before: OpenThings) async -> [String] {
        let end = ContinuousClock.now.advanced(by: settling)
        while true {
            let now = OpenThings(scope)
            if !now.isMore(than: before) { return [] }
            // A test that its time limit has cancelled is not waited for.
            guard ContinuousClock.now < end, (try? await Task.sleep(for: .milliseconds(5))) != nil else {
                return now.describeMore(than: before)
            }
        }
    }
}

extension Trait where Self == LeakTrait {
    /// Fails a test that leaves something open, by the defaults. See ``LeakTrait``.
    public static var leavesNothingBehind: Self { LeakTrait() }

    /// Fails a test that leaves something open. See ``LeakTrait``.
    ///
    /// - Parameters:
    ///   - settling: how long what is about to close may take; two seconds by default. A clean test does not wait.
    ///   - ignoring: files whose paths begin with one of these don't count.
    ///   - temporaryFolders: where to look for new entries; nil (the default) means `FileManager`'s temporary folder.
    ///   - temporaryPrefixes: how the names of such entries begin: `errand` by default; none switches this off.
    ///   - inParallelRuns: whether it looks in runs in which other suites may run beside; true by default. False: looks only in runs with
    ///     `--no-parallel`.
    public static func leavesNothingBehind(
        settling: Duration = .seconds(2), ignoring: [String] = [], temporaryFolders: [String]? = nil,
        temporaryPrefixes: [String] = ["errand"], inParallelRuns: Bool = true
    ) -> Self {
        LeakTrait(
            settling: settling, ignoring: ignoring, temporaryFolders: temporaryFolders, temporaryPrefixes: temporaryPrefixes,
            inParallelRuns: inParallelRuns)
    }
}
