import ErrandCore
import ErrandMiddleware
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ErrandCompression

/// Bodies that are small on the wire and huge when they are decoded, made while they are read. The tests run one after the other, because
/// they measure the memory of the process.
@Suite(.serialized, .timeLimit(.minutes(5))) struct DecompressionBombTests {
    private static let memoryLimitBytes = 64 << 20

    /// Zeros in a chain of codings, encoded while they are read: 10 GiB by default. With more than one coding, the outer encoder writes
    /// nothing before the inner encoder has encoded all bytes. So the innermost is one encoding of 8 MiB, repeated, which gzip and zstd
    /// decode one after the other; the other codings end after the first, and encode 160 MiB.
    private func bomb(_ codings: [ContentCoding], zeros: Int? = nil) async throws -> any BodySource {
        let bytes = zeros ?? (codings.count == 1 ? 10 << 30 : 160 << 20)
        var codings = codings[...]
        var body = RequestBody.stream { _ in CountingBodySource(totalBytes: bytes, chunk: Data(count: 64 << 10)) }
        if zeros == nil, codings.count > 1, let first = codings.first, ["gzip", "zstd"].contains(first.rawValue) {
            codings.removeFirst()
            let member = RequestBody.stream { _ in CountingBodySource(totalBytes: 8 << 20, chunk: Data(count: 64 << 10)) }
                .transformedWhileSent(by: ContentEncoder(first))
            let source = try await member.open()
            var data = Data()
            while let chunk = try await source.next() { data.append(chunk) }
            let repeated = data
            body = .stream { _ in CountingBodySource(totalBytes: repeated.count * ((10 << 30) / (8 << 20)), chunk: repeated) }
        }
        for coding in codings { body = body.transformedWhileSent(by: ContentEncoder(coding)) }
        return try await body.open()
    }

    private func stub(_ codings: [ContentCoding], status: HTTPResponse.Status = .ok, headers: HTTPFields = [:]) -> Stub {
        Stub().responds(
            .streaming { _, _ in
                var head = HTTPResponse(status: status, headerFields: headers)
                head.headerFields[.contentEncoding] = codings.map(\.rawValue).joined(separator: ", ")
                return (head, try await bomb(codings))
            }, .status(.ok, text: "fine"))
    }

    private func request() throws -> Request { try Request(.get, url: "https://a.example/") }

    /// Reads the whole body. Returns the number of bytes, the size of the largest chunk, and the growth of the process's memory.
    private func read(_ body: ResponseBody) async -> (bytes: Int, largest: Int, risenBytes: Int, error: (any Error)?) {
        let before = residentBytes()
        var (count, largest, risen) = (0, 0, 0)
        do {
            for try await chunk in body {
                count += chunk.count
                largest = max(largest, chunk.count)
                if count & 0xFFFFF < 65536 { risen = max(risen, residentBytes() - before) }
            }
            return (count, largest, max(risen, residentBytes() - before), nil)
        } catch {
            return (count, largest, max(risen, residentBytes() - before), error)
        }
    }

    private static let chains: [[ContentCoding]] =
        ContentCoding.allCases.map { [$0] } + ContentCoding.allCases.map { [$0, .gzip] } + [[.gzip, .gzip, .gzip]]

    @Test(arguments: chains) func zerosFailByTheirRatio(codings: [ContentCoding]) async throws {
        let stub = StubTransport(stub(codings))
        let result = await read(try await stub.decompress().send(try request()).body)
        let error = try #require(result.error as? ContentDecodingError)
        #expect("\(error.code)" == "it has more than 100 times the bytes that were received (maxRatio)")
        #expect(result.bytes <= (1 << 20) + (64 << 10) && result.largest <= 64 << 10)
        #expect(result.risenBytes < Self.memoryLimitBytes)
        #expect(stub.openBodyCount == 0)
    }

    /// The bytes are decoded in pieces, and the decoder keeps no memory for pieces that were read.
    @Test(arguments: chains) func decodingKeepsNoMemoryForReadBytes(codings: [ContentCoding]) async throws {
        let limits = DecompressionLimits(limitBytes: 128 << 20, maxRatio: nil)
        let result = await read(try await StubTransport(stub(codings)).decompress(limits).send(try request()).body)
        let error = try #require(result.error as? ContentDecodingError)
        #expect("\(error.code)" == "it has more than \(128 << 20) bytes (limitBytes)" && error.code.isLimit)
        #expect(result.bytes > 127 << 20 && result.largest <= 64 << 10)
        #expect(result.risenBytes < Self.memoryLimitBytes)
    }

    /// The whole bomb is one chunk in memory: decoding begins immediately, and is given up after 1 MiB. A reader keeps only the bytes of a
    /// body, and not the buffers in which the bytes were decoded. Bytes without a pattern are decoded as they come: some 40 bytes for each
    /// piece of the body. `Data` would have up to 14 bytes in the value. Only one of 128 pieces is kept.
    @Test(arguments: ContentCoding.allCases) func aSmallPieceThatIsKeptTakesNoMoreThanItsBytes(coding: ContentCoding) async throws {
        try await expectKept(atMost: 128 * 1024, of: 400_000) { count in
            let body = try Self.encoded(.seeded(count), coding)
            var decoder = CodingDecoder(coding)
            var (kept, pieces): ([Data], Int) = ([], 0)
            for start in stride(from: 0, to: body.count, by: 40) {
                var input = Data(body.dropFirst(start).prefix(40))
                while let piece = try decoder.decode(&input) {
                    pieces += 1
                    if pieces.isMultiple(of: 128) { kept.append(piece) }
                }
            }
            return kept
        }
    }

    /// Each member has 20 bytes, and each step room for 64 KiB.
    @Test(arguments: ContentCoding.allCases.filter { $0.hasMember(beginningWith: Data()) == nil })
    func thePieceOfASmallMemberTakesNoMoreThanItsBytes(coding: ContentCoding) async throws {
        let member = try Self.encoded(Data(repeating: 0x61, count: 20), coding)
        try await expectKept(atMost: 1024 * 1024, of: 1_000) { count in
            var input = Data((0..<count).flatMap { _ in member })
            var decoder = CodingDecoder(coding)
            var kept: [Data] = []
            while let piece = try decoder.decode(&input) { kept.append(piece) }
            #expect(kept.count == count)
            return kept
        }
    }

    private static func encoded(_ data: Data, _ coding: ContentCoding) throws -> Data {
        var (encoder, input, body) = (ContentEncoder(coding), data, Data())
        while let made = try encoder.next(&input) { body += made }
        while let made = try encoder.finish(&input) { body += made }
        return body
    }

    @Test(arguments: ContentCoding.allCases) func oneSmallReadThatInflatesIsBounded(coding: ContentCoding) async throws {
        let source = try await bomb([coding], zeros: 64 << 20)
        var body = Data()
        while let chunk = try await source.next() { body.append(chunk) }
        #expect(body.count < 100_000)
        let before = residentBytes()
        let stub = StubTransport(Stub().responds(.data(body, headers: [.contentEncoding: coding.rawValue])))
        let result = await read(try await stub.decompress().send(try request()).body)
        #expect((result.error as? ContentDecodingError)?.code.isLimit == true)
        #expect(result.bytes <= (1 << 20) + (64 << 10) && residentBytes() - before < Self.memoryLimitBytes)
    }

    // MARK: Bodies that the library reads itself, or drops

    @Test(arguments: ["1000", nil]) func aRedirectWithABombIsFollowed(length: String?) async throws {
        var headers: HTTPFields = [.location: "https://a.example/next"]
        headers[.contentLength] = length
        let stub = StubTransport(stub([.gzip], status: .found, headers: headers))
        let before = residentBytes()
        let response = try await stub.decompress().redirect().send(try request())
        #expect(try await response.body.collect() == Data("fine".utf8))
        #expect(response.metadata.redirects.count == 1 && stub.openBodyCount == 0)
        #expect(residentBytes() - before < Self.memoryLimitBytes)
    }

    @Test func aRetriedResponseWithABombIsReleased() async throws {
        let stub = StubTransport(stub([.gzip, .gzip], status: .serviceUnavailable))
        let before = residentBytes()
        let response = try await stub.decompress().retry(RetryPolicy(backoff: .immediate), budget: nil).send(try request())
        #expect(try await response.body.collect() == Data("fine".utf8) && stub.openBodyCount == 0)
        #expect(residentBytes() - before < Self.memoryLimitBytes)
    }

    @Test func anErrorKeepsOnlyTheBeginningOfABomb() async throws {
        let stub = StubTransport(stub([.gzip], status: .internalServerError))
        let before = residentBytes()
        let error = try await failure(StatusError.self) { try await stub.decompress().validateStatus().send(try request()) }
        #expect(error.bodyPrefix.count <= 1 << 20 && !error.bodyIsWhole && stub.openBodyCount == 0)
        #expect(residentBytes() - before < Self.memoryLimitBytes)
    }

    @Test func aDrainedBombIsAbandoned() async throws {
        let stub = StubTransport(stub([.gzip]))
        let response = try await stub.decompress().send(try request())
        #expect(try await response.body.drain().count <= 64 << 10)
        #expect(stub.openBodyCount == 0)
    }
}

/// The memory of this process that is in RAM; 0 where there is no `/proc`.
private func residentBytes() -> Int {
    let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ").dropFirst().first
    return (pages.flatMap { Int($0) } ?? 0) * Int(getpagesize())
}
