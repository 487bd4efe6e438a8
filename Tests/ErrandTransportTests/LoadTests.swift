#if SWIFT_NIO && MockServer
internal import Errand
internal import ErrandTesting
internal import Foundation
internal import Synchronization
internal import TestSupport
internal import Testing

extension TransportTests {
    /// Many at a time, half of them given up at any moment: nothing hangs, and nothing is left.
    @Suite
    struct LoadTests {
        fileprivate static let count = 500

        private struct Outcomes: Sendable {
            var whole = 0
            var cancelled = 0
            var other: [String] = []
            var open = Set(0..<LoadTests.count)
        }

        @Test(arguments: [UInt64(1), 2], TestedTransport.allCases)
        func halfOfFiveHundredRequestsAreCancelled(seed: UInt64, by tested: TestedTransport) async throws {
            let server = try RawServer { connection in
                while true {
                    let request = try connection.readHead()
                    let body = try connection.readBody(of: request)
                    switch request.target {
                    case "/echo": try connection.respond(body: body)
                    case "/drip":
                        try connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                        for _ in 0..<5 {
                            try connection.write("4\r\ndrip\r\n")
                            connection.pause(milliseconds: 5)
                        }
                        try connection.write("0\r\n\r\n")
                    default: try connection.respond(fields: ["Connection: close"], body: NginxServer.middle)
                    }
                }
            }
            defer { server.stop() }
            let nginx: NginxServer? = NginxServer.isHere ? try await NginxServer.shared() : nil
            let urls: [(url: String, body: RequestBody, length: Int)] =
                [
                    (server.url("/echo"), .data(Data.seeded(200_000)), 200_000), (server.url("/drip"), .empty, 20),
                    (server.url("/close"), .empty, NginxServer.middle.count),
                ]
                + (nginx.map { nginx in
                    [
                        (nginx.url("/300k"), .empty, NginxServer.middle.count),
                        (nginx.url("/300k", .tls), .empty, NginxServer.middle.count),
                        (nginx.url("/small", .once), .empty, NginxServer.small.count),
                    ]
                } ?? [])
            // Other tests may use the same nginx.
            let rawPort = server.port

            try await tested.run {
                $0.maxConnections = 16
                $0.allowsHTTP2 = false
                if let nginx { $0.tls.extraRootsPEMFiles = [nginx.certificates.authority] }
            } _: { transport in
                let sinks = (0..<Self.count).map { _ in RecordingEventSink() }
                let outcomes = Watched(Outcomes())
                var generator = SeededGenerator(seed: seed)
                for number in 0..<Self.count {
                    let target = urls[number % urls.count]
                    let request = try Request(target.body.isEmpty ? .get : .put, url: target.url, body: target.body).telling(sinks[number])
                    let delay = Int.random(in: 0..<400_000, using: &generator)
                    let isCancelled = Bool.random(using: &generator)
                    let exchange = Task {
                        let response = try await transport.send(request)
                        var received = 0
                        for try await chunk in response.body { received += chunk.count }
                        return received
                    }
                    Task {
                        if isCancelled {
                            try await Task.sleep(for: .microseconds(delay))
                            exchange.cancel()
                        }
                        let result = await exchange.result
                        outcomes.change { outcomes in
                            switch result {
                            case .success(target.length): outcomes.whole += 1
                            case .failure(is CancellationError) where isCancelled: outcomes.cancelled += 1
                            default: outcomes.other.append("\(request): \(result)")
                            }
                            outcomes.open.remove(number)
                        }
                    }
                }
                do {
                    try await outcomes.wait("all of them to end", upTo: .seconds(40)) { $0.open.isEmpty }
                } catch {
                    for number in outcomes.value.open.sorted().prefix(10) {
                        Issue.record("hangs: \(urls[number % urls.count].url) \(sinks[number].kinds)")
                    }
                    throw error
                }
                let end = outcomes.value
                #expect(end.other.isEmpty, "\(end.other.prefix(5))")
                #expect(end.whole + end.cancelled == Self.count)
                #expect(end.whole >= Self.count / 3)

                // Every exchange that began has ended, once.
                for sink in sinks where !sink.steps.isEmpty {
                    try await sink.wait(for: .end)
                    #expect(sink.steps.filter { $0 == .start }.count == 1)
                    #expect(sink.steps.filter { $0 == .end }.count == 1)
                }
                // What is left is idle connections within the limit, and the pool still serves.
                #expect(server.counts.value.mostOpen <= 16 + 16)
                try await server.counts.wait("the connections to fall to the limit") { $0.open <= 16 }
                for target in urls {
                    let request = try Request(target.body.isEmpty ? .get : .put, url: target.url, body: target.body).within(.seconds(10))
                    #expect(try await transport.send(request).body.collect().count == target.length)
                }
            }
            try await server.counts.wait("every connection to be closed") { $0.open == 0 }
            try await poll("no descriptor to be left", value: { try ClientSockets.count(to: rawPort) }) { $0 == 0 }
        }
    }
}
#endif
