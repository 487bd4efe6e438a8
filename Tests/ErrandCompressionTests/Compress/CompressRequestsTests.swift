import ErrandCore
import ErrandMiddleware
import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import ErrandCompression

@Suite(.timeLimit(.minutes(5))) struct CompressRequestsTests {
    private static let text = Data(String(repeating: "Small parts that can be read: ", count: 100).utf8)

    private func request(_ body: RequestBody, headers: HTTPFields = [:], compress: OptionOverride<RequestCompression> = .inherited) throws
        -> Request
    {
        var request = try Request(.post, url: "https://a.example/", headers: headers)
        request.body = body
        request.options.compressRequests = compress
        return request
    }

    /// Returns the body that a stub received, decoded by its own `Content-Encoding`.
    private func decoded(_ recorded: RecordedRequest) async throws -> Data {
        let stub = StubTransport(
            Stub().responds(.data(recorded.body, headers: [.contentEncoding: recorded.headers[.contentEncoding] ?? "identity"])))
        let response = try await stub.decompress(DecompressionLimits(maxRatio: nil)).send(Request(.get, url: "https://a.example/"))
        return try await response.body.collect()
    }

    private func refusal(accepting codings: String?) -> StubResponse {
        var headers = HTTPFields()
        headers[.acceptEncoding] = codings
        return .status(.unsupportedMediaType, headers: headers)
    }

    /// A body of unknown length that can be sent once.
    private func oneShot() -> RequestBody {
        .stream(
            AsyncStream<Data> {
                $0.yield(Self.text)
                $0.finish()
            })
    }

    /// A body of unknown length that can be sent again.
    private func stream(_ data: Data) -> RequestBody {
        .stream { _ in ScriptedBodySource(chunks: stride(from: 0, to: data.count, by: 1000).map { Data(data.dropFirst($0).prefix(1000)) }) }
    }

    @Test func aPartOfAResumableUploadIsNotCompressed() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        var request = try request(.data(Self.text))
        request.options.call.keepsBodyBytes = true
        _ = try await stub.compressRequests().send(request)
        let sent = try #require(stub.requests.last)
        #expect(sent.headers[.contentEncoding] == nil && sent.body == Self.text)
    }

    // MARK: Compressed bodies

    @Test(.enabled(if: Programs.find("python3") != nil, "there is no python3 on this machine"))
    func bytesInMemoryAreCompressedBeforeSending() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let response = try await stub.compressRequests().send(
            try request(.data(Self.text), headers: [.contentLength: "\(Self.text.count)"]))
        let sent = try #require(stub.requests.last)
        #expect(sent.headers[.contentEncoding] == "gzip" && sent.headers[.contentLength] == nil)
        #expect(sent.body.count < 100 && response.request.body.length == Int64(sent.body.count))
        #expect(response.request.body.replay == .seekable)
        let python = try #require(Programs.find("python3"))
        let script = "import base64, gzip; print(gzip.decompress(base64.b64decode('\(sent.body.base64EncodedString())')).decode(), end='')"
        #expect(try await Programs.run(python, ["-c", script]) == String(decoding: Self.text, as: UTF8.self))
    }

    @Test func anIncompressibleBodyIsSentUnchanged() async throws {
        for body in [Data.seeded(1_000, seed: 1), Data("x".utf8), Data()] {
            let stub = StubTransport(Stub().responds(.status(.ok)))
            _ = try await stub.compressRequests().send(try request(.data(body)))
            #expect(stub.requests.last?.headers[.contentEncoding] == nil && stub.requests.last?.body == body)
        }
    }

    @Test func eachCodingIsDecodedAgain() async throws {
        for coding in ContentCoding.allCases {
            for body in [Self.text, Data.seeded(300_000, seed: 2) + Data(count: 300_000)] {
                let stub = StubTransport(Stub().responds(.status(.ok)))
                _ = try await stub.compressRequests(RequestCompression(coding: coding)).send(try request(stream(body)))
                let sent = try #require(stub.requests.last)
                #expect(sent.headers[.contentEncoding] == coding.rawValue && sent.body.count < body.count)
                #expect(try await decoded(sent) == body, "\(coding)")
            }
        }
    }

    @Test func aBodyOver64KiBIsCompressedDuringEachSending() async throws {
        let body = Data(count: 1_000_000)
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable), .status(.ok)))
        let response = try await stub.compressRequests().retry(RetryPolicy(backoff: .immediate, keyedMethods: [.post]), budget: nil)
            .send(try request(.data(body)))
        #expect(response.request.body.length == nil && response.request.body.replay == .restartable)
        #expect(stub.requests.count == 2)
        for sent in stub.requests { #expect(try await decoded(sent) == body && sent.body.count < 2_000) }
    }

    @Test func aCompressedOneShotStreamStaysOneShot() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let body = oneShot()
        let response = try await stub.compressRequests().send(try request(body))
        #expect(response.request.body.length == nil && response.request.body.replay == .oneShot && !body.canBeSent)
        #expect(try await decoded(try #require(stub.requests.last)) == Self.text)
    }

    @Test(
        arguments: [
            HTTPField(name: .contentEncoding, value: "br"), HTTPField(name: .contentRange, value: "bytes 0-9/10"),
            HTTPField(name: .custom("Content-Digest"), value: "sha-256=:AA==:"),
            HTTPField(name: .custom("Repr-Digest"), value: "sha-256=:AA==:"),
            HTTPField(name: .custom("Content-MD5"), value: "AA=="),
        ])
    func aBodyDescribedByFieldsIsSentUnchanged(field: HTTPField) async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        _ = try await stub.compressRequests().send(try request(.data(Self.text), headers: HTTPFields([field])))
        #expect(
            stub.requests.last?.body == Self.text
                && stub.requests.last?.headers[.contentEncoding] == (field.name == .contentEncoding ? "br" : nil))
    }

    @Test func anOptionChoosesTheCodingAndNeedsTheMiddleware() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let stack = stub.compressRequests(nil)
        #expect("\(stack)".hasPrefix("compressRequests(by option)"))
        _ = try await stack.send(try request(.data(Self.text)))
        _ = try await stack.send(try request(.data(Self.text), compress: .deflate))
        _ = try await stub.compressRequests().send(try request(.data(Self.text), compress: .off))
        #expect(stub.requests.map { $0.headers[.contentEncoding] } == [nil, "deflate", nil])
        let error = try await failure(UnsupportedOptionError.self) {
            try await stub.redirect().send(try request(.data(Self.text), compress: .gzip))
        }
        #expect("\(error)".contains("compressRequests"))
    }

    // MARK: Refusals

    @Test(arguments: ["identity", "", "deflate, gzip;q=0", "*;q=0.0", nil])
    func aRefusedRequestIsSentAgainUncompressed(accepting codings: String?) async throws {
        let clock = ManualClock()
        let stub = StubTransport(Stub().responds(refusal(accepting: codings), .status(.ok), repeatingLast: true))
        let stack = stub.compressRequests(clock: clock)
        let response = try await stack.send(try request(.data(Self.text)))
        #expect(response.status == .ok && response.request.options.resendCount == 1)
        #expect(response.metadata.attempts.map(\.description) == ["attempt 1: 415"])
        _ = try await stack.send(try request(.data(Self.text)))
        _ = try await stack.send(try request(.data(Self.text), compress: .deflate))
        var other = try Request(.post, url: "https://b.example/")
        other.body = .data(Self.text)
        _ = try await stack.send(other)
        clock.advance(by: .seconds(3600))
        _ = try await stack.send(try request(.data(Self.text)))
        #expect(stub.requests.map { $0.headers[.contentEncoding] } == ["gzip", nil, nil, "deflate", "gzip", "gzip"])
        #expect(stub.requests[1].body == Self.text && stub.openBodyCount == 0)
    }

    @Test func anOriginThatAcceptsTheCodingAgainGetsCompressedBodies() async throws {
        let stub = StubTransport(
            Stub().responds(
                .status(.ok, headers: [.acceptEncoding: "br"]), .status(.ok, headers: [.acceptEncoding: "br, X-GZIP;q=0.5"]), .status(.ok)))
        let stack = stub.compressRequests()
        for _ in 0..<3 { _ = try await stack.send(try request(.data(Self.text))) }
        #expect(stub.requests.map { $0.headers[.contentEncoding] } == ["gzip", nil, "gzip"])
    }

    @Test func aStatus415ForAnotherReasonIsReturned() async throws {
        let listed = StubTransport(Stub().responds(refusal(accepting: "gzip, identity"), .status(.ok)))
        #expect(try await listed.compressRequests().send(try request(.data(Self.text))).status == .unsupportedMediaType)
        #expect(listed.requests.count == 1)
        // Without the field, only the response to the uncompressed request shows the cause.
        let unclear = StubTransport(Stub().responds(refusal(accepting: nil), refusal(accepting: nil), .status(.ok)))
        let stack = unclear.compressRequests()
        #expect(try await stack.send(try request(.data(Self.text))).status == .unsupportedMediaType)
        _ = try await stack.send(try request(.data(Self.text)))
        #expect(unclear.requests.map { $0.headers[.contentEncoding] } == ["gzip", nil, "gzip"])
    }

    @Test func aRefusalOfAOneShotStreamIsReturned() async throws {
        let stub = StubTransport(Stub().responds(refusal(accepting: nil), .status(.ok)))
        let stack = stub.compressRequests()
        #expect(try await stack.send(try request(oneShot())).status == .unsupportedMediaType)
        #expect(try await stack.send(try request(oneShot())).status == .ok)
        #expect(stub.requests.map { $0.headers[.contentEncoding] } == ["gzip", nil] && stub.requests.last?.body == Self.text)
    }

    @Test func aStreamIsSentAgainFromItsFirstByte() async throws {
        let stub = StubTransport(Stub().responds(refusal(accepting: "identity"), .status(.ok)))
        _ = try await stub.compressRequests().send(try request(stream(Self.text)))
        #expect(stub.requests.last?.body == Self.text)
    }

    @Test func aFailureAfterARefusalHasTheRefusalAmongItsAttempts() async throws {
        let stub = StubTransport(
            Stub().responds(
                refusal(accepting: "identity"),
                .failure(TransportError(.connectionLost, phase: .response, request: nil, delivery: .sent))))
        let error = try await failure(TransportError.self) {
            try await stub.compressRequests().send(try request(.data(Self.text)))
        }
        #expect(error.attempts.map(\.description) == ["attempt 1: 415"])
    }

    @Test func refusalsAreBounded() {
        let refused = RefusedCodings(ManualClock())
        let origins = (0...RefusedCodings.limit).map { "https://a\($0).example" }.compactMap { try? Origin($0) }
        for origin in origins { refused.record(.gzip, at: origin, isAccepted: false) }
        #expect(!refused.contains(.gzip, at: origins[0]) && refused.contains(.gzip, at: origins[1]))
        #expect(!refused.contains(.deflate, at: origins[1]))
    }

    @Test func anOrderThatHidesRefusalsIsReported() {
        #expect(StubTransport().validateStatus().compressRequests().orderProblems.count == 1)
        #expect(StubTransport().decompress().redirect().compressRequests().retry().validateStatus().orderProblems.isEmpty)
    }
}
