import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Synchronization
import Testing

/// A small harness, which has a server of event streams, and takes the reports of the service.
enum EventHarness {
    /// What it has seen.
    struct Seen {
        var reports: [String] = []
        var lastEventIDs: [String?] = []
        var bodies: [String] = []
    }

    /// A server of event streams that also takes the reports. Each connection gets the next of the streams, and the last one again.
    static func run(
        _ streams: [String], holdsOpen: Bool = false,
        _ body: @escaping @Sendable (String, @escaping @Sendable () -> Seen) async throws -> Void
    ) async throws {
        let seen = Mutex(Seen())
        let router = Router()
        router.on("/stream", method: .get) { request, _ in try await stream(request) }
        router.on("/stream", method: .post) { request, _ in try await stream(request) }
        @Sendable func stream(_ request: Hummingbird.Request) async throws -> Hummingbird.Response {
            let body = try await request.body.collect(upTo: 1 << 20)
            let number = seen.withLock { seen in
                seen.lastEventIDs.append(HTTPField.Name("Last-Event-ID").flatMap { request.headers[$0] })
                seen.bodies.append(String(buffer: body))
                return seen.lastEventIDs.count
            }
            let text = streams[min(number, streams.count) - 1]
            if text == "204" { return Hummingbird.Response(status: .noContent) }
            return Hummingbird.Response(
                status: .ok, headers: [.contentType: "text/event-stream"],
                body: ResponseBody { writer in
                    try await writer.write(ByteBuffer(string: text))
                    if holdsOpen { try await Task.sleep(for: .seconds(60)) }
                    try await writer.finish(nil)
                })
        }
        router.post("/callback/:number") { request, context in
            let body = try await request.body.collect(upTo: 1 << 20)
            let number = try context.parameters.require("number", as: Int.self)
            seen.withLock { seen in
                if seen.reports.count == number - 1 { seen.reports.append(String(buffer: body)) }
            }
            return HTTPResponse.Status.ok
        }
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        var logger = Logger(label: "harness")
        logger.logLevel = .critical
        let app = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { port.yield($0.localAddress?.port ?? 0) }, logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await app.run() }
            var numbers = ports.makeAsyncIterator()
            let port = try #require(await numbers.next())
            try await body("http://127.0.0.1:\(port)") { seen.withLock { $0 } }
            group.cancelAll()
        }
    }
}

/// A port that is free now.
enum FreePort {
    struct None: Error {}

    static func find() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let found = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard found else { throw None() }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
