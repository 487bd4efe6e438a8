#if SWIFT_NIO
internal import Errand
internal import ErrandTesting
internal import Foundation
internal import TestSupport
internal import Testing

/// Real exchanges, recorded to a file and replayed from it again without a network.
@Suite(.enabled(if: RealServer.httpbin.isHere, Comment(rawValue: RealServer.httpbin.missing)), .timeLimit(.minutes(5)))
struct HTTPBinRecordingTests {
    private struct Received: Equatable {
        let head: HTTPResponse
        let body: Data
        let version: HTTPVersion?
        let coding: String?
    }

    private func received(by sender: some HTTPSender, _ request: Request) async throws -> Received {
        let response = try await sender.send(request)
        let body = try await response.body.collect()
        return Received(head: response.head, body: body, version: response.metadata.httpVersion, coding: response.metadata.contentCoding)
    }

    private func requests() throws -> [Request] {
        let url = try RealServer.httpbin.url()
        return [
            try Request(.get, url: url + "/get?b=1&a=2", headers: [.accept: "application/json"]), try Request(.get, url: url + "/html"),
            try Request(.post, url: url + "/post", headers: [.contentType: "application/json"], body: .text(#"{"item":"Grüner Tee"}"#)),
            try Request(
                .post, url: url + "/post", headers: [.contentType: "application/x-www-form-urlencoded"], body: .text("a=1&b=%C3%A4")),
            try Request(
                .put, url: url + "/put",
                body: .stream(
                    AsyncStream { continuation in
                        for number in 0..<10 { continuation.yield(.seeded(10_000, seed: UInt64(number))) }
                        continuation.finish()
                    })),
            try Request(.get, url: url + "/stream/5"), try Request(.get, url: url + "/gzip"), try Request(.get, url: url + "/deflate"),
            try Request(.get, url: url + "/stream-bytes/100000?chunk_size=777&seed=1"), try Request(.get, url: url + "/image/png"),
            try Request(.get, url: url + "/encoding/utf8"), try Request(.get, url: url + "/status/418"),
            try Request(.head, url: url + "/get"),
            try Request(.get, url: url + "/status/204"), try Request(.get, url: url + "/response-headers?X-A=1&X-A=2"),
            try Request(.get, url: url + "/redirect/1"), try Request(.get, url: url + "/bytes/0"),
        ]
    }

    @Test func aRecordingIsValidAndReplayedByteForByte() async throws {
        let folder = try TestFolder("recording")
        let recording = try Recording(atPath: folder.file("a.har"), mode: .once, keepsUnknownText: true)
        let live = try await withTransport(NIOTransport()) { transport in
            var responses: [Received] = []
            for request in try requests() {
                responses.append(try await received(by: transport.decompress().record(on: recording), request))
            }
            return responses
        }
        try recording.save()
        if await HARValidator.isHere() { try await HARValidator.validate(folder.file("a.har")) }
        let replay = HTTPStack(try ReplayTransport(atPath: folder.file("a.har"), matching: RecordingMatcher(body: .normalized)))
        for (request, live) in zip(try requests(), live) {
            let replayed = try await received(by: replay, request)
            #expect(replayed.head == live.head && replayed.version == live.version && replayed.coding == live.coding, "\(request)")
            let isSame = replayed.body == live.body
            #expect(isSame, "\(request)")
        }
        #expect(live[6].coding == "gzip" && live[0].version == .http1_1)
    }

    @Test func secretsThatTheServerEchoesAreNotInTheFile() async throws {
        let folder = try TestFolder("recording")
        let secrets = ["H3ader-S3cret-1", "Qu3ry S3cret/2", "F1eld+S3cret\"3"]
        let recording = try Recording(atPath: folder.file("a.har"), mode: .once, secrets: secrets)
        let body = try JSONEncoder().encode(["user": "joe", "password": secrets[2]])
        let request = try Request(
            .post, url: RealServer.httpbin.url("/anything"), query: ["token": secrets[1], "page": 1],
            headers: [.authorization: "Bearer \(secrets[0])", .contentType: "application/json"], body: .data(body))
        let echo = try await withTransport(NIOTransport()) { try await received(by: $0.record(on: recording), request) }
        #expect(String(decoding: echo.body, as: UTF8.self).contains(secrets[0]), "the server has told it")
        try recording.save()
        let file = String(decoding: try folder.read("a.har"), as: UTF8.self)
        for secret in secrets { #expect(!file.contains(secret.prefix(5))) }
        let replay = HTTPStack(try ReplayTransport(atPath: folder.file("a.har"), matching: RecordingMatcher(body: .normalized)))
        let replayed = try JSONDecoder().decode(Echo.self, from: try await received(by: replay, request).body)
        #expect(replayed.args["page"] == "1" && replayed.method == "POST")
    }
}
#endif
