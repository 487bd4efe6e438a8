import ArgumentParser
import Errand
import Foundation

/// Shows and changes the folder of `--cache`.
struct CacheCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cache", abstract: "Shows and removes the stored responses of '--cache FOLDER'.",
        usage: """
            errand cache list|stats|clear <folder>
            errand cache show [-H <name: value>] <folder> <url>
            errand cache remove <folder> <url> ...
            """,
        discussion: """
            The folder belongs to the cache alone, and only you can read it. Several commands can use a folder at the same time.

            EXAMPLES:
              errand --cache ~/.cache/errand https://a.example/news
              errand cache list ~/.cache/errand
              errand cache show ~/.cache/errand https://a.example/news
              errand cache clear ~/.cache/errand

            EXIT STATUS:
              0     The command has done its work.
              4     No response to the URL is stored.
              6     The folder can't be used.
              64    The arguments are invalid, or there is no cache in the folder.
            """,
        subcommands: [
            CacheListCommand.self, CacheShowCommand.self, CacheRemoveCommand.self, CacheClearCommand.self, CacheStatsCommand.self,
        ])
}

/// The folder of a cache.
struct CacheFolderArguments: ParsableArguments {
    @Argument(help: "The folder of '--cache'.") var folder: String

    /// Runs `body` with the store, and ends the command with the right status.
    func run(_ body: (any CacheStore) async throws -> Void) async throws {
        try CacheFolder.checkBuild()
        // The store would create a missing folder.
        guard CacheFolder.exists(at: folder) else {
            throw ValidationError("there is no cache in '\(folder.shownSafely())'")
        }
        let store = try CacheFolder.store(at: folder) { Terminal.say("errand: warning: \($0)") }
        do {
            try await body(store)
        } catch let error where error is ValidationError || error is ExitCode {
            throw error
        } catch is BrokenPipe {
            throw ExitCode(141)
        } catch {
            let isOutput = error is BinaryBody || error is FileWriteError || error is WriteError
            Terminal.say(isOutput ? "errand: \(error)" : "errand: the cache in '\(folder.shownSafely())' can't be used: \(error)")
            throw ExitCode(isOutput ? 23 : 6)
        }
    }
}

struct CacheListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Shows a line for each stored response, the most recently used first.",
        usage: "errand cache list <folder>",
        discussion: """
            A line has the status, the size of the body, the time for which the response stays fresh, and the URL without secrets. The \
            list reads no bodies, and does not change the order of use.
            """)
    @OptionGroup var cache: CacheFolderArguments

    func run() async throws {
        try await cache.run { store in
            for listed in try await store.entries(limit: .max) {
                try Terminal.write(Data((StoredResponse(listed).text() + "\n").utf8))
            }
        }
    }
}

struct CacheShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Shows a stored response, without a request.",
        usage: "errand cache show [-H <name: value>] <folder> <url>",
        discussion: """
            The state of the response is shown on standard error, in the words of the field Cache-Status (RFC 9211). The values of secret \
            fields, such as Set-Cookie, are hidden, as -v hides them.
            """)
    @OptionGroup var cache: CacheFolderArguments
    @Argument(help: "The URL.") var url: String
    @Option(
        name: [.customShort("H"), .long],
        help: ArgumentHelp("A header field of the request, for a response that depends on it. Can be repeated.", valueName: "name: value"))
    var header: [String] = []

    func run() async throws {
        let arguments = try RequestArguments.parse(header.flatMap { ["-H", $0] } + ["-i", "--", url])
        let request: Request
        do {
            request = try arguments.request(method: "GET", takesPipedBody: false)
        } catch let error as InvalidURLError {
            throw ValidationError("\(error)")
        }
        try await cache.run { store in
            guard let response = try await store.response(for: request) else {
                let others = try await store.entries(limit: .max).filter { $0.url == request.url.map { CacheKey(url: $0).url } }
                Terminal.say("errand: \(StoredResponse.absence(of: request, beside: others))")
                throw ExitCode(4)
            }
            if let status = response.metadata.cacheStatus { Terminal.say("* cache: \(status)") }
            try await ResponseOutput(arguments, file: nil, response: response, written: ByteCount(), hidesSecrets: true).write()
        }
    }
}

struct CacheRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Removes the stored responses of URLs.", usage: "errand cache remove <folder> <url> ...")
    @OptionGroup var cache: CacheFolderArguments
    @Argument(help: ArgumentHelp("The URLs.", valueName: "url")) var urls: [String]

    func run() async throws {
        let keys = try urls.map { url in
            do {
                return CacheKey(url: try RequestArguments.parse(["--", url]).httpURL()).url
            } catch let error as InvalidURLError {
                throw ValidationError("\(error)")
            }
        }
        try await cache.run { store in
            let count = try await store.removeAll(urls: keys)
            try Terminal.write(Data("removed: \(count)\n".utf8))
            if count == 0 { throw ExitCode(4) }
        }
    }
}

struct CacheClearCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear", abstract: "Removes all stored responses.", usage: "errand cache clear <folder>")
    @OptionGroup var cache: CacheFolderArguments

    func run() async throws {
        try await cache.run { store in
            let count = try await store.usage.entries
            try await store.removeAll()
            try Terminal.write(Data("removed: \(count)\n".utf8))
        }
    }
}

struct CacheStatsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats", abstract: "Shows the number of stored responses, and their bytes.", usage: "errand cache stats <folder>")
    @OptionGroup var cache: CacheFolderArguments

    func run() async throws {
        try await cache.run { store in
            let usage = try await store.usage
            let entries = try await store.entries(limit: .max)
            var lines = [
                "responses: \(usage.entries) of at most \(usage.entryLimit)", "bytes: \(usage.bytes) of at most \(usage.limitBytes)",
                "incomplete: \(entries.count { !$0.entry.head.extent.isWhole })",
            ]
            let hosts = Dictionary(grouping: entries) { (try? HTTPURL($0.url))?.authority ?? "" }.mapValues { entries in
                (count: entries.count, bytes: entries.reduce(0) { $0 + $1.entry.head.extent.storedBytes })
            }
            for (host, sum) in hosts.sorted(by: { ($1.value.bytes, $0.key) < ($0.value.bytes, $1.key) }) {
                lines.append("\(host.shownSafely()): \(sum.count), with \(SafeText.counted(sum.bytes, "byte")) of bodies")
            }
            try Terminal.write(Data((lines.joined(separator: "\n") + "\n").utf8))
        }
    }
}

/// A stored response, as the list shows it.
struct StoredResponse {
    private let listed: ListedCacheEntry

    init(_ listed: ListedCacheEntry) { self.listed = listed }

    /// The status, the size, the freshness, and the URL without secrets.
    func text(now: CacheInstant = .now) -> String {
        let head = listed.entry.head
        let state = CachePolicy.standard.remainingLifetime(of: head, at: now).map { remaining in
            let seconds = remaining.components.seconds
            return remaining >= .zero ? "fresh for \(seconds) s" : "stale for \(-seconds) s"
        }
        var notes: [String] = []
        if let whole = head.extent.completeLength, !head.extent.isWhole { notes.append("a part of \(whole) B") }
        if head.extent.completeLength == nil { notes.append("a part") }
        if listed.belongsToAccount { notes.append("of an account") }
        if listed.hasContent { notes.append("of a request with a body") }
        for field in head.selection.fields { notes.append("varies by \(field.name)") }
        let url = Sensitivity.standard.redactedURL(listed.url).shownSafely(limit: 500)
        let parts = ["\(head.response.status.code)", "\(head.extent.storedBytes) B", state ?? "of unknown age", url]
        return (parts + (notes.isEmpty ? [] : ["(\(notes.joined(separator: ", ")))"])).joined(separator: "  ")
    }

    /// Why there is no response to a request.
    static func absence(of request: Request, beside others: [ListedCacheEntry]) -> String {
        let url = request.redactedURL.shownSafely(limit: 500)
        if others.isEmpty { return "no response to \(url) is stored" }
        if others.allSatisfy(\.belongsToAccount) { return "the stored response to \(url) belongs to an account" }
        let names = Set(others.flatMap { $0.entry.head.selection.fields.map { "\($0.name)" } }).sorted()
        let advice = names.isEmpty ? "" : ". The stored responses depend on \(names.joined(separator: ", ")): use -H"
        return "no response to this request to \(url) is stored\(advice)"
    }
}
