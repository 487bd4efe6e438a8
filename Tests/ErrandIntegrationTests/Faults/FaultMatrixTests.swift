#if MockServer && SWIFT_NIO
import Errand
import ErrandConformance
import ErrandMockServer
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

extension IntegrationTests {
    /// Every fault at every point: each exchange ends in the error or the result that is documented for it, in time, with `delivery` right,
    /// and the transport goes on to work.
    @Suite(TestedOverURLSession())
    struct FaultMatrixTests {
        @Test(arguments: TestedTransport.allCases)
        func everyFaultAtEveryPointOfHTTP1EndsAsDocumented(by tested: TestedTransport) async throws {
            let rows = FaultRow.all(Fault.all)
            #expect(rows.count == 112)
            try await tested.run { transport in
                await FaultRow.checkAll(rows, expecting: FaultExpectation.http1) { row, expected in
                    try await check(row, expected, MockServer.Configuration(), by: transport)
                }
            }
        }

        @Test func everyFaultAtEveryPointOfHTTP2EndsAsDocumented() async throws {
            let files = try FileAuthority()
            let configuration = MockServer.Configuration.tls(try files.authority.certificate(), protocols: [.http2])
            let faults = Fault.all + [.goAway(includesStream: true), .goAway(includesStream: false), .refusedStream, .resetStream(code: 2)]
            // One transport for all, since to read the system's authorities takes its time. Every row has a server of its own.
            try await withNIO {
                $0.tls.extraRootsPEMFiles = [files.path]
            } _: { transport in
                await FaultRow.checkAll(FaultRow.all(faults), expecting: FaultExpectation.http2) { row, expected in
                    try await check(row, expected, configuration, by: transport)
                }
            }
        }

        private func check(
            _ row: FaultRow, _ expected: FaultExpectation, _ configuration: MockServer.Configuration, by transport: any HTTPTransport
        ) async throws {
            let server = try await withMockServer(configuration) { server in
                server.dispatch { request in request.path == "/broken" ? row.response : .data(FaultRow.responseBody) }
                let deadline: Duration = expected.code == .timedOut ? .seconds(6) : .seconds(20)
                let start = ContinuousClock.now
                let sink = RecordingEventSink()
                let outcome = await FaultOutcome.of(
                    try row.request(server.url("/broken"), deadline: deadline), by: transport.redirect().events(to: sink))
                let took = ContinuousClock.now - start
                #expect(expected.allows(outcome), "\(row): \(outcome)")
                // The end may be told a moment behind the reader's.
                try await poll("\(row): the end of the call", value: { sink.events.last?.kind }) { $0 == .callEnd }
                #expect(EventGrammar.violations(sink.events) == [], "\(row)")
                #expect(
                    (sink.events.last?.failure == nil) == outcome.isWhole,
                    "\(row): \(outcome), told as \(String(describing: sink.events.last?.failure))")
                #expect(took < (expected.code == .timedOut ? deadline + .seconds(20) : deadline), "\(row): \(took)")
                try await checkNext(on: server, by: transport, after: outcome, row, expected)
                return server
            }
            let count = expected.isUnprocessed ? 2 : 1
            #expect(server.requests.filter { $0.path == "/broken" }.count == count, "\(row): \(server.requests)")
        }

        /// The next request finds a connection that works, at the latest after those of which the pool had not learnt yet.
        private func checkNext(
            on server: MockServer, by transport: any HTTPTransport, after outcome: FaultOutcome, _ row: FaultRow,
            _ expected: FaultExpectation
        ) async throws {
            // A connection on which the server says nothing more is found by the limit.
            let limit: Duration = expected.leavesBrokenConnection ? .seconds(4) : .seconds(15)
            for attempt in 0... {
                let next = await FaultOutcome.of(try Request(.get, url: server.url("/fine")).within(limit), by: transport)
                if case .whole = next { break }
                guard attempt < 5, case .failure(let failure, _) = next, failure.delivery == .notSent || expected.leavesBrokenConnection
                else {
                    Issue.record("\(row): \(outcome), and then \(next)")
                    return
                }
            }
            // The connection of the broken exchange is closed. The server may not see the end, because the end comes after bytes that it
            // does not read.
            if ClientSockets.areKnown {
                try await poll("\(row): one connection", value: { try ClientSockets.count(to: server.port) }) { $0 <= 1 }
            }
            let connection = server.requests.last { $0.path == "/fine" }?.connectionIndex
            #expect((connection == 0) == expected.keepsConnection, "\(row): the next request on connection \(connection ?? -1)")
        }

        /// Bytes after a response are not a response to the next request.
        @Test func bytesBeyondAResponseAreNoResponse() async throws {
            await concurrently(Array(0..<50)) { _ in
                try await withMockServer { server in
                    let head = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
                    server.dispatch { request in
                        let octets = request.path == "/doubled" ? head + "four" + head + "evil" : head + "fine"
                        // Kept open, unlike behind a raw response.
                        return .data(Data()).fault(.garbage(Data(octets.utf8)), at: .responseStart)
                    }
                    try await withNIO { transport in
                        #expect(try await transport.text(server.url("/doubled")) == "four")
                        for _ in 0..<6 {
                            do {
                                let (_, body) = try await transport.whole(Request(.get, url: server.url("/next")).within(.seconds(15)))
                                #expect(String(decoding: body, as: UTF8.self) == "fine")
                                break
                            } catch let failure as TransportError {
                                #expect(failure.delivery != .sent, "\(failure)")
                            }
                        }
                    }
                }
            }
        }

        @Test(arguments: TestedTransport.allCases)
        func aLengthThatIsTooShortEndsTheBody(by tested: TestedTransport) async throws {
            try await withMockServer { server in
                server.enqueue(.data(FaultRow.responseBody).fault(.wrongContentLength(missingBytes: -16), at: .responseEnd))
                server.dispatch { _ in .data(FaultRow.responseBody) }
                try await tested.run { transport in
                    let outcome = await FaultOutcome.of(try Request(.get, url: server.url()), by: transport)
                    #expect("\(outcome)" == "whole")
                    try await server.waitUntil { $0.openConnections == 0 }
                }
            }
        }
    }
}

/// How an exchange with a fault must end.
struct FaultExpectation: Sendable {
    /// The code of the failure; `nil` if the exchange succeeds.
    var code: TransportError.Code?
    /// The phase of the failure. In `body`, the server has responded. In the other phases, the server may have got the request.
    var phases: Set<ExchangePhase> = []
    var mayBeWhole = false
    /// Whether the pool may give the connection away again before it knows, or can't know, that it is broken.
    var leavesBrokenConnection = false
    /// Whether the next request may go over the same connection, and does.
    var keepsConnection = false
    /// Whether the server says that it has not processed the request: then the transport sends it once more.
    var isUnprocessed = false

    static let whole = FaultExpectation(mayBeWhole: true)

    static func fails(_ code: TransportError.Code, in phases: ExchangePhase..., orIsWhole: Bool = false) -> FaultExpectation {
        FaultExpectation(code: code, phases: Set(phases), mayBeWhole: orIsWhole)
    }

    func with(_ change: (inout FaultExpectation) -> Void) -> FaultExpectation {
        var copy = self
        change(&copy)
        return copy
    }

    func allows(_ outcome: FaultOutcome) -> Bool {
        switch outcome {
        case .whole: mayBeWhole
        case .failure(let failure, let received):
            failure.code == code && phases.contains(failure.phase)
                && failure.delivery == (isUnprocessed ? .notSent : failure.phase == .body ? .sent : .unknown)
                && (failure.response != nil) == (failure.delivery == .sent)
                && (received == 0 || failure.phase == .body)
        case .wrongBody, .other: false
        }
    }

    static func http1(_ row: FaultRow) -> FaultExpectation {
        let isUnread = row.method == .post && (row.point == .requestStart || row.point == .requestBody)
        let isEndOfLength = row.point == .responseEnd && !row.isChunked
        let code: TransportError.Code =
            switch row.fault {
            case .stall, .slowDrip: .timedOut
            case .garbage: .invalidResponse
            default: .connectionLost
            }
        switch row.fault {
        case .truncatedChunk, .wrongContentLength:
            // If a request was not read, the system sends a reset, which may delete the head of the response.
            return isUnread ? .fails(code, in: .send, .response, .body) : .fails(code, in: .body)
        case .slowDrip where row.point == .responseEnd:
            return .whole.with { $0.keepsConnection = true }
        case .slowDrip where isUnread:
            return .fails(code, in: .send, .response)
        case .slowDrip:
            return .fails(code, in: .response, .body)
        case _ where isEndOfLength:
            // The body is whole by its length. A reset may still take along what was not read yet, and so may what the parser stumbles over
            // behind it, where the reader is slow.
            let mayTakeAlong = row.fault == .reset || code == .invalidResponse
            let outcome = mayTakeAlong ? FaultExpectation.fails(code, in: .body, orIsWhole: true) : .whole
            return outcome.with { $0.leavesBrokenConnection = true }
        case _ where row.point == .responseBody || row.point == .responseEnd:
            return .fails(code, in: .body)
        default:
            // If a request is sent in parts, its end and the end of the connection may be reported in either order.
            return row.method == .post ? .fails(code, in: .send, .response) : .fails(code, in: .response)
        }
    }

    static func http2(_ row: FaultRow) -> FaultExpectation {
        let isBehindHead = row.point == .responseBody || row.point == .responseEnd
        let isEndOfLength = row.point == .responseEnd && !row.isChunked
        func fails(_ code: TransportError.Code) -> FaultExpectation {
            isBehindHead ? .fails(code, in: .body) : row.method == .post ? .fails(code, in: .send, .response) : .fails(code, in: .response)
        }
        switch row.fault {
        case .goAway(includesStream: true): return .whole
        case .stall: return fails(.timedOut).with { $0.keepsConnection = true }
        case .slowDrip where row.point == .responseEnd: return .whole.with { $0.keepsConnection = true }
        case .slowDrip:
            return .fails(.timedOut, in: .send, .response, .body).with { $0.keepsConnection = true }
        case .refusedStream, .resetStream(code: 2):
            return fails(.connectionLost).with {
                $0.mayBeWhole = isEndOfLength
                $0.keepsConnection = true
                $0.isUnprocessed = row.fault == .refusedStream && !isBehindHead
            }
        case .truncatedChunk:
            return .fails(.connectionLost, in: .send, .response, .body).with { $0.mayBeWhole = isEndOfLength }
        case .wrongContentLength:
            // It costs its stream alone (RFC 9113, 8.1.1).
            return .fails(.invalidResponse, in: .body).with { $0.keepsConnection = true }
        default:
            return fails(row.fault == .garbage ? .invalidResponse : .connectionLost).with {
                $0.mayBeWhole = isEndOfLength
                $0.leavesBrokenConnection = true
                $0.isUnprocessed = row.fault == .goAway(includesStream: false) && !isBehindHead
            }
        }
    }
}
#endif
