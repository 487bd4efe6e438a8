import ErrandCompression
import ErrandCore
import ErrandMiddleware
import ErrandTesting
import Foundation
import TestSupport
import Testing

/// Bodies that Python's own zlib encoded.
@Suite(.timeLimit(.minutes(5))) struct DecompressTests {
    /// Returns the bytes of a Python expression that may use `gzip`, `deflate`, `raw`, and `text`, which is `hello` with a line feed.
    static func bytes(_ expression: String) async throws -> Data {
        let script = """
            import base64, gzip as g, zlib
            def gzip(b): return g.compress(b, 9)
            def deflate(b): return zlib.compress(b, 9)
            def raw(b):
                c = zlib.compressobj(9, zlib.DEFLATED, -15)
                return c.compress(b) + c.flush()
            text = b'hello\\n'
            print(base64.b64encode(\(expression)).decode())
            """
        let python = try #require(Programs.find("python3"))
        let output = try await Programs.run(python, ["-c", script])
        return try #require(Data(base64Encoded: output.trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    /// Responds with `body` in pieces of `size` bytes.
    private func stub(_ body: Data, coding: String?, pieceBytes size: Int = .max, length: Bool = true) -> StubTransport {
        var headers = HTTPFields()
        headers[.contentEncoding] = coding
        if length { headers[.contentLength] = "\(body.count)" }
        if size == .max { return StubTransport(Stub().responds(.data(body, headers: headers))) }
        let pieces = stride(from: 0, to: body.count, by: size).map { body.dropFirst($0).prefix(size) }
        return StubTransport(Stub().responds(.stream(pieces.map { Data($0) }, headers: headers)))
    }

    private func request(_ headers: HTTPFields = [:], method: HTTPRequest.Method = .get) throws -> Request {
        try Request(method, url: "https://a.example/", headers: headers)
    }

    private func decoded(_ body: Data, coding: String, pieceBytes: Int, _ limits: DecompressionLimits = .standard) async throws -> Data {
        try await stub(body, coding: coding, pieceBytes: pieceBytes).decompress(limits).send(try request()).body.collect()
    }

    @Test(
        arguments: [
            ("gzip", "gzip(text)"), ("x-gzip", "gzip(text)"), ("GZip", "gzip(text)"), ("deflate", "deflate(text)"),
            ("Deflate", "raw(text)"),
            ("gzip", "gzip(text[:3]) + gzip(b'') + gzip(text[3:])"), ("deflate, gzip", "gzip(deflate(text))"),
            ("gzip , ,identity,deflate", "deflate(gzip(text))"), ("gzip,gzip,gzip,gzip,gzip", "gzip(gzip(gzip(gzip(gzip(text)))))"),
        ])
    func aBodyIsDecodedAtEverySplit(coding: String, expression: String) async throws {
        let body = try await Self.bytes(expression)
        for size in [1, 2, 3, 7, .max] {
            let stub = stub(body, coding: coding, pieceBytes: size)
            let response = try await stub.decompress().send(try request())
            #expect(response.headers[.contentEncoding] == nil && response.headers[.contentLength] == nil)
            #expect(response.metadata.contentCoding == coding.lowercased().filter { $0 != " " }.usualCodings)
            #expect(try await response.body.collect() == Data("hello\n".utf8), "pieces of \(size) bytes")
            #expect(stub.requests.last?.headers[.acceptEncoding]?.hasPrefix("gzip, deflate") == true)
            #expect(stub.openBodyCount == 0)
        }
    }

    @Test(arguments: ["gzip(zeros(1 << 22))", "gzip(numbers)"]) func largeBodiesAreDecodedInBoundedPieces(expression: String) async throws {
        let expression = expression.replacing("zeros(1 << 22)", with: "bytes(1 << 22)")
            .replacing("numbers", with: "'\\n'.join(map(str, range(500000))).encode()")
        let body = try await Self.bytes(expression)
        let stub = stub(body, coding: "gzip", pieceBytes: 100_000)
        let response = try await stub.decompress(DecompressionLimits(maxRatio: nil)).send(try request())
        var (count, largest) = (0, 0)
        for try await chunk in response.body {
            count += chunk.count
            largest = max(largest, chunk.count)
        }
        #expect(count == 1 << 22 || count == 3_388_889)
        #expect(largest <= 64 * 1024)
    }

    @Test(arguments: ["compress", "gzip, compress", "compress, gzip", "identity", "", "aes128gcm"])
    func aBodyOfAnUnsupportedCodingIsUnchanged(coding: String) async throws {
        let body = try await Self.bytes("gzip(text)")
        let response = try await stub(body, coding: coding).decompress().send(try request())
        #expect(response.headers[.contentEncoding] == coding && response.headers[.contentLength] == "\(body.count)")
        #expect(response.metadata.contentCoding == nil)
        #expect(try await response.body.collect() == body)
    }

    @Test(arguments: [HTTPField(name: .acceptEncoding, value: "gzip"), HTTPField(name: .range, value: "bytes=0-")])
    func aRequestForACodingOrARangeGetsEncodedBytes(field: HTTPField) async throws {
        let body = try await Self.bytes("gzip(text)")
        let stub = stub(body, coding: "gzip")
        let response = try await stub.decompress().send(try request(HTTPFields([field])))
        #expect(response.headers[.contentEncoding] == "gzip")
        #expect(try await response.body.collect() == body)
        #expect(stub.requests.last?.headers[.acceptEncoding] == (field.name == .range ? nil : "gzip"))
    }

    @Test func anOptionSwitchesDecompressionOff() async throws {
        let body = try await Self.bytes("gzip(text)")
        let stub = stub(body, coding: "gzip")
        var request = try request()
        request.options.decompress = .off
        let response = try await stub.decompress().send(request)
        #expect(response.headers[.contentEncoding] == "gzip" && stub.requests.last?.headers[.acceptEncoding] == nil)
        response.body.abandon()
    }

    @Test func aResponseWithoutABodyHasNothingToDecode() async throws {
        let head = StubTransport(Stub().responds(.data(Data(), headers: [.contentEncoding: "gzip", .contentLength: "20"])))
        let response = try await head.decompress().send(try request(method: .head))
        #expect(response.headers[.contentEncoding] == "gzip" && response.headers[.contentLength] == "20")
        response.body.abandon()
        for length in [true, false] {
            let empty = try await stub(Data(), coding: "gzip", length: length).decompress().send(try request())
            #expect(try await empty.body.collect().isEmpty)
        }
    }

    @Test(
        arguments: [
            ("gzip", "gzip(text)[:-3]", "gzip: the body ends early"), ("gzip", "gzip(text)[:12]", "gzip: the body ends early"),
            ("gzip", "gzip(text)[:1]", "gzip: the body ends early"), ("deflate", "b'x'", "deflate: the body ends early"),
            ("gzip", "gzip(text) + b'\\x1f'", "gzip: the body ends early"),
            ("gzip", "gzip(text) + b'more'", "gzip: there are bytes after the end"),
            ("gzip", "gzip(text) + b'\\n'", "gzip: there are bytes after the end"),
            ("gzip", "gzip(text) + bytes(3) + b'more'", "gzip: there are bytes after the end"),
            ("gzip", "gzip(text) + bytes(3) + gzip(text)", "gzip: there are bytes after the end"),
            ("deflate", "deflate(text) + bytes(2)", "deflate: there are bytes after the end"),
            ("deflate, gzip", "gzip(deflate(text) + bytes(2))", "deflate: there are bytes after the end"),
            ("gzip", "bytes(10)", "gzip: incorrect header check"),
            ("deflate", "deflate(text) + b'\\x1f'", "deflate: there are bytes after the end"),
            ("gzip", "b'plain'", "gzip: incorrect header check"), ("gzip", "gzip(text)[:-8] + bytes(8)", "gzip: incorrect data check"),
            ("deflate", "deflate(text)[:-4] + bytes(4)", "deflate: incorrect data check"),
            ("deflate, gzip", "gzip(deflate(text)[:-2])", "deflate: the body ends early"),
        ])
    func anInvalidBodyFailsWithItsReason(coding: String, expression: String, reason: String) async throws {
        let body = try await Self.bytes(expression)
        for size in [1, .max] {
            let error = try await failure(ContentDecodingError.self) { try await decoded(body, coding: coding, pieceBytes: size) }
            #expect("\(error)" == "GET https://a.example/: status 200, the body can't be decoded: \(reason)")
            #expect(error.delivery == .sent && error.phase == .body && !error.code.isLimit)
        }
    }

    /// As gzip(1) has it: a file that was copied in blocks.
    @Test(
        arguments: [
            ("gzip", "gzip(text) + bytes(1)", "text"), ("gzip", "gzip(text) + bytes(100_000)", "text"),
            ("gzip", "gzip(text) + gzip(text) + bytes(512)", "text + text"), ("gzip", "gzip(b'') + bytes(4)", "b''"),
            ("deflate, gzip", "gzip(deflate(text)) + bytes(4)", "text"), ("gzip, gzip", "gzip(gzip(text) + bytes(4))", "text"),
        ])
    func zerosAfterTheEndOfGzipArePadding(coding: String, expression: String, plain: String) async throws {
        let (body, expected) = (try await Self.bytes(expression), try await Self.bytes(plain))
        for size in [7, 4096, .max] {
            #expect(try await decoded(body, coding: coding, pieceBytes: size) == expected)
        }
    }

    @Test func aBombFailsBeforeItsExpansion() async throws {
        let bomb = try await Self.bytes("gzip(bytes(64 << 20))")
        let stub = stub(bomb, coding: "gzip", pieceBytes: 4096)
        let response = try await stub.decompress().send(try request())
        let received = Watched(0)
        let error = try await failure(ContentDecodingError.self) {
            for try await chunk in response.body { received.change { $0 += chunk.count } }
        }
        #expect("\(error)".hasSuffix("the body can't be decoded: it has more than 100 times the bytes that were received (maxRatio)"))
        #expect(error.code.isLimit && error.response?.status == .ok)
        #expect(received.value <= 1024 * 1024 + 64 * 1024)
        #expect(stub.openBodyCount == 0, "the rest is released")
    }

    @Test func eachCodingOfAChainIsBounded() async throws {
        let bomb = try await Self.bytes("gzip(gzip(bytes(64 << 20)))")
        let error = try await failure(ContentDecodingError.self) { try await decoded(bomb, coding: "gzip, gzip", pieceBytes: 16) }
        #expect(error.code.isLimit)
        // The first decoder produces many bytes. From these bytes, the second decoder produces nothing.
        let inner = try await Self.bytes("gzip(gzip(b'') * 200000)")
        let swallowed = try await failure(ContentDecodingError.self) { try await decoded(inner, coding: "gzip, gzip", pieceBytes: .max) }
        #expect("\(swallowed.code)" == "gzip: it has more than 1000 members in a row without content" && swallowed.code.isLimit)
        // Empty blocks of one member: the first decoder produces 1.5 MB, and the second decoder produces six bytes.
        let blocks = try await Self.bytes("gzip(gzip(text)[:10] + b'\\0\\0\\0\\xff\\xff' * 300_000 + gzip(text)[10:])")
        let empty = try await failure(ContentDecodingError.self) { try await decoded(blocks, coding: "gzip, gzip", pieceBytes: .max) }
        #expect("\(empty.code)" == "it has more than 100 times the bytes that were received (maxRatio)")
        let limits = DecompressionLimits(limitBytes: 1_000_000, maxRatio: nil)
        let large = try await failure(ContentDecodingError.self) {
            try await decoded(blocks, coding: "gzip, gzip", pieceBytes: .max, limits)
        }
        #expect("\(large.code)" == "it has more than 1000000 bytes (limitBytes)")
        let long = try await failure(ContentDecodingError.self) {
            try await decoded(Data([1]), coding: "gzip,gzip,gzip,gzip,gzip,gzip", pieceBytes: .max)
        }
        #expect("\(long.code)" == "it has more than 5 content codings (maxCodings)")
    }

    @Test func aLimitOfTheSizeHoldsToTheByte() async throws {
        let body = try await Self.bytes("gzip(text)")
        #expect(try await decoded(body, coding: "gzip", pieceBytes: 1, DecompressionLimits(limitBytes: 6)).count == 6)
        let error = try await failure(ContentDecodingError.self) {
            try await decoded(body, coding: "gzip", pieceBytes: .max, DecompressionLimits(limitBytes: 5))
        }
        #expect("\(error.code)" == "it has more than 5 bytes (limitBytes)")
    }

    @Test func aBodyThatIsNotReadIsReleased() async throws {
        let stub = stub(try await Self.bytes("gzip(bytes(1 << 16))"), coding: "gzip", pieceBytes: 16)
        do {
            let response = try await stub.decompress().send(try request())
            for try await _ in response.body { break }
        }
        #expect(stub.openBodyCount == 0)
    }
}

extension String {
    /// The codings that were decoded, as the metadata names them.
    fileprivate var usualCodings: String {
        split(separator: ",").filter { $0 != "identity" }.map { $0 == "x-gzip" ? "gzip" : String($0) }.joined(separator: ", ")
    }
}
