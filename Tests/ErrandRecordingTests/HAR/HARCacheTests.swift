import Errand
import ErrandRecording
import ErrandTesting
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct HARCacheTests {
    private func stub(_ fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"a\""]) -> StubTransport {
        StubTransport(Stub(.get, "/a").responds(.data(Data("hello".utf8), headers: fields), repeatingLast: true))
    }

    /// Sends requests over a cache, and returns the entries and the bodies.
    private func record(_ stack: HTTPStack, _ requests: Request...) async throws -> (entries: [HAREntry], bodies: [String]) {
        let folder = try TestFolder("har-cache")
        let bodies = try await stack.exportHAR(toPath: folder.file("a.har")) { stack in
            var bodies: [String] = []
            for request in requests { bodies.append(String(decoding: try await stack.send(request).body.collect(), as: UTF8.self)) }
            return bodies
        }
        return (try HARLog(fileContent: folder.read("a.har")).entries, bodies)
    }

    private let request: Request

    init() throws { request = try Request(.get, url: "https://a.example/a") }

    @Test func aHitIsAnEntryWithoutAnExchange() async throws {
        let stub = stub()
        let (entries, bodies) = try await record(HTTPStack.sorted(around: stub).cache(in: .memory), request, request)
        try #require(entries.count == 2 && stub.requests.count == 1)
        #expect(bodies == ["hello", "hello"])
        #expect(entries[0].fromCache == nil && entries[0].cache.beforeRequest == nil)
        #expect(entries[0].cache.comment?.contains("fwd=uri-miss") == true)
        let hit = entries[1]
        #expect(hit.fromCache == "cache" && hit.cache.comment?.hasPrefix("hit; ttl=") == true)
        let stored = try #require(hit.cache.beforeRequest)
        #expect(stored.eTag == "\"a\"" && stored.hitCount == -1 && stored.lastAccess == hit.startedDateTime)
        let form = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        let lifetime = try form.parse(try #require(stored.expires)).timeIntervalSince(try form.parse(stored.lastAccess))
        #expect(lifetime > 50 && lifetime <= 60)
        #expect(hit.response.status == 200 && hit.response.content.size == 5)
        #expect(hit.serverIPAddress == nil && hit.connection == nil && hit.time >= 0)
    }

    @Test func aStackWithoutACacheHasAnEmptyMember() async throws {
        let (entries, _) = try await record(HTTPStack.sorted(around: stub()), request)
        #expect(entries.count == 1 && entries[0].cache == HARCache() && entries[0].fromCache == nil)
    }

    @Test func theEntrySaysWhyAResponseIsNotStored() async throws {
        var only = request
        only.headers[.cacheControl] = "only-if-cached"
        let stub = stub([.cacheControl: "no-store"])
        let (entries, _) = try await record(HTTPStack.sorted(around: stub).cache(in: .memory), request, only)
        #expect(entries.map(\.cache.comment) == ["fwd=uri-miss; fwd-status=200; detail=no-store", "detail=only-if-cached/uri-miss"])
        #expect(entries.allSatisfy { $0.fromCache == nil && $0.cache.beforeRequest == nil } && stub.requests.count == 1)
    }

    @Test func aConfirmedResponseNamesTheStoredResponse() async throws {
        let stub = StubTransport(
            Stub(.get, "/a").responds(
                .data(Data("hello".utf8), headers: [.cacheControl: "no-cache", .eTag: "\"a\""]),
                .status(.notModified, headers: [.eTag: "\"a\""]), repeatingLast: true))
        let (entries, bodies) = try await record(HTTPStack.sorted(around: stub).cache(in: .memory), request, request)
        try #require(entries.count == 2 && bodies == ["hello", "hello"])
        #expect(entries[1].fromCache == nil && entries[1].cache.beforeRequest?.eTag == "\"a\"" && entries[1].response.status == 200)
        #expect(entries[1].cache.comment?.contains("fwd-status=304") == true)
    }

    @Test func aSecretTagIsNotWritten() async throws {
        var secret = request
        secret.headers[.authorization] = "Bearer s3cretsecret"
        secret.options.credentialIdentity = CredentialIdentity(scheme: "bearer", account: "joe")
        let stub = stub([.cacheControl: "max-age=60", .eTag: "\"s3cretsecret\""])
        let (entries, _) = try await record(HTTPStack.sorted(around: stub).cache(in: .memory), secret, secret)
        try #require(entries.count == 2)
        #expect(entries[1].fromCache == "cache" && entries[1].cache.beforeRequest?.eTag.contains("s3cret") == false)
    }

    /// Programs write this member in many ways.
    @Test(arguments: ["{}", "[]", "3", "{\"beforeRequest\": null}", "{\"beforeRequest\": {}}", "{\"beforeRequest\": 1, \"comment\": []}"])
    func anInvalidMemberIsIgnored(_ text: String) throws {
        let entry = HAREntry(
            startedDateTime: "2026-01-01T00:00:00.000Z", time: 0, request: HARRequest(method: "GET", url: "https://a.example/"),
            response: HARResponse(status: 200, content: HARContent(size: 0, mimeType: "")), timings: HARTimings(wait: 0, receive: 0))
        let log = HARLog(entries: [entry])
        let content = String(decoding: try log.fileContent(), as: UTF8.self)
        let emptyMember = /"cache" : \{\s*\}/
        try #require(content.firstMatch(of: emptyMember) != nil)
        let file = content.replacing(emptyMember, with: "\"cache\" : \(text)")
        #expect(try HARLog(fileContent: Data(file.utf8)).entries.map(\.cache) == [HARCache()])
    }
}
