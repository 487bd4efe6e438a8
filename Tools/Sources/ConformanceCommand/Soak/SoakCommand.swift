import ArgumentParser
import Foundation

/// Sends many requests with faults and cancellations, and checks that all resources were released.
struct SoakCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "soak", abstract: "Sends many requests to a faulty server, and fails if a resource is not released.",
        usage: """
            conformance soak [--http2] [--requests <count>] [--seed <seed>] [--concurrency <count>] [--max-growth-mib <size>] \
            [--max-live-growth-kib <size>] [--usual-end-ms <time>] [--longest-end-ms <time>]
            """,
        discussion: """
            Without --http2: a server in the same process sends whole responses and faults over HTTP/1.1: it closes and resets \
            connections, breaks bodies off, stalls, and sends garbage.

            With --http2: HTTP/2 over TLS, with servers in a separate process. They refuse and reset streams, send GOAWAY, stall, and break \
            connections off. One server sends nothing after the handshake, one sends nothing at all, and one never confirms the end of TLS.

            Tasks are cancelled before their exchange, in the queue and within bodies. Deadlines pass, and bodies are left unread. With \
            --http2, transports are shut down with calls in progress. The plan of a request depends only on the seed and the number of the \
            request. After each tenth of the requests, when no request is in progress, a line shows the rate, the memory, and the open \
            descriptors, connections and exchanges. The last lines show the outcomes, and how long ends took: from a cancellation, a \
            deadline or shutdown() to the return.

            The command fails if

            - a valid response is incomplete, or a broken response passes for a complete one
            - a response has bytes of another response
            - an exchange does not end
            - the resident memory grows by more than --max-growth-mib in the second half
            - the allocated memory grows by more than --max-live-growth-kib after the first tenth
            - 99.9 % of the ends take more than --usual-end-ms, or one end takes more than --longest-end-ms
            - a descriptor or a connection is open after the shutdown
            """)

    @Flag(name: .customLong("http2"), help: "Uses HTTP/2 over TLS.") var http2 = false
    @Option(help: ArgumentHelp("The number of requests. (default: 2000000; with --http2: 500000)", valueName: "count")) var requests: Int?
    @Option(help: ArgumentHelp("The seed of all random choices.", valueName: "seed")) var seed: UInt64 = 1
    @Option(help: ArgumentHelp("How many requests are in progress at a time.", valueName: "count")) var concurrency = 64
    @Option(
        name: .customLong("max-growth-mib"),
        help: ArgumentHelp("How much the resident memory may grow in the second half, in MiB.", valueName: "size"))
    var maxGrowthMiB = 16
    @Option(
        name: .customLong("max-live-growth-kib"),
        help: ArgumentHelp("How much more may be allocated at the end than after the first tenth, in KiB.", valueName: "size"))
    var maxLiveGrowthKiB = 4096
    @Option(
        name: .customLong("usual-end-ms"), help: ArgumentHelp("How long 99.9 % of the ends may take, in milliseconds.", valueName: "time"))
    var usualEndMilliseconds = 100
    @Option(name: .customLong("longest-end-ms"), help: ArgumentHelp("How long an end may take, in milliseconds.", valueName: "time"))
    var longestEndMilliseconds = 1000

    func validate() throws {
        if let requests, requests < 10 { throw ValidationError("--requests must be at least 10 (is \(requests))") }
        guard concurrency >= 1 else { throw ValidationError("--concurrency must be at least 1 (is \(concurrency))") }
    }

    func run() async throws {
        let bounds = Soak.Bounds(
            residentGrowthBytes: maxGrowthMiB << 20, liveGrowthBytes: maxLiveGrowthKiB << 10,
            usualEnd: .milliseconds(usualEndMilliseconds), longestEnd: .milliseconds(longestEndMilliseconds))
        let soak = Soak(
            Soak.Settings(
                requests: requests ?? (http2 ? 500_000 : 2_000_000), seed: seed, concurrency: concurrency, usesHTTP2: http2, bounds: bounds)
        )
        // Written without a buffer, so that a pipe also gets each line at once.
        let problems = try await soak.run { line in FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
        for problem in problems { print("FAILED: \(problem)") }
        if !problems.isEmpty { throw ExitCode(1) }
    }
}
