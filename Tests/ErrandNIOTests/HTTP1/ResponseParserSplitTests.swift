#if SWIFT_NIO
import ErrandCore
import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import ErrandNIO

/// The outcome doesn't depend on how the bytes arrive, and the work doesn't either.
@Suite(.timeLimit(.minutes(5)))
struct ResponseParserSplitTests {
    private static let responses = [
        "HTTP/1.1 200 OK\r\nDate: Sun, 22 Nov 2026 14:00:00 GMT\r\nServer: a\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5;a=\"b\"\r\nhello\r\n1\r\n!\r\n0\r\nA: b\r\nHost: c\r\n\r\n",
        "\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\nHTTP/1.1 404\r\nKeep-Alive: timeout=5, max=3\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.0 500 Ori\u{eb}ntatie\r\nX-Value: \u{e9}\t b \r\nConnection: keep-alive\r\n\r\nuntil the end",
        "HTTP/1.1 204 No Content\r\nContent-Length: 4, 4\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\nServer: a\n b\r\n\tc\nTransfer-Encoding: chunked\n\n5  \r\nhello\r\n0;\r\nA: b\n c\n\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\nframes",
    ].map { Array($0.utf8) }

    private static func readings(_ bytes: [UInt8], seed: UInt64, limits: ResponseLimits = ResponseLimits()) -> [ResponseReading] {
        var random = SeededGenerator(seed: seed)
        return [
            ResponseReading(bytes, limits: limits),
            ResponseReading(bytes, limits: limits, piece: { 1 }),
            ResponseReading(bytes, limits: limits, piece: { Int.random(in: 1...20, using: &random) }),
        ]
    }

    @Test func everyResponseIsTheSameAtEverySplit() {
        for response in Self.responses {
            let whole = ResponseReading(response)
            #expect(whole.isComplete)
            for cut in 1..<response.count {
                var pieces = [cut]
                #expect(ResponseReading(response, piece: { pieces.popLast() ?? .max }) == whole)
            }
        }
    }

    @Test(arguments: 0..<8)
    func mutatedResponsesAreTheSameAtEverySplit(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let special = Array("\r\n\r\n:;,= \t0159afHTTP/chunkedclose\u{0}\u{7F}\u{ff}".utf8)
        for round in 0..<2500 {
            var bytes = Self.responses[Int.random(in: 0..<Self.responses.count, using: &random)]
            for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<6, using: &random) {
                case 0: bytes[index] = special[Int.random(in: 0..<special.count, using: &random)]
                case 1: bytes[index] = UInt8.random(in: 0...255, using: &random)
                case 2: bytes.insert(special[Int.random(in: 0..<special.count, using: &random)], at: index)
                case 3: bytes.remove(at: index)
                case 4: bytes.removeSubrange(index..<min(bytes.count, index + Int.random(in: 1...12, using: &random)))
                default:
                    let end = min(bytes.count, index + Int.random(in: 1...40, using: &random))
                    bytes.insert(contentsOf: bytes[index..<end], at: Int.random(in: 0...bytes.count, using: &random))
                }
            }
            var limits = ResponseLimits()
            if round.isMultiple(of: 4) { limits.headBytes = Int.random(in: 1...200, using: &random) }
            if round.isMultiple(of: 3) { limits.fieldCount = Int.random(in: 1...4, using: &random) }
            let readings = Self.readings(bytes, seed: seed &+ UInt64(round), limits: limits)
            #expect(readings[0] == readings[1] && readings[0] == readings[2], "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
            #expect(readings[0].isComplete != (readings[0].error != nil))
        }
    }

    @Test func randomBytesAreTheSameAtEverySplit() {
        var random = SeededGenerator(seed: 99)
        let start = Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
        for round in 0..<2000 {
            let bytes = (0..<Int.random(in: 0...80, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
            let prefix = start.prefix([0, 5, 9, 17, start.count][round % 5])
            let readings = Self.readings(prefix + bytes, seed: UInt64(round))
            #expect(readings[0] == readings[1] && readings[0] == readings[2], "\(bytes)")
        }
    }

    #if DEBUG
    @Test(arguments: [1, 7, 1000])
    func eachByteIsSearchedOnce(piece: Int) {
        // A head with one long field, one with many short ones, and a chunked body.
        let long = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nA: " + String(repeating: "a", count: 200 * 1024) + "\r\n\r\n"
        let many =
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"
            + String(repeating: "Abc: " + String(repeating: "d", count: 500) + "\r\n", count: 400) + "\r\n"
        let chunks =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + String(repeating: "1;abc=def\r\na\r\n", count: 5000) + "0\r\n\r\n"
        let folded =
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nA:" + String(repeating: String(repeating: "d", count: 50) + "\r\n ", count: 4000)
            + "\r\n\r\n"
        for text in [long, many, chunks, folded] {
            var parser = ResponseParser(limits: ResponseLimits())
            parser.expectResponse(to: .get)
            let reading = ResponseReading(Array(text.utf8), with: &parser, piece: { piece })
            #expect(reading.isComplete)
            #expect(parser.searchedInAll <= text.utf8.count)
        }
    }
    #endif

    // MARK: Vectors

    private struct Vector: Decodable {
        let index: Int
        let name: String
        let raw: Data
        let client: String
        let status: Int?
        let body: Data?
        let why: String?
    }

    /// Those of the vectors that a client may accept or refuse, and that are accepted, with their bodies: one empty line before a
    /// status line is ignored, a line of a head may end with LF alone, and blanks or an empty extension may follow a chunk size.
    private static let accepted: [String: (status: Int, body: String)] = [
        "HTTP 100 first, then 400": (404, "404: Not Found"), "Response starting with CRLF": (200, ""),
        "Only LFs present and no body": (200, ""), "Only LFs present and no body (lenient)": (200, ""),
        "Only LFs present": (200, "BODY\n\\"), "Only LFs present (lenient)": (200, "BODY\n\\"),
        "No carriage ret": (200, "these headers are from http://news.ycombinator.com/"),
        "No carriage ret (lenient)": (200, "these headers are from http://news.ycombinator.com/"),
        "Trailing space on chunked body": (200, "This is the data in the first chunk\r\nand this is the second one\r\n"),
        "No extension after semicolon": (200, "aa"),
    ]

    @Test(.enabled(if: Suites.folder != nil, Comment(rawValue: Suites.missing)))
    func everyVectorHasItsOutcome() throws {
        let vectors = try Suites.load("http1/responses.json", as: [Vector].self)
        #expect(vectors.count == 84)
        for vector in vectors {
            let readings = Self.readings(Array(vector.raw), seed: UInt64(vector.index))
            #expect(readings[0] == readings[1] && readings[0] == readings[2], "\(vector.index) \(vector.name)")
            // A client that asked for no upgrade refuses a 101.
            let isRefused = readings[0].error != nil || readings[0].status == 101
            switch vector.client {
            case "accept":
                #expect(!isRefused, "\(vector.index) \(vector.name): \(String(describing: readings[0].error))")
                #expect(readings[0].status == vector.status, "\(vector.index) \(vector.name)")
                #expect(Data(readings[0].body) == vector.body ?? Data(), "\(vector.index) \(vector.name)")
            case "refuse":
                #expect(isRefused, "\(vector.index) \(vector.name)")
            default:
                #expect(isRefused == (Self.accepted[vector.name] == nil), "\(vector.index) \(vector.name)")
                if !isRefused {
                    #expect(readings[0].status == Self.accepted[vector.name]?.status, "\(vector.index) \(vector.name)")
                    #expect(readings[0].text == Self.accepted[vector.name]?.body, "\(vector.index) \(vector.name)")
                }
            }
        }
    }
}
#endif
