internal import ErrandCore
public import Testing

/// Fails a test that leaves connections, work of this library, descriptors or temporary files open.
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
/// It checks before and after each test (each case of a parameterized test), waits briefly for things that are about to close, and records
/// an issue that names each thing that is left:
///
/// - sockets, with their addresses, including the idle connections of a transport that was not shut down;
/// - files and pipes (but not the descriptors of event loops: `eventfd`, `epoll`, `timerfd`);
/// - new entries directly in the temporary folder whose names begin like this library's;
/// - exchanges whose `ExchangeLifetime` has not ended, and work of a `SingleFlight` in progress.
///
/// **It checks the whole process.** Run with `--no-parallel` (`swift test --no-parallel`), or concurrent tests are reported as leaks. Only
/// one of the tests with this trait runs at a time, and the wait for its turn counts toward a test's time limit. But other suites may run
/// concurrently: see `inParallelRuns`. Temporary folders are those of the whole machine. Things that a test shares with later ones (such as
/// a server that the first test starts) must exist before: put a trait that creates them before this one.
///
/// Descriptors are checked on systems with `/proc/self/fd`.
public struct LeakTrait: TestTrait, SuiteTrait, TestScoping {
    let settling: Duration
    let inParallelRuns: Bool
    let scope: OpenThings.Scope

    /// True: the trait applies to each test of a suite.
    public var isRecursive: Bool { true }

    /// Creates a trait.
    ///
    /// - Parameters: as those of
    ///   ``Testing/Trait/leavesNothingBehind(settling:ignoring:temporaryFolders:temporaryPrefixes:inParallelRuns:)``.
    public init(
        settling: Duration = .seconds(2), ignoring: [String] = [], temporaryFolders: [String]? = nil,
        temporaryPrefixes: [String] = ["errand"], inParallelRuns: Bool = true
    ) {
        (self.settling, self.inParallelRuns) = (settling, inParallelRuns)
        scope = OpenThings.Scope(
            ignoring: ignoring, temporaryFolders: temporaryFolders ?? [FileManager.default.temporaryDirectory.path],
            temporaryPrefixes: temporaryPrefixes)
    }

    /// Whether tests may run concurrently in this run: `--no-parallel` was not given.
    public static var isRunParallel: Bool { !CommandLine.arguments.contains("--no-parallel") }

    /// Runs a test, and records an issue for each thing that it leaves open.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        guard inParallelRuns || !Self.isRunParallel else { return try await function() }
        // The trait of a suite, around the same trait of a test: the lock is already held.
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

    /// Returns what is left after the time to settle, or an empty array as soon as nothing is left.
    private func settled(since before: OpenThings) async -> [String] {
        let end = ContinuousClock.now.advanced(by: settling)
        while true {
            let now = OpenThings(scope)
            if !now.isMore(than: before) { return [] }
            // Don't wait for a test that its time limit has cancelled.
            guard ContinuousClock.now < end, (try? await Task.sleep(for: .milliseconds(5))) != nil else {
                return now.describeMore(than: before)
            }
        }
    }
}

extension Trait where Self == LeakTrait {
    /// Fails a test that leaves something open, with the default parameters. See ``LeakTrait``.
    public static var leavesNothingBehind: Self { LeakTrait() }

    /// Fails a test that leaves something open. See ``LeakTrait``.
    ///
    /// - Parameters:
    ///   - settling: how long to wait for things that are about to close; two seconds by default. A clean test does not wait.
    ///   - ignoring: the beginnings of paths of files that don't count; none by default.
    ///   - temporaryFolders: the folders in which to look for new entries; `nil`, the default, is `FileManager`'s temporary folder.
    ///   - temporaryPrefixes: the beginnings of the names of such entries; `errand` by default. An empty array switches this check off.
    ///   - inParallelRuns: whether to check in runs in which other suites may run concurrently; true by default. If false, only runs with
    ///     `--no-parallel` are checked.
    public static func leavesNothingBehind(
        settling: Duration = .seconds(2), ignoring: [String] = [], temporaryFolders: [String]? = nil,
        temporaryPrefixes: [String] = ["errand"], inParallelRuns: Bool = true
    ) -> Self {
        LeakTrait(
            settling: settling, ignoring: ignoring, temporaryFolders: temporaryFolders, temporaryPrefixes: temporaryPrefixes,
            inParallelRuns: inParallelRuns)
    }
}
