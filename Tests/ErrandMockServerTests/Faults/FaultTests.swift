#if MockServer && SWIFT_NIO
import ErrandNIO
import ErrandCore
import ErrandMockServer
import ErrandTesting
import Foundation
import TestSupport
import Testing

extension MockServerTests {
    /// The bytes and the end of the connection for each fault.
    @Suite
    struct FaultTests {
        private static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
        private static let head = "HTTP/1.1 200 OK\r\n"

        @Test(arguments: [(Fault.close, RawClient.End.closed), (.reset, .reset), (.halfClose, .closed)], FaultPoint.all)
        func aConnectionEnds(_ expected: (fault: Fault, end: RawClient.End), point: FaultPoint) async throws {
            try await withMockServer { server in
                server.enqueue(.chunks([Data("four".utf8)]).fault(expected.fault, at: point))
                let client = try RawClient(port: server.port)
                client.send(Self.get)
                #expect(client.end() == expected.end)
                #expect(server.requests.count == 1)
                if expected.fault == .halfClose {
                    // The server reads on.
                    try await server.waitUntil { $0.openConnections == 1 }
                    #expect(client.send("more") == 4)
                } else {
                    try await server.waitUntil { $0.openConnections == 0 }
                }
            }
        }

        @Test(arguments: [
            (Fault.truncatedChunk, FaultPoint.responseStart, "Transfer-Encoding: chunked\r\n\r\n408\r\nabcd"),
            (.truncatedChunk, .responseBody, "Transfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n404\r\nef"),
            (.truncatedChunk, .responseEnd, "Transfer-Encoding: chunked\r\n\r\n8\r\nabcdefgh\r\n"),
            (.wrongContentLength, .responseStart, "Content-Length: 24\r\n\r\nabcd"),
            (.wrongContentLength, .responseBody, "Content-Length: 24\r\n\r\nabcd"),
            (.wrongContentLength, .responseEnd, "Content-Length: 24\r\n\r\nabcdefgh"),
            (.wrongContentLength(missingBytes: -2), .responseStart, "Content-Length: 6\r\n\r\nabcdefgh"),
            (.wrongContentLength(missingBytes: -2), .responseBody, "Content-Length: 4\r\n\r\nabcdefgh"),
            (.wrongContentLength(missingBytes: -2), .responseEnd, "Content-Length: 8\r\n\r\nabcdefgh++"),
            (.goAway(includesStream: false), .responseEnd, "Content-Length: 8\r\n\r\nabcdefgh"),
        ])
        func aMessageIsTruncated(fault: Fault, point: FaultPoint, wanted: String) async throws {
            try await withMockServer { server in
                server.enqueue(.data(Data("abcdefgh".utf8)).fault(fault, at: point))
                let client = try RawClient(port: server.port)
                client.send(Self.get)
                #expect(client.readAll() == Self.head + wanted)
            }
        }

        @Test(arguments: [
            (FaultPoint.responseStart, false, ""), (.responseBody, true, "Transfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n"),
            (.responseEnd, true, "Transfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n4\r\nefgh\r\n"),
        ])
        func garbageReplacesAPart(point: FaultPoint, hasHead: Bool, wanted: String) async throws {
            try await withMockServer { server in
                let chunks = [Data("abcd".utf8), Data("efgh".utf8)]
                server.enqueue(.chunks(chunks).fault(.garbage(Data("<garbage>".utf8)), at: point))
                let client = try RawClient(port: server.port)
                client.send(Self.get)
                #expect(client.read(until: "<garbage>") == (hasHead ? Self.head : "") + wanted + "<garbage>")
                #expect(server.openConnectionCount == 1)
            }
        }

        @Test func aDripUsesTheClockOfTheServer() async throws {
            let clock = ManualClock()
            var configuration = MockServer.Configuration()
            configuration.clock = clock
            try await withMockServer(configuration) { server in
                server.enqueue(.data(Data("abcdef".utf8)).fault(.slowDrip(bytes: 2, every: .seconds(60)), at: .responseBody))
                let client = try RawClient(port: server.port)
                client.send(Self.get)
                #expect(client.read(until: "abc").hasSuffix("\r\n\r\nabc"))
                for piece in ["de", "f"] {
                    try await clock.sleepers(atLeast: 1)
                    clock.advance(by: .seconds(60))
                    #expect(client.read(until: piece) == piece)
                }
            }
        }

        @Test func aRequestIsReadSlowly() async throws {
            let clock = ManualClock()
            var configuration = MockServer.Configuration()
            configuration.clock = clock
            try await withMockServer(configuration) { server in
                server.enqueue(.echo.fault(.slowDrip(bytes: 3, every: .seconds(60)), at: .requestStart))
                let client = try RawClient(port: server.port)
                client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde")
                let request = try await clock.advancingToSleepers { try await server.nextRequest(within: .seconds(30)) }
                #expect(request.body == Data("abcde".utf8))
            }
        }

        @Test func aStallKeepsTheConnection() async throws {
            try await withMockServer { server in
                server.enqueue(.text("four").fault(.stall, at: .responseBody))
                var client: RawClient? = try RawClient(port: server.port)
                client?.send(Self.get)
                #expect(client?.read(until: "fo").hasSuffix("\r\n\r\nfo") == true)
                #expect(server.openConnectionCount == 1)
                client = nil
                // Nothing stands before the end that the client has sent.
                try await server.waitUntil { $0.openConnections == 0 }
            }
        }
    }
}
#endif
