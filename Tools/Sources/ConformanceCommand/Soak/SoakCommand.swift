import ArgumentParser
import Foundation

/// Many requests with faults and cancellations, and a look at what is left of them.
struct SoakCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "soak", abstract: "Sends many requests to a faulty server, and fails if anything is left of them.",
        usage: "conformance soak [--requests <count>] [--seed <seed>] [--concurrency <count>] [--max-growth-mib <size>]",
        discussion: """
            A server in the same process sends whole responses and faults: it closes and resets connections, breaks bodies off, stalls, \
            and sends garbage. Tasks are cancelled before their exchange, in the queue and within bodies; deadlines pass; bodies are left \
            unread. What each request does depends on the seed and its number alone. After each tenth, when no request is in progress, a \
            line shows the rate, the resident memory, the open descriptors, connections and exchanges.

            The command fails if a sound response does not arrive whole or a broken one does, if an exchange does not end, if the memory \
            of the second half grows by more than --max-growth-mib, or if a descriptor or a connection is open after the shutdown.
            """)

    @Option(help: ArgumentHelp("The number of requests.", valueName: "count")) var requests = 2_000_000
    @Option(help: ArgumentHelp("The seed of everything random.", valueName: "seed")) var seed: UInt64 = 1
    @Option(help: ArgumentHelp("How many requests are in progress at a time.", valueName: "count")) var concurrency = 64
    @Option(
        name: .customLong("max-growth-mib"),
        help: ArgumentHelp("How much the memory may grow in the second half, in MiB.", valueName: "size"))
    var maxGrowthMiB = 16

    func validate() throws {
        guard requests >= 10 else { throw ValidationError("--requests must be at least 10 (is \(requests))") }
        guard concurrency >= 1 else { throw ValidationError("--concurrency must be at least 1 (is \(concurrency))") }
    }

    func run() async throws {
        let soak = Soak(requests: requests, seed: seed, concurrency: concurrency, maxGrowthBytes: maxGrowthMiB << 20)
        // At once, also into a pipe.
        let problems = try await soak.run { line in FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
        for problem in problems { print("FAILED: \(problem)") }
        if !problems.isEmpty { throw ExitCode(1) }
    }
}
