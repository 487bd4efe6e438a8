internal import CAllocations
internal import Dispatch
internal import ErrandCore
internal import ErrandNIO
internal import NIOCore
internal import NIOPosix

/// Makes a number of GETs over the transport with SwiftNIO, on its event loop, and nothing else, for a program that counts
/// instructions: `TransportCalls 1000 http://127.0.0.1:80/small.json`, or with `h2c` at the end, for HTTP/2 without TLS. Prints
/// the numbers of allocations and of chunks.
///
/// It reads each body chunk by chunk. One thread makes the requests and runs the connection.
@main
struct TransportCalls {
    /// Not async: callgrind 3.19 fails when an async main thread waits.
    static func main() {
        let arguments = CommandLine.arguments
        let usesHTTP2 = arguments.last == "h2c"
        guard arguments.count == (usesHTTP2 ? 4 : 3), let count = Int(arguments[1]) else {
            fatalError("usage: TransportCalls COUNT URL [h2c]")
        }
        let isOver = DispatchSemaphore(value: 0)
        Task { @concurrent in
            do {
                try await run(count, arguments[2], usesHTTP2: usesHTTP2)
            } catch {
                fatalError("\(error)")
            }
            isOver.signal()
        }
        isOver.wait()
    }

    private static func run(_ count: Int, _ url: String, usesHTTP2: Bool) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        var configuration = NIOTransport.Configuration()
        configuration.eventLoopGroup = group
        configuration.usesHTTP2WithoutTLS = usesHTTP2
        let transport = try NIOTransport(configuration)
        let request = try Request(.get, url: url)
        let before = errand_allocation_count()
        let chunks = try await withTaskExecutorPreference(transport.executors[0]) {
            var chunks = 0
            for _ in 0..<count {
                let response = try await transport.send(request)
                guard response.status == .ok else { fatalError("status \(response.status.code)") }
                var bytes = 0
                for try await chunk in response.body { (bytes, chunks) = (bytes + chunk.count, chunks + 1) }
                guard bytes > 0 else { fatalError("an empty body") }
            }
            return chunks
        }
        print("allocations=\(errand_allocation_count() - before) chunks=\(chunks)")
        try await transport.shutdown()
    }
}
