import ArgumentParser
import Crypto
import Errand
import ErrandNIO
import Foundation

/// Fetches raw responses, some of them broken on purpose, and writes the result of each exchange.
struct ReplayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay", abstract: "Fetches BASE/0, BASE/1, … one after the other, and writes the result of each exchange.",
        usage: "conformance replay --base <url> --count <count> --output <file>",
        discussion: """
            The file is a JSON array with one object for each URL: 'index'; 'status', if the head of a response arrived; 'bytes' and \
            'sha256' (hexadecimal) of the body as far as it arrived; 'milliseconds'; and 'error' with 'code', 'phase' and 'message', if \
            the exchange failed. Each exchange uses a connection of its own, and has a deadline of 3.5 seconds.
            """)

    @Option(help: ArgumentHelp("The URL to which '/0', '/1', … are added.", valueName: "url")) var base: String
    @Option(help: ArgumentHelp("The number of URLs.", valueName: "count")) var count: Int
    @Option(help: ArgumentHelp("The JSON file to write.", valueName: "file")) var output: String

    func validate() throws {
        guard count >= 0 else { throw ValidationError("--count must be at least 0 (is \(count))") }
    }

    func run() async throws {
        let outcomes = try await Replay(base: base).outcomes(count: count)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try encoder.encode(outcomes).write(to: URL(fileURLWithPath: output), options: .atomic)
        let failed = outcomes.count { $0.error != nil }
        let longest = outcomes.map(\.milliseconds).max() ?? 0
        let exchanges = SafeText.counted(count, "exchange")
        print("\(exchanges): \(count - failed) with a whole response, \(failed) failed; the longest took \(longest) ms")
    }
}

/// The exchanges of `conformance replay`.
struct Replay {
    /// The timeout of each exchange, so that no exchange takes longer than four seconds.
    static let limit = Duration.seconds(3.5)

    /// The result of one exchange.
    struct Outcome: Codable, Equatable {
        struct Failure: Codable, Equatable {
            /// The description of a `TransportError.Code`; for any other error, its type.
            var code: String
            /// `nil` for an error that is not a `TransportError`.
            var phase: String?
            var message: String
        }

        var index: Int
        /// `nil` if no head arrived.
        var status: Int?
        /// The bytes of the body that arrived, also before a failure.
        var bytes = 0
        /// The digest of these bytes.
        var sha256 = ""
        /// `nil` if the response is whole.
        var error: Failure?
        var milliseconds = 0.0
    }

    let base: String

    func outcomes(count: Int) async throws -> [Outcome] {
        var outcomes: [Outcome] = []
        for index in 0..<count {
            let transport = NIOTransport()
            outcomes.append(await outcome(index, by: transport))
            try await transport.shutdown()
        }
        return outcomes
    }

    private func outcome(_ index: Int, by transport: some HTTPTransport) async -> Outcome {
        var outcome = Outcome(index: index)
        var digest = SHA256()
        let start = ContinuousClock.now
        do {
            let response = try await transport.timeout(Self.limit).send(Request(.get, url: "\(base)/\(index)"))
            outcome.status = response.status.code
            for try await chunk in response.body {
                digest.update(data: chunk)
                outcome.bytes += chunk.count
            }
        } catch let error as TransportError {
            outcome.status = outcome.status ?? error.response?.status.code
            outcome.error = .init(code: error.code.description, phase: error.phase.description, message: error.message)
        } catch {
            outcome.error = .init(code: "\(type(of: error))", phase: nil, message: (error as? any RequestFailure)?.description ?? "")
        }
        outcome.milliseconds = ((ContinuousClock.now - start) / .milliseconds(1) * 10).rounded() / 10
        outcome.sha256 = digest.finalize().map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        return outcome
    }
}
