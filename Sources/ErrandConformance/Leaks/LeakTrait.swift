internal import ErrandCore
public import Testing

/// A trait that fails a test if the test leaves connections, work of this library, file descriptors or temporary files open.
///
/// ```swift
/// @Suite(.serialized, .leavesNothingBehind)
/// struct DownloadTests {
///     @Test func aDownloadIsWhole() async throws {
///         try await withTransport(NIOTransport()) { transport in … }
///     }
/// }
/// ```
///
/// The trait compares the state of the process before and after each test (each case of a parameterized test). The trait waits a
/// short time for resources that are about to close, and records an issue that names each remaining resource:
///
/// - sockets, with their addresses, including the kept connections of a transport that was not shut down
/// - files and pipes (not the descriptors of event loops: `eventfd`, `epoll`, `timerfd`)
/// - new entries directly in the temporary folder whose names begin with this library's prefix
/// - exchanges whose `ExchangeLifetime` has not ended, and work of a `SingleFlight` that is still in progress
///
/// **The check covers the whole process.** Run the tests without parallel testing (`swift test --no-parallel`). In a parallel run, the
/// resources of other tests that run at the same time are reported as leaks. Only one of the tests with this trait runs at a time. The wait
/// before the start of a test counts toward the test's `.timeLimit`. Tests of other suites may run at the same time: see `inParallelRuns`.
/// Entries that other processes create in the temporary folders are reported, too.
///
/// If tests share a resource on purpose, such as a server, start the resource with another trait, and put that trait before this trait.
///
/// File descriptors are checked only on systems that have `/proc/self/fd`.
public struct LeakTrait: TestTrait, SuiteTrait, TestScoping {
    let settling: Duration
    let inParallelRuns: Bool
    let scope: OpenThings.Scope

    /// `true`, because the trait of a suite applies to each test of the suite.
    public var isRecursive: Bool { true }

    /// Creates the trait.
    ///
    /// The parameters are the same as in
    /// ``Testing/Trait/leavesNothingBehind(settling:ignoring:temporaryFolders:temporaryPrefixes:inParallelRuns:)``.
    public init(
        settling: Duration = .seconds(2), ignoring: [String] = [], temporaryFolders: [String]? = nil,
        temporaryPrefixes: [String] = ["errand"], inParallelRuns: Bool = true
    ) {
        (self.settling, self.inParallelRuns) = (settling, inParallelRuns)
        scope = OpenThings.Scope(
            ignoring: ignoring, temporaryFolders: temporaryFolders ?? [FileManager.default.temporaryDirectory.path],
            temporaryPrefixes: temporaryPrefixes)
    }

    /// Whether this test run may run tests in parallel: true if the run was started without `--no-parallel`.
    public static var isRunParallel: Bool { !CommandLine.arguments.contains("--no-parallel") }

    /// Runs the test, and records an issue if the test leaves something open.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        guard inParallelRuns || !Self.isRunParallel else { return try await function() }
        // If a suite's trait is around a test's own trait, the lock is already held.
        guard !Self.isLooking else { return try await look(at: test, function) }
        try await Self.lock.lock()
        defer { Self.lock.unlock() }
        try await Self.$isLooking.withValue(true) { try await look(at: test, function) }
    }

    @TaskLocal private static var isLooking = false
    private static let lock = FairLock()

    private func look(at test: Test, _ function: @concurrent () async throws -> Void) async throws {
        let before = OpenThings(scope)
        let result = await Result(of: function)
        let left = await settled(since: before)
        if !left.isEmpty {
            Issue.record("the test left open:  \(left.joined(separator: "; "))", sourceLocation: test.sourceLocation)
        }
        try result.get()
    }

    /// Returns the remaining resources. Returns as soon as no resource remains, or after the time to settle.
    private func settled(since before: OpenThings) async -> [String] {
        let end = ContinuousClock.now.advanced(by: settling)
        while true {
            let now = OpenThings(scope)
            if !now.isMore(than: before) { return [] }
            // If the test's `.timeLimit` has cancelled the task, the wait ends.
            guard ContinuousClock.now < end, (try? await Task.sleep(for: .milliseconds(5))) != nil else {
                return now.describeMore(than: before)
            }
        }
    }
}

extension Trait where Self == LeakTrait {
    /// Fails a test that leaves something open, with the default settings. See ``LeakTrait``.
    public static var leavesNothingBehind: Self { LeakTrait() }

    /// Fails a test that leaves something open. See ``LeakTrait``.
    ///
    /// - Parameters:
    ///   - settling: the maximum time to wait for resources that are about to close. Default: 2 s. If a test leaves nothing open,
    ///     there is no wait.
    ///   - ignoring: the path prefixes of files that are not reported.
    ///   - temporaryFolders: the folders to check for new entries. `nil`, the default: `FileManager`'s temporary folder.
    ///   - temporaryPrefixes: the prefixes of the names of reported entries: `errand` by default. If empty, temporary folders are
    ///     not checked.
    ///   - inParallelRuns: whether to check also in runs that may run tests in parallel. Default: `true`. If false, the trait
    ///     checks only in runs with `--no-parallel`.
    public static func leavesNothingBehind(
        settling: Duration = .seconds(2), ignoring: [String] = [], temporaryFolders: [String]? = nil,
        temporaryPrefixes: [String] = ["errand"], inParallelRuns: Bool = true
    ) -> Self {
        LeakTrait(
            settling: settling, ignoring: ignoring, temporaryFolders: temporaryFolders, temporaryPrefixes: temporaryPrefixes,
            inParallelRuns: inParallelRuns)
    }
}
