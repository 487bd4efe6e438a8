#if SWIFT_NIO && MockServer
internal import Errand
internal import ErrandConformance
internal import ErrandCore
internal import Foundation
internal import Synchronization
internal import TestSupport
internal import Testing

extension TransportTests {
    /// Exchanges over real sockets, cancelled at every job and at every event on the wire.
    @Suite(.enabled(if: ClientSockets.areKnown, Comment(rawValue: ClientSockets.unknown)))
    struct TransportTortureTests {
        private static let listeners: [NginxServer.Listener] = [.plain, .tls]

        @Test(.enabled(if: NginxServer.isHere, Comment(rawValue: NginxServer.missing)), arguments: listeners, TestedTransport.allCases)
        func aPlainGetIsCancelledAtEveryPoint(listener: NginxServer.Listener, by tested: TestedTransport) async throws {
            try await withNginx(listener, tested) { nginx, stage in
                let url = nginx.url("/300k", listener)
                try await stage.torture {
                    try await stage.send(Request(.get, url: url)).body.collect()
                } accepts: {
                    $0 == NginxServer.middle
                }
            }
        }

        @Test(.enabled(if: NginxServer.isHere, Comment(rawValue: NginxServer.missing)), arguments: listeners, TestedTransport.allCases)
        func aPartlyReadBodyIsCancelledAtEveryPoint(listener: NginxServer.Listener, by tested: TestedTransport) async throws {
            try await withNginx(listener, tested) { nginx, stage in
                let url = nginx.url("/5m", listener)
                try await stage.torture(uncancelledRuns: 4) {
                    let response = try await stage.send(Request(.get, url: url))
                    var read = Data()
                    for try await chunk in response.body {
                        read += chunk
                        if read.count > 100_000 { break }
                    }
                    return read
                } accepts: { read in
                    let isRight = read.count > 100_000 && read == NginxServer.large.prefix(read.count)
                    return isRight
                }
            }
        }

        /// Also at each chunk that is read of the file.
        @Test(
            .enabled(if: NginxServer.isHere, Comment(rawValue: NginxServer.missing)),
            .enabled(Comment(rawValue: NginxServer.storesNothing)) { try await NginxServer.storesUploads() }, arguments: listeners,
            TestedTransport.allCases)
        func anUploadFromAFileIsCancelledAtEveryPoint(listener: NginxServer.Listener, by tested: TestedTransport) async throws {
            let folder = try TestFolder("torture")
            let content = Data.seeded(512 * 1024 + 5)
            let path = try folder.write(content, to: "upload")
            try await withNginx(listener, tested) { nginx, stage in
                let url = nginx.url("/put/torture-\(listener)", listener)
                try await stage.torture(uncancelledRuns: 4) {
                    let file = try RequestBody.file(atPath: path)
                    let body = RequestBody.stream(length: file.length, replay: .seekable) {
                        TickingSource(source: try await file.open(from: $0), ticks: stage.ticks)
                    }
                    return try await stage.send(Request(.put, url: url, body: body)).status
                } accepts: { status in
                    status == .noContent || status == .created
                } check: { run in
                    try await poll("the file to be closed", value: { OpenThings().descriptors[path] ?? 0 }) { $0 == 0 }
                    // Also where it was cancelled: a part never passes for the whole.
                    let stored = try? nginx.stored("torture-\(listener)")
                    let isWhole = stored == content
                    if case .cancelled = run.outcome, stored == nil { return }
                    #expect(isWhole, "\(run)")
                }
            }
        }

        @Test(arguments: TestedTransport.allCases) func aRedirectIsCancelledAtEveryPoint(by tested: TestedTransport) async throws {
            let server = try RawServer.responding { connection, request, _ in
                switch request.target {
                case "/from": try connection.respond("302 Found", fields: ["Location: /to"], body: Data("moved".utf8))
                default: try connection.respond(body: Data("there".utf8))
                }
            }
            defer { server.stop() }
            try await withServer(server, tested) { stage in
                try await stage.torture {
                    try await stage.send(Request(.get, url: server.url("/from"))).body.collect()
                } accepts: {
                    $0 == Data("there".utf8)
                }
            }
        }

        @Test(arguments: TestedTransport.allCases) func aRetryInItsBackoffIsCancelledAtEveryPoint(by tested: TestedTransport) async throws {
            let refused = Mutex(Set<String>())
            let server = try RawServer.responding { connection, request, _ in
                let isFirst = refused.withLock { $0.insert(request.target).inserted }
                if isFirst, request.target.hasPrefix("/call/") {
                    try connection.respond("503 Service Unavailable", body: Data("busy".utf8))
                } else {
                    try connection.respond(body: Data("done".utf8))
                }
            }
            defer { server.stop() }
            try await withServer(server, tested) { stage in
                try await stage.torture {
                    let response = try await stage.send(Request(.get, url: server.url("/call/\(UUID())")))
                    return (response.metadata.attempts.count, try await response.body.collect())
                } accepts: {
                    $0 == (1, Data("done".utf8))
                }
            }
        }

        // MARK: The stage

        private func withNginx(
            _ listener: NginxServer.Listener, _ tested: TestedTransport, _ body: (NginxServer, Stage) async throws -> Void
        ) async throws {
            let nginx = try await NginxServer.shared()
            try await tested.run {
                $0.tls.extraRootsPEMFiles = [nginx.certificates.authority]
                $0.maxConnections = 1
            } _: { transport in
                try await body(nginx, Stage(transport, port: nginx.port(listener), next: nginx.url("/small", listener)))
            }
        }

        private func withServer(_ server: RawServer, _ tested: TestedTransport, _ body: (Stage) async throws -> Void) async throws {
            try await tested.run {
                $0.maxConnections = 1
            } _: { transport in
                try await body(Stage(transport, port: server.port, next: server.url("/next")))
            }
        }
    }
}

/// What a scenario plays on, and what must hold after it.
private struct Stage: Sendable {
    let ticks = Ticks()
    private let transport: any HTTPTransport
    private let stack: HTTPStack
    private let port: Int
    private let next: String
    private let openBefore = LiveWork.exchange.count

    /// - Parameters:
    ///   - port: of the server, to which one connection may be kept.
    ///   - next: the URL of a request that must always work.
    init(_ transport: any HTTPTransport, port: Int, next: String) {
        let random = SeededRandom(seed: 3)
        (self.transport, self.port, self.next) = (transport, port, next)
        stack = transport.redirect().retry(RetryPolicy(backoff: .exponential(base: .milliseconds(2))), budget: nil, random: random.next)
    }

    func send(_ request: Request) async throws -> Response {
        var request = request
        request.options.eventSink = ticks
        return try await stack.send(request)
    }

    /// - Parameter uncancelledRuns: fewer for a scenario that has many points, and takes long.
    func torture<Value: Sendable>(
        uncancelledRuns: Int = 10, _ scenario: @escaping @Sendable () async throws -> Value, accepts: (Value) -> Bool,
        check: (TortureRun<Value>) async throws -> Void = { _ in }
    ) async throws {
        let report = try await CancellationTorture(uncancelledRuns: uncancelledRuns, lateJobs: 1_000).run {
            try await ticks.during(scenario)
        } accepts: {
            accepts($0)
        } check: { run in
            try await checkWhatIsLeft(run)
            try await check(run)
        }
        #expect(report.cancelled > 5, "\(report)")
    }

    /// No exchange of ours goes on, no connection is open that the pool may not keep, and the next request works.
    private func checkWhatIsLeft(_ run: TortureRun<some Sendable>) async throws {
        if !LeakTrait.isRunParallel {
            try await poll("no exchange of ours", value: { LiveWork.exchange.count }) { $0 <= openBefore }
        }
        let response = try await sendUntilSent(Request(.get, url: next).within(.seconds(10)), by: transport)
        _ = try await response.body.collect()
        #expect(response.status == 200, "\(run)")
        try await poll("one connection", value: { try ClientSockets.count(to: port) }) { $0 <= 1 }
    }
}
#endif
