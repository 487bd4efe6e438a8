#if MockServer && SWIFT_NIO
import ErrandNIO
import ErrandCore
import ErrandMockServer
import ErrandTesting
import Foundation
import TestSupport
import Testing

extension MockServerTests {
    /// The resources of a server: none is left at its end, and few are held before.
    @Suite
    struct LifetimeTests {
        /// The descriptors of this process.
        private func descriptors() throws -> Set<String> {
            let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
            return Set(names.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") })
                .filter { $0.hasPrefix("socket:") }
        }

        enum Left: CaseIterable { case idle, dispatching, stalled, halfRead, halfSent, handshake, broken }

        @Test(.enabled(if: ClientSockets.areKnown, Comment(rawValue: ClientSockets.unknown)), arguments: Left.allCases)
        func stoppingLeavesNothing(what: Left) async throws {
            let before = try descriptors()
            let server = try await MockServer.start(what == .handshake ? .tls(try TestAuthority().certificate()) : .init())
            server.dispatch { request in
                switch request.path {
                case "/idle": return .text("x")
                case "/stalled": return .text("x").fault(.stall, at: .responseBody)
                case "/broken": return .text("x").fault(.halfClose, at: .responseStart)
                case "/halfRead": return .source { CountingBodySource() }
                case "/halfSent": return .data(try await request.body())
                default: try await untilCancelled()
                }
            }
            do {
                let client = try RawClient(port: server.port)
                switch what {
                case .idle: client.send("GET /idle HTTP/1.1\r\nHost: a\r\n\r\n")
                case .dispatching: client.send("GET /never HTTP/1.1\r\nHost: a\r\n\r\n")
                case .stalled: client.send("GET /stalled HTTP/1.1\r\nHost: a\r\n\r\n")
                case .halfRead: client.send("GET /halfRead HTTP/1.1\r\nHost: a\r\n\r\n")
                case .halfSent: client.send("POST /halfSent HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nfour")
                case .broken: client.send("GET /broken HTTP/1.1\r\nHost: a\r\n\r\n")
                case .handshake: client.send("\u{16}\u{3}")
                }
                if [.idle, .stalled, .halfRead].contains(what) { _ = client.readSome() }
                try await server.waitUntil { $0.openConnections == 1 }
                let start = ContinuousClock.now
                await server.stop()
                // A dispatcher in progress would take an hour.
                #expect(ContinuousClock.now - start < .seconds(20))
                #expect(server.openConnectionCount == 0)
                while client.readSome() != nil {}
            }
            try await poll("the sockets to be gone", value: { try descriptors().subtracting(before) }) { $0.isEmpty }
            #expect(throws: (any Error).self) { try RawClient(port: server.port) }
        }

        @Test(.enabled(if: ClientSockets.areKnown, Comment(rawValue: ClientSockets.unknown)))
        func aReleasedServerStops() async throws {
            let before = try descriptors()
            var server: MockServer? = try await MockServer.start()
            let client = try RawClient(port: try #require(server).port)
            try await server?.waitUntil { $0.openConnections == 1 }
            server = nil
            #expect(client.readSome() == nil)
            try await poll("the sockets to be gone", value: { try descriptors().subtracting(before).count }) { $0 <= 1 }
        }

        /// The server stops at any moment. Nothing hangs, and no resource is left.
        @Test(arguments: [false, true])
        func stoppingUnderLoadEndsEverything(isHTTP2: Bool) async throws {
            let files = try FileAuthority()
            let content = Data.seeded(500_000)
            try await withNIO {
                $0.tls.extraRootsPEMFiles = [files.path]
            } _: { transport in
                for _ in 0..<10 {
                    let server = try await MockServer.start(isHTTP2 ? .tls(try files.authority.certificate()) : .init())
                    server.dispatch { $0.path == "/echo" ? .echo : .data(try await $0.body()) }
                    await withTaskGroup(of: Void.self) { group in
                        for index in 0..<16 {
                            group.addTask {
                                let path = index.isMultiple(of: 2) ? "/echo" : "/whole"
                                while let request = try? Request(.post, url: server.url(path), body: .data(content)).within(.seconds(10)),
                                    (try? await transport.whole(request)) != nil
                                {}
                            }
                        }
                        _ = try? await server.nextRequest()
                        await server.stop()
                        #expect(server.openConnectionCount == 0)
                    }
                }
            }
        }

        @Test func stoppingTwiceIsAllowed() async throws {
            let server = try await MockServer.start()
            await server.stop()
            await server.stop()
        }

        @Test func cancellingTheBodyStopsTheServer() async throws {
            let started = Watched<Int?>(nil)
            let work = Task {
                try await withMockServer { server in
                    server.dispatch { _ in try await untilCancelled() }
                    started.change { $0 = server.port }
                    try await withNIO { transport in _ = try await transport.send(Request(.get, url: server.url())) }
                }
            }
            let port = try #require(try await started.wait { $0 != nil })
            work.cancel()
            await #expect(throws: CancellationError.self) { try await work.value }
            #expect(throws: (any Error).self) { try RawClient(port: port) }
            // Where the system does not tell, that nobody listens is all that can be seen.
            if ClientSockets.areKnown { #expect(try ClientSockets.count(to: port) == 0) }
        }

        @Test func aDispatcherIsCancelledWhenTheClientDisconnects() async throws {
            let cancelled = Watched(false)
            try await withMockServer { server in
                server.dispatch { _ in
                    do {
                        try await untilCancelled()
                    } catch {
                        cancelled.change { $0 = true }
                        throw error
                    }
                }
                try await withNIO { transport in
                    let failure = try await transportError {
                        try await transport.send(Request(.get, url: server.url()).within(.milliseconds(200)))
                    }
                    #expect(failure.code == .timedOut)
                    try await cancelled.wait { $0 }
                    try await server.waitUntil { $0.openConnections == 0 }
                }
            }
        }

        @Test func aServerCanRefuseToAccept() async throws {
            var configuration = MockServer.Configuration()
            configuration.neverAccepts = true
            try await withMockServer(configuration) { server in
                try await withNIO {
                    $0.connectTimeout = .milliseconds(600)
                } _: { transport in
                    let failure = try await transportError {
                        try await transport.send(Request(.get, url: server.url()).within(.milliseconds(300)))
                    }
                    #expect(failure.code == .timedOut)
                    #expect(failure.phase == .connect)
                    #expect(failure.delivery == .notSent)
                    #expect(server.acceptedConnectionCount == 0)
                }
            }
        }

        @Test(arguments: ConnectionFault.all)
        func aConnectionFailsBeforeItsFirstRequest(fault: ConnectionFault) async throws {
            try await withMockServer { server in
                server.dispatch { _ in .text("next time") }
                server.failConnections(fault)
                try await withNIO { transport in
                    let failure = try await transportError {
                        try await transport.send(Request(.get, url: server.url()).within(.milliseconds(300)))
                    }
                    // A reset may come before the client has set the connection up.
                    let codes: Set<TransportError.Code> = fault == .stall ? [.timedOut] : [.connectionLost, .cannotConnect]
                    #expect(codes.contains(failure.code), "\(failure)")
                    #expect(failure.delivery != .sent)
                    #expect(try await transport.text(server.url()) == "next time")
                    #expect(server.requests.count == 1)
                }
            }
        }

        @Test func manyRequestsAtATime() async throws {
            try await withMockServer { server in
                server.dispatch { request in .data(try await request.body()) }
                try await withNIO {
                    $0.maxConnectionsPerOrigin = 16
                } _: { transport async throws in
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for index in 0..<400 {
                            group.addTask { () async throws in
                                let content = Data("\(index)".utf8)
                                #expect(try await transport.whole(Request(.post, url: server.url(), body: .data(content))).body == content)
                            }
                        }
                        try await group.waitForAll()
                    }
                }
                #expect(server.requests.count == 400)
                // Its limit is a soft one: each event loop may have one connection more.
                #expect(server.acceptedConnectionCount <= 16 + 16)
            }
        }

        // MARK: - Memory

        private static let largeBytes = 20 * 1024 * 1024

        @Test func aClientThatDoesNotReadIsNotSentMore() async throws {
            let source = CountingBodySource()
            try await withMockServer { server in
                server.enqueue(.source { source })
                let client = try RawClient(port: server.port)
                client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                _ = client.readSome()
                let produced = try await source.producedAtRest()
                // The size of the system's buffers, and a small reserve.
                #expect(produced < 12 * 1024 * 1024)
            }
            try await source.progress.wait("the source to be given up") { $0.isAbandoned }
        }

        @Test func aServerThatDoesNotReadIsNotSentMore() async throws {
            try await withMockServer { server in
                server.enqueue(.text("x").fault(.stall, at: .requestBody))
                let sent = CountingBodySource()
                try await withNIO { transport in
                    let body = RequestBody.stream { _ in sent }
                    let upload = Task { try await transport.send(Request(.put, url: server.url(), body: body)) }
                    let produced = try await sent.producedAtRest()
                    #expect(produced < 12 * 1024 * 1024)
                    upload.cancel()
                    _ = try? await upload.value
                }
            }
        }

        @Test(arguments: [MockResponse.echo, .data(Data.seeded(LifetimeTests.largeBytes))], [false, true])
        func largeBodiesAreWholeBothWays(response: MockResponse, isHTTP2: Bool) async throws {
            let files = try FileAuthority()
            let content = Data.seeded(Self.largeBytes)
            try await withMockServer(.tls(try files.authority.certificate(), protocols: isHTTP2 ? [.http2] : [.http1_1])) { server in
                server.enqueue(response)
                try await withNIO {
                    $0.tls.extraRootsPEMFiles = [files.path]
                } _: { transport in
                    let (_, body) = try await transport.whole(Request(.put, url: server.url(), body: .data(content)))
                    let isSame = body == content
                    #expect(isSame)
                    let kept = try await server.nextRequest()
                    #expect(kept.bodyBytes == Self.largeBytes)
                    #expect(kept.body.count == 16 * 1024 * 1024)
                }
            }
        }
    }
}
#endif
