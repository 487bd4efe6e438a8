import ArgumentParser
import Errand
import Foundation

#if SQLite
import ErrandSQLite
#endif

/// Runs the public definitions for caches.
struct CacheTestsCommand: AsyncParsableCommand {
    enum StoreKind: String, CaseIterable, ExpressibleByArgument { case memory, disk }

    static let configuration = CommandConfiguration(
        commandName: "cache-tests", abstract: "Runs the public definitions for HTTP caches (RFC 9111), and writes the result of each.",
        usage: """
            conformance cache-tests --base <url> --tests <file> [--store memory|disk] [--mode private|shared] [--id <id> ...] \
            --output <file>
            """,
        discussion: """
            The server of the suite plays the definitions at the URL of --base. Each test has a client of its own: a transport over SwiftNIO, \
            and a cache with an empty store. 50 tests run at the same time.

            The file is a JSON object: the identifier of each test, and its result: true, or an array of 'Setup', 'Assertion' or '<error>' \
            and a message. score.py of the suite compares the file with the bar. The exit code is 0 if the file was written.

            The cache uses a stale response if the server closes the connection. Without such a response, the client throws an error, and \
            the runner makes a 504 without fields of this error. A line names these tests.
            """)

    @Option(help: ArgumentHelp("The URL of the server of the suite.", valueName: "url")) var base: String
    @Option(help: ArgumentHelp("The JSON file of the definitions.", valueName: "file")) var tests: String
    @Option(help: ArgumentHelp("The store of the cache: memory, or disk in a temporary folder.")) var store = StoreKind.memory
    @Option(help: ArgumentHelp("The kind of the cache: private or shared.")) var mode = CacheTest.Mode.private
    @Option(parsing: .upToNextOption, help: ArgumentHelp("Runs only these tests. Can be repeated.", valueName: "id")) var id: [String] = []
    @Option(help: ArgumentHelp("The JSON file to write.", valueName: "file")) var output: String

    func run() async throws {
        let all = try CacheTest.all(in: Data(contentsOf: URL(fileURLWithPath: tests)))
        guard !all.isEmpty else { throw ValidationError("the file of --tests has no definitions") }
        let wanted = Set(id)
        let chosen = id.isEmpty ? all.filter { $0.isFor(mode) } : all.filter { wanted.contains($0.id) }
        for name in id where !chosen.contains(where: { $0.id == name }) { print("\(name): there is no such test") }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("errand-cache-tests-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let run = CacheTestRun(
            base: base.hasSuffix("/") ? String(base.dropLast()) : base, cached: try cache(in: folder),
            user: mode == .private ? CredentialIdentity(scheme: "cache-tests", account: "user") : nil)
        let (outcomes, synthetic) = try await run.outcomes(of: chosen)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try encoder.encode(JSONValue(outcomes.mapValues(\.json))).write(to: URL(fileURLWithPath: output), options: .atomic)
        if !synthetic.isEmpty { print("a 504 of the runner for a lost connection: \(synthetic.joined(separator: " "))") }
        let passed = outcomes.values.count { $0 == .passed }
        let failed = outcomes.count - passed
        let tests = SafeText.counted(outcomes.count, "test")
        print("\(tests), \(mode.rawValue) mode, store: \(store.rawValue): \(passed) passed, \(failed) failed")
    }

    /// Returns a closure that puts a cache with an empty store around a transport.
    private func cache(in folder: URL) throws -> @Sendable (HTTPStack) async throws -> HTTPStack {
        // A response of the server must reach the client, so only a lost connection is replaced by a stored response.
        let policy = CachePolicy(scope: mode == .shared ? .shared : .private, staleIfUnreachable: .seconds(86_400))
        switch store {
        case .memory: return { $0.cache(in: .memory, policy: policy) }
        case .disk:
            #if SQLite
            return { stack in
                let store = SQLiteCacheStore(folder: folder.appendingPathComponent(UUID().uuidString).path)
                // Creates the database, so that the times of the test begin afterwards.
                _ = try await store.usage
                _ = try await store.entries(limit: 0)
                return stack.cache(in: store, policy: policy)
            }
            #else
            throw ValidationError("--store disk: this program was built without the trait SQLite")
            #endif
        }
    }
}

extension CacheTest.Mode: ExpressibleByArgument {}
