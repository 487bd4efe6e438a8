#if SWIFT_NIO
internal import Errand
internal import ErrandTesting
internal import Foundation
internal import TestSupport
internal import Testing

/// Bodies as httpbin gives them: coded, slowly, in part, or not at all.
@Suite(.enabled(if: RealServer.httpbin.isHere, Comment(rawValue: RealServer.httpbin.missing)), .timeLimit(.minutes(5)))
struct HTTPBinBodyTests {
    // MARK: Codings

    private struct Coded: Decodable, Sendable {
        let gzipped: Bool?
        let deflated: Bool?
        let headers: [String: String]
    }

    @Test(arguments: ["gzip", "deflate"])
    func aCodedBodyIsDecoded(coding: String) async throws {
        try await withClient(of: .httpbin, decompressing: true) { client in
            let response = try await client.response(Endpoint<Coded>.get("/\(coding, "coding")"))
            #expect(response.value.gzipped ?? response.value.deflated == true)
            #expect(response.value.headers["Accept-Encoding"]?.hasPrefix("gzip, deflate") == true)
            #expect(response.metadata.contentCoding == coding)
            #expect(response.headers[.contentEncoding] == nil)
            #expect(response.headers[.contentLength] == nil)
        }
    }

    @Test func aCodedBodyIsUnchangedWithoutADecoder() async throws {
        try await withClient(of: .httpbin) { client in
            let response = try await client.send(Endpoint<Coded>.get("/gzip"))
            #expect(response.headers[.contentEncoding] == "gzip")
            #expect(response.metadata.contentCoding == nil)
            #expect(try await response.body.collect().prefix(2) == Data([0x1F, 0x8B]))
        }
    }

    @Test func brotliIsDecodedIfItIsCompiledIn() async throws {
        try await withClient(of: .httpbin, decompressing: true) { client in
            #if Brotli
            let response = try await client.response(Endpoint<Coded>.get("/brotli"))
            #expect(response.metadata.contentCoding == "br" && response.headers[.contentEncoding] == nil)
            #else
            let error = try await failure(ResponseDecodingError.self) { try await client.get("/brotli", as: Coded.self) }
            #expect(error.head.headerFields[.contentEncoding] == "br")
            #endif
        }
    }

    @Test func textComesAsUTF8() async throws {
        try await withClient(of: .httpbin) { client in
            let text: String = try await client.get("/encoding/utf8")
            #expect(text.contains("∮ E⋅da = Q"))
            #expect(text.contains("⡌⠁⠧⠑ ⠼⠁⠒  ⡍⠜⠇⠑⠹⠰⠎ ⡣⠕⠌"))
            #expect(text.unicodeScalars.count { $0 == "\u{FFFD}" } == 1)  // it shows this one as well
        }
    }

    @Test func bytesArriveUnchanged() async throws {
        try await withClient(of: .httpbin) { client in
            let response = try await client.response(Endpoint<Data>.get("/bytes/100000"))
            #expect(response.value.count == 100_000)
            #expect(response.headers[.contentLength] == "100000")
            let chunked = try await client.response(Endpoint<Data>.get("/stream-bytes/100000", query: ["chunk_size": 777]))
            #expect(chunked.value.count == 100_000)
            #expect(chunked.headers[.contentLength] == nil)
        }
    }

    // MARK: As they come

    @Test func aStreamIsReadLineByLine() async throws {
        struct Line: Decodable {
            let id: Int
            let url: String
        }
        try await withClient(of: .httpbin) { client in
            let response = try await client.stack.send(Request(.get, "/stream/5"))
            var lines: [Line] = []
            for try await line in response.body.lines { lines.append(try JSONDecoder().decode(Line.self, from: Data(line.utf8))) }
            #expect(lines.map(\.id) == [0, 1, 2, 3, 4])
            #expect(lines.allSatisfy { $0.url.hasSuffix("/stream/5") })
        }
    }

    @Test func aSlowBodyComesWhole() async throws {
        try await withClient(of: .httpbin) { client in
            let data: Data = try await client.get("/drip", query: ["duration": 1, "numbytes": 4])
            #expect(data == Data("****".utf8))
        }
    }

    @Test func aSlowBodyIsStreamedAndAnAbandonedBodyHoldsNoConnection() async throws {
        try await withClient(of: .httpbin) { client in
            let request = try Request(.get, "/drip", query: ["duration": 10, "numbytes": 10])
            let exchange = try await client.stack.withResponse(to: request) { response in
                var iterator = response.body.makeAsyncIterator()
                let first = try await iterator.next()
                #expect(first?.first == UInt8(ascii: "*"))
                #expect(response.exchange.outcome == nil)
                return response.exchange
            }
            try await poll("the end of the exchange", value: { exchange.outcome != nil }) { $0 }
            #expect(try await client.value(HTTPBin.get([:])).args.isEmpty)
        }
    }

    // MARK: Deadlines

    @Test func aDelayedResponseTimesOut() async throws {
        try await withClient(of: .httpbin, layers: { $0.timeout(.seconds(1)) }) { client in
            let error = try await timeout(after: .seconds(1)) { try await client.get("/delay/8", as: Echo.self) }
            #expect(error.phase == .response)
            #expect(error.delivery == .unknown)
        }
    }

    @Test func aTooSlowBodyTimesOut() async throws {
        try await withClient(of: .httpbin, layers: { $0.timeout(.milliseconds(1_500)) }) { client in
            let error = try await timeout(after: .milliseconds(1_500)) {
                try await client.data(Endpoint<Data>.get("/drip", query: ["duration": 10, "numbytes": 10]))
            }
            #expect(error.phase == .body)
            #expect(error.delivery == .sent)
        }
    }

    @Test func aResponseWithinTheTimeoutIsAccepted() async throws {
        try await withClient(of: .httpbin, layers: { $0.timeout(.seconds(20)) }) { client in
            let started = ContinuousClock.now
            let echo: Echo = try await client.get("/delay/1")
            #expect(echo.url.hasSuffix("/delay/1"))
            #expect(ContinuousClock.now - started >= .seconds(1))
        }
    }

    @Test func aCancelledCallEndsImmediately() async throws {
        let sink = RecordingEventSink()
        try await withClient(of: .httpbin, layers: { $0.events(to: sink) }) { client in
            let started = ContinuousClock.now
            await #expect(throws: CancellationError.self) {
                try await withThrowingTaskGroup(of: Echo.self) { group in
                    group.addTask { try await client.get("/delay/8") }
                    try await sink.wait(for: .requestSent)
                    group.cancelAll()
                    for try await _ in group {}
                }
            }
            #expect(ContinuousClock.now - started < .seconds(8))
        }
    }

    // MARK: In part, or not at all

    @Test func aRangeIsAPart() async throws {
        try await withClient(of: .httpbin) { client in
            let response = try await client.response(Endpoint<String>.get("/range/100", headers: [.range: "bytes=10-19"]))
            #expect(response.status == .partialContent)
            #expect(response.value == "klmnopqrst")
            #expect(response.headers[.contentRange] == "bytes 10-19/100")
            let error = try await failure(StatusError.self) {
                try await client.value(Endpoint<String>.get("/range/100", headers: [.range: "bytes=200-"]))
            }
            #expect(error.status == .rangeNotSatisfiable)
            #expect(error.head.headerFields[.contentRange] == "bytes */100")
        }
    }

    @Test func aRangeRequestAsksForNoCoding() async throws {
        try await withClient(of: .httpbin, decompressing: true) { client in
            let response = try await client.response(Endpoint<String>.get("/range/26", headers: [.range: "bytes=-3"]))
            #expect(response.value == "xyz")
            #expect(response.request.head.headerFields[.acceptEncoding] == nil)
        }
    }

    @Test func anUnchangedFileHasNoBody() async throws {
        try await withClient(of: .httpbin) { client in
            var request = try Request(.get, "/etag/v1", headers: [.ifNoneMatch: "v1"])
            request.options.validateStatus = .use(.successfulOrRedirection)
            let response = try await client.send(request)
            #expect(response.status == .notModified)
            #expect(response.headers[.eTag] == "v1")
            #expect(try await response.body.collect().isEmpty)

            let changed = try await client.response(Endpoint<Echo>.get("/etag/v2", headers: [.ifNoneMatch: "v1"]))
            #expect(changed.status == .ok)
            #expect(changed.headers[.eTag] == "v2")
        }
    }

    @Test func aConditionThatFailsIsAnError() async throws {
        try await withClient(of: .httpbin) { client in
            let error = try await failure(StatusError.self) {
                try await client.value(Endpoint<Echo>.get("/etag/v2", headers: [.ifMatch: "v1"]))
            }
            #expect(error.status == .preconditionFailed)
        }
    }
}
#endif
