internal import ErrandCore
internal import SpikeTransport

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// One client, one measurement, one line of figures. `Benchmarks/run` starts this program and the clients in other languages in turn.
///
///     ClientBenchmarks PEER CASE ROUNDS COUNT URL
///
/// Makes a fifth of COUNT requests to warm up, then COUNT requests in each of ROUNDS rounds. Prints the medians for one request.
@main
struct ClientBenchmarks {
    /// Not an async `main`: its thread ends while the process continues, which callgrind can't handle.
    static func main() {
        Task.detached {
            do {
                try await run(CommandLine.arguments)
                exit(0)
            } catch {
                print("\(error)")
                exit(1)
            }
        }
        while true { _ = pause() }
    }

    private static func run(_ arguments: [String]) async throws {
        guard arguments.count == 6, let measurement = Measurement(rawValue: arguments[2]), let rounds = Int(arguments[3]), rounds > 0,
            let count = Int(arguments[4]), count > 0, let peer = try makePeer(arguments[1], url: arguments[5])
        else {
            throw Usage(
                text: "usage: ClientBenchmarks PEER \(Measurement.allCases.map(\.rawValue).joined(separator: "|")) ROUNDS COUNT URL")
        }
        print(try await measure(measurement, of: peer, rounds: rounds, count: count))
        try await peer.shutdown()
    }

    private static func measure(_ measurement: Measurement, of peer: any Peer, rounds: Int, count: Int) async throws -> Figures {
        try await withTaskExecutorPreference(peer.executor) {
            _ = try await run(max(count / 5, 1), of: measurement, by: peer)
            var figures: [Figures] = []
            for _ in 0..<rounds {
                let before = Figures.now()
                let bytes = try await run(count, of: measurement, by: peer)
                figures.append(Figures.now().since(before, bytes: bytes, requests: count))
            }
            return Figures.median(of: figures)
        }
    }

    /// Runs the requests, and returns the number of body bytes received.
    private static func run(_ count: Int, of measurement: Measurement, by peer: any Peer) async throws -> Int {
        let workers = min(measurement.concurrency, count)
        guard workers > 1 else { return try await peer.run(measurement, count: count) }
        return try await withThrowingTaskGroup(of: Int.self) { group in
            for worker in 0..<workers {
                let share = count / workers + (worker < count % workers ? 1 : 0)
                group.addTask { try await peer.run(measurement, count: share) }
            }
            return try await group.reduce(0, +)
        }
    }

    private static func makePeer(_ name: String, url: String) throws -> (any Peer)? {
        let parts = name.split(separator: "-")
        let onLoop = parts.contains("loop")
        switch parts.first {
        case "bare": return try BarePeer(url)
        case "awaited": return try AwaitedPeer(url, onLoop: onLoop)
        case "ahc": return AsyncHTTPClientPeer(url, onLoop: onLoop)
        case "errand", "nio", "spike", "memory":
            guard let entry = parts.dropFirst().first.flatMap({ ErrandPeer.Entry(rawValue: String($0)) }) else { return nil }
            switch parts[0] {
            case "errand": return try ErrandPeer.overAsyncHTTPClient(entry, url, onLoop: onLoop)
            case "nio": return try ErrandPeer.overNIO(entry, url, onLoop: onLoop)
            case "spike": return try ErrandPeer.overSpike(entry, url, parts.contains("direct") ? .direct : .nio, onLoop: onLoop)
            default: return try ErrandPeer.inMemory(entry, url)
            }
        default: return nil
        }
    }
}

struct Usage: Error, CustomStringConvertible {
    let text: String
    var description: String { text }
}

/// The kinds of measurements.
enum Measurement: String, CaseIterable {
    /// GETs of a small body, one after the other, on one connection.
    case get
    /// The same GETs, 16 at once.
    case get16
    /// A large body, read in chunks.
    case download
    /// GETs of a small JSON body, decoded, one after the other.
    case typed

    var concurrency: Int { self == .get16 ? 16 : 1 }
}

/// A client to measure.
protocol Peer: Sendable {
    /// The executor of the client's calls; `nil`: Swift's thread pool.
    var executor: (any TaskExecutor)? { get }

    /// Makes `count` requests, one after the other, and returns the number of body bytes received.
    func run(_ measurement: Measurement, count: Int) async throws -> Int

    func shutdown() async throws
}

extension Peer {
    var executor: (any TaskExecutor)? { nil }
}

/// An error: the response is not the expected one.
struct WrongResponse: Error {
    let text: String
    init(_ text: String) { self.text = text }
}

/// The JSON that the server sends for the small GET.
struct Document: Decodable {
    struct Item: Decodable {
        let id: Int
        let name: String
        let isActive: Bool
        let score: Double
        let tags: [String]
    }

    let page: Int
    let total: Int
    let title: String
    let items: [Item]

    /// Returns the number of items, after checking it.
    func checkedCount() throws -> Int {
        guard total == items.count, !items.isEmpty else { throw WrongResponse("\(items.count) items of \(total)") }
        return items.count
    }
}
