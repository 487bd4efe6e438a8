import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct ResponsePartsTests {
    private static let text =
        "preamble\r\n--b\r\nContent-Type: text/plain\r\n\r\nfirst\r\n--b\r\nX-A: 1\r\n\r\nsecond\r\npart\r\n--b\r\n\r\n\r\n--b--\r\nepilogue"

    private func response(
        _ text: String = text, pieces: Int = 1, type: String? = "multipart/mixed; boundary=b"
    ) throws -> (response: Response, body: ScriptedBodySource) {
        let bytes = Data(text.utf8)
        let size = max(1, (bytes.count + pieces - 1) / pieces)
        let body = ScriptedBodySource(
            steps: stride(from: 0, to: bytes.count, by: size).map { start in
                { Data(bytes.dropFirst(start).prefix(size)) }
            })
        var head = HTTPResponse(status: .ok)
        head.headerFields[.contentType] = type
        let request = try Request(.get, url: "https://a.example/")
        return (Response(head: head, body: ResponseBody(body), request: request, exchange: ExchangeLifetime()), body)
    }

    @Test(arguments: [1, 2, 3, 5, 17, 1000]) func partsAreReadInOrderAtEverySplit(pieces: Int) async throws {
        var read: [String] = []
        for try await part in try response(pieces: pieces).response.parts() {
            read.append("\(part) \(part.head.headers.map { "\($0)" }) " + String(decoding: try await part.collect(), as: UTF8.self))
        }
        #expect(read == [#"part 1 ["Content-Type: text/plain"] first"#, #"part 2 ["X-A: 1"] second"# + "\r\npart", "part 3 [] "])
    }

    @Test func unreadBytesOfAPartAreSkipped() async throws {
        var iterator = try response(pieces: 40).response.parts().makeAsyncIterator()
        var first = try #require(try await iterator.next()).makeAsyncIterator()
        #expect(try await first.next() != nil)
        #expect(String(decoding: try await iterator.next()?.collect() ?? Data(), as: UTF8.self) == "second\r\npart")
        _ = try await iterator.next()
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
    }

    @Test func aPartCannotBeReadAfterTheNextPart() async throws {
        var iterator = try response().response.parts().makeAsyncIterator()
        let first = try #require(try await iterator.next())
        let second = try #require(try await iterator.next())
        let error = await #expect(throws: MultipartError.self) { try await first.collect() }
        #expect(error?.code == .readAfterNextPart)
        #expect(try await second.collect().count == 12)
        #expect(try await second.collect().isEmpty)
    }

    @Test(arguments: [nil, "text/plain; boundary=b", "multipart/mixed", "multipart/mixed; boundary=\"\"", "x"])
    func anotherMediaTypeIsRefusedAndTheBodyStays(type: String?) async throws {
        let (response, _) = try response(type: type)
        let error = #expect(throws: MultipartError.self) { try response.parts() }
        #expect(error?.code == .notMultipart)
        #expect(try await response.body.collect().count == Self.text.utf8.count)
    }

    @Test func aBrokenBodyFails() async throws {
        let (response, _) = try response(String(Self.text.prefix(60)))
        let error = await #expect(throws: MultipartError.self) {
            for try await part in try response.parts() { _ = try await part.collect() }
        }
        #expect(error?.code == .missingEnd)
    }

    @Test func limitsHold() async throws {
        let tooMany = await #expect(throws: MultipartError.self) { for try await _ in try response().response.parts(maxParts: 2) {} }
        #expect(tooMany?.code == .tooManyParts)
        let tooLong = await #expect(throws: MultipartError.self) { for try await _ in try response().response.parts(headLimitBytes: 10) {} }
        #expect(tooLong?.code == .headTooLong)
        var iterator = try response().response.parts().makeAsyncIterator()
        let first = try #require(try await iterator.next())
        let tooLarge = await #expect(throws: TransportError.self) { try await first.collect(upTo: 4) }
        #expect(tooLarge?.code == .bodyTooLarge && tooLarge?.request?.url?.description == "https://a.example/")
    }

    @Test func leavingTheLoopReleasesTheBody() async throws {
        func readOne(_ response: consuming Response) async throws { for try await _ in try response.parts() { break } }
        let (response, body) = try response(pieces: 40)
        try await readOne(response)
        #expect(body.abandonments.value > 0)
    }
}
