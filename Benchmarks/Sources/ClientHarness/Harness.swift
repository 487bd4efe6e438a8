#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// One client, one case, one line of figures. `Benchmarks/run` starts the programs of the clients in turn.
///
///     PROGRAM PEER KIND AT_ONCE WARMUP COUNT URL
///
/// Makes WARMUP requests, then COUNT requests, and prints what one of the latter took. `BENCHMARK_CA` names the PEM file of the
/// authority to trust, `BENCHMARK_FILE` the file to upload; `BENCHMARK_HTTP2` asks for HTTP/2.
public enum Harness {
    /// Measures the peer that the arguments name, and ends the process.
    public static func main(_ makePeer: @escaping @Sendable (_ name: String, _ setting: Setting) async throws -> (any Peer)?) -> Never {
        end { try await run(CommandLine.arguments, makePeer) }
    }

    /// Does the work, and ends the process. Prints an error.
    ///
    /// It is not async: the thread of an async `main` ends while the process continues, which callgrind can't handle.
    public static func end(after work: @escaping @Sendable () async throws -> Void) -> Never {
        Task.detached {
            do {
                try await work()
                exit(0)
            } catch {
                print("\(error)")
                exit(1)
            }
        }
        while true { _ = pause() }
    }

    private static func run(_ arguments: [String], _ makePeer: (String, Setting) async throws -> (any Peer)?) async throws {
        guard arguments.count == 7, let kind = Kind(rawValue: arguments[2]), let atOnce = Int(arguments[3]), atOnce > 0,
            let warmup = Int(arguments[4]), warmup >= 0, let count = Int(arguments[5]), count > 0
        else { throw usage }
        let setting = Setting(
            url: arguments[6], atOnce: atOnce, authorityFile: variable("BENCHMARK_CA"),
            usesHTTP2: variable("BENCHMARK_HTTP2") != nil, uploadFile: variable("BENCHMARK_FILE"))
        guard let peer = try await makePeer(arguments[1], setting) else { throw usage }
        try await withTaskExecutorPreference(peer.executor) {
            _ = try await run(warmup, of: kind, by: peer, atOnce: atOnce)
            let before = Figures.now()
            let share = try await run(count, of: kind, by: peer, atOnce: atOnce)
            print(Figures.now().line(since: before, share))
        }
        try await peer.shutdown()
    }

    private static func run(_ count: Int, of kind: Kind, by peer: any Peer, atOnce: Int) async throws -> Share {
        let workers = min(atOnce, count)
        guard workers > 1 else { return try await peer.run(kind, count: count) }
        return try await withThrowingTaskGroup(of: Share.self) { group in
            for worker in 0..<workers {
                let share = count / workers + (worker < count % workers ? 1 : 0)
                group.addTask { try await peer.run(kind, count: share) }
            }
            var all = Share(count: count)
            for try await share in group { all.add(share) }
            return all
        }
    }

    private static var usage: WrongResponse {
        WrongResponse("usage: PROGRAM PEER \(Kind.allCases.map(\.rawValue).joined(separator: "|")) AT_ONCE WARMUP COUNT URL")
    }

    private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
