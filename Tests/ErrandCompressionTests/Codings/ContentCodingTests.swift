import ErrandCore
import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import ErrandCompression

/// Codings of the traits, over bytes that other programs encoded.
@Suite(.timeLimit(.minutes(5))) struct ContentCodingTests {
    private func decoded(_ body: Data, coding: String, pieceBytes size: Int = .max) async throws -> Data {
        let pieces = stride(from: 0, to: body.count, by: min(size, body.count)).map {
            Data(body.dropFirst($0).prefix(min(size, body.count)))
        }
        let stub = StubTransport(Stub().responds(.stream(pieces, headers: [.contentEncoding: coding])))
        let response = try await stub.decompress().send(Request(.get, url: "https://a.example/"))
        #expect(response.headers[.contentEncoding] == nil && response.metadata.contentCoding == coding)
        #expect(stub.requests.last?.headers[.acceptEncoding]?.contains(coding) == true)
        return try await response.body.collect()
    }

    private func reason(_ body: Data, coding: String) async throws -> String {
        let error = try await failure(ContentDecodingError.self) { try await decoded(body, coding: coding) }
        return "\(error.code)"
    }

    @Test func acceptedCodingsAreTheCompiledCodings() {
        #expect(ContentCoding.accepted.hasPrefix("gzip, deflate"))
        #expect(ContentCoding.accepted.split(separator: ", ").count == ContentCoding.allCases.count)
        for coding in ContentCoding.allCases { #expect(ContentCoding(named: coding.rawValue.uppercased()) == coding) }
        #expect(ContentCoding(named: "compress") == nil && ContentCoding(named: "x-gzip") == .gzip)
    }

    private static func marks(_ count: Int) -> String { "g" + String(repeating: "\u{300}\u{316}", count: count) }

    private static func coded(_ value: String) -> HTTPResponse {
        HTTPResponse(status: .ok, headerFields: [.contentEncoding: value, .acceptEncoding: value, .contentLength: value])
    }

    @Test(arguments: ["", "identity, ", "gzip;q=0"]) func fieldsAreReadByWorkInProportionToTheirBytes(_ front: String) {
        let growth = growth(of: 2_000, making: { Self.coded(front + Self.marks($0)) }) { head in
            _ = try? ContentCoding.toDecode(head, to: .get, atMost: 5)
            _ = ContentCoding.gzip.isAccepted(by: head.headerFields)
        }
        #expect(growth < 30, "quadratic work grows 64 times")
    }

    @Test func fieldsAreReadByTheirOctets() throws {
        func codings(_ value: String) throws -> [ContentCoding] {
            try ContentCoding.toDecode(HTTPResponse(status: .ok, headerFields: [.contentEncoding: value]), to: .get, atMost: 5)
        }
        #expect(try codings("gzip,\tIDENTITY , , X-GZIP,deflate") == [.gzip, .gzip, .deflate])
        // The comma is one, whatever follows.
        #expect(try codings("gzip,\u{301}gzip") == [])
        #expect(throws: ContentDecodingError.Code.self) { try codings("gzip,gzip,gzip,gzip,gzip,\u{301}x") }
        let (longest, longer) = ("gzip" + String(repeating: ",", count: 8_188), "gzip" + String(repeating: ",", count: 8_189))
        #expect(try codings(longest) == [.gzip])
        #expect(try codings(longer) == [])
        func isAccepted(_ value: String) -> Bool? { ContentCoding.gzip.isAccepted(by: [.acceptEncoding: value]) }
        #expect(isAccepted("GZIP; Q=0.000") == false)
        #expect(isAccepted("*;q=0, gzip;q=0.001") == true)
        #expect(isAccepted("br,\u{301},*") == true)
        #expect(isAccepted(longest) == true)
        #expect(isAccepted(longer) == nil)
        #expect(isAccepted("") == false)
    }

    @Test func theFieldsOfTheEncodedBodyAreInTheMetadata() async throws {
        let body = try #require(Data(base64Encoded: "H4sIAAAAAAACAwvOTczJUShILCopVijJSCxRSE7MU0hKVShKTUyxUggedrIA4vXh2fAAAAA="))
        let stub = StubTransport(
            Stub().responds(
                .data(body, headers: [.contentEncoding: "X-Gzip", .contentLength: "\(body.count)", .contentType: "text/plain"])))
        let response = try await stub.decompress().send(Request(.get, url: "https://a.example/"))
        #expect(response.headers == [.contentType: "text/plain"])
        #expect(response.metadata.encodedFields == [.contentEncoding: "X-Gzip", .contentLength: "\(body.count)"])
        #expect(response.metadata.encodedLength == Int64(body.count) && response.metadata.contentCoding == "gzip")
        let plain = try await StubTransport(Stub().responds(.status(.ok, text: "x"))).decompress().send(
            Request(.get, url: "https://a.example/"))
        #expect(plain.metadata.encodedFields.isEmpty && plain.metadata.encodedLength == nil)
    }

    /// A decoder produces pieces of this size: 1 KiB for a small body, 64 KiB for a large body.
    @Test(arguments: ContentCoding.allCases, [1024, 2048, 64 * 1024, 128 * 1024])
    func aBodyCanEndAtTheEndOfAStep(_ coding: ContentCoding, length: Int) async throws {
        let plain = Data(repeating: UInt8(ascii: "a"), count: length)
        var (encoder, input, body) = (ContentEncoder(coding), plain, Data())
        while let made = try encoder.next(&input) { body += made }
        while let made = try encoder.finish(&input) { body += made }
        #expect(try await decoded(body, coding: coding.rawValue) == plain)
    }

    #if Brotli
    /// `Small parts that can be read: ` eight times.
    private let brotli = "G+8A+I1Utb8GCYOTUzp0Lcgg4EymW5gjHoGYvfm7cQYA"

    @Test(arguments: [1, 2, 7, .max]) func brotliIsDecodedAtEverySplit(pieceBytes size: Int) async throws {
        let body = try await decoded(try #require(Data(base64Encoded: brotli)), coding: "br", pieceBytes: size)
        #expect(String(decoding: body, as: UTF8.self) == String(repeating: "Small parts that can be read: ", count: 8))
    }

    @Test func invalidBrotliFailsWithItsReason() async throws {
        let body = try #require(Data(base64Encoded: brotli))
        #expect(try await reason(body.dropLast(3), coding: "br") == "br: the body ends early")
        #expect(try await reason(body + [0], coding: "br") == "br: there are bytes after the end")
        #expect(try await reason(Data(repeating: 0xFF, count: 9), coding: "br").hasPrefix("br: the body is invalid ("))
        // The first byte of a large window, which only decoders that are told to accept (draft-vandevenne-shared-brotli-format).
        #expect(try await reason(Data([0x11, 0x19, 0x03]), coding: "br").hasPrefix("br: the body is invalid ("))
    }
    #endif

    #if Zstandard
    /// A frame with one raw block.
    ///
    /// - Parameter window: the window descriptor ([RFC 8878, section 3.1.1.1.2](https://www.rfc-editor.org/rfc/rfc8878#section-3.1.1.1.2)).
    private func frame(_ text: String, window: UInt8 = 0x68) -> Data {
        let header = UInt32(text.utf8.count) << 3 | 1
        return Data([0x28, 0xB5, 0x2F, 0xFD, 0x00, window, UInt8(header & 0xFF), UInt8(header >> 8 & 0xFF), UInt8(header >> 16)])
            + Data(text.utf8)
    }

    /// A frame whose content is skipped.
    private var skippable: Data { Data([0x50, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 9, 9]) }

    @Test(arguments: [1, 2, 7, .max]) func framesOfZstandardAreDecodedAtEverySplit(pieceBytes size: Int) async throws {
        let body = frame("one ") + skippable + frame("two")
        #expect(try await decoded(body, coding: "zstd", pieceBytes: size) == Data("one two".utf8))
    }

    @Test func aWindowOfMoreThan8MiBIsRefused() async throws {
        #expect(try await decoded(frame("x", window: 0x68), coding: "zstd") == Data("x".utf8))
        for window: UInt8 in [0x69, 0x70, 0xF8] {
            #expect(try await reason(frame("x", window: window), coding: "zstd") == "zstd: Frame requires too much memory for decoding")
        }
    }

    @Test func invalidZstandardFailsWithItsReason() async throws {
        #expect(try await reason(frame("text").dropLast(1), coding: "zstd") == "zstd: the body ends early")
        #expect(try await reason(frame("text") + frame("x").prefix(3), coding: "zstd") == "zstd: the body ends early")
        #expect(try await reason(frame("text") + Data("more".utf8), coding: "zstd") == "zstd: there are bytes after the end")
        #expect(try await reason(Data("plain".utf8), coding: "zstd") == "zstd: the body does not begin with a frame")
    }

    /// Formats before the standard, which the library would decode with any window, and only the beginnings of frames.
    @Test(arguments: [1, 3, .max]) func framesOfOlderFormatsAreRefused(pieceBytes size: Int) async throws {
        for version: UInt8 in 0x22...0x27 {
            let old = Data([version, 0xB5, 0x2F, 0xFD]) + frame("x").dropFirst(4)
            let first = try await failure(ContentDecodingError.self) { try await decoded(old, coding: "zstd", pieceBytes: size) }
            #expect("\(first.code)" == "zstd: the body does not begin with a frame")
            let second = try await failure(ContentDecodingError.self) {
                try await decoded(frame("x") + old, coding: "zstd", pieceBytes: size)
            }
            #expect("\(second.code)" == "zstd: there are bytes after the end")
        }
        let skipped = Data([0x5A, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3])
        #expect(try await decoded(skipped + frame("x") + skipped + frame("y"), coding: "zstd", pieceBytes: size) == Data("xy".utf8))
    }

    @Test func framesWithoutContentAreBounded() async throws {
        let skipped = Data([0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0])
        let many = (0..<1_000).reduce(into: frame("x")) { body, _ in body += skipped }
        #expect(try await decoded(many + frame("y"), coding: "zstd") == Data("xy".utf8))
        #expect(try await reason(many + skipped, coding: "zstd") == "zstd: it has more than 1000 members in a row without content")
    }

    @Test(.enabled(if: Programs.find("zstd") != nil, "there is no zstd on this machine"))
    func outputOfTheZstdProgramIsDecoded() async throws {
        let zstd = try #require(Programs.find("zstd"))
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString).zst")
        defer { try? FileManager.default.removeItem(at: file) }
        try await Programs.run("/bin/sh", ["-c", "seq 1 20000 | '\(zstd)' -19 -q -o '\(file.path)'"])
        let numbers = try await decoded(try Data(contentsOf: file), coding: "zstd", pieceBytes: 1000)
        #expect(numbers.count == 108_894 && numbers.suffix(6) == Data("20000\n".utf8))
    }
    #endif
}
