import Errand
import ErrandTesting
import TestSupport
import Testing

@Suite(.enabled(Comment(rawValue: HARValidator.missing)) { await HARValidator.isHere() }, .timeLimit(.minutes(5)))
struct RecordingFormatTests {
    @Test func everyKindOfEntryIsValid() async throws {
        let folder = try TestFolder("recording")
        let recording = try Recording(atPath: folder.file("a.har"), mode: .once, bodyLimitBytes: 1000, keepsUnknownText: true)
        let lost = TransportError(.connectionLost, phase: .body, request: nil, delivery: .sent)
        var fields: HTTPFields = [.contentType: "text/plain", .location: "/x y?token=<abc>", .contentEncoding: "identity"]
        fields.append(HTTPField(name: .init("X-Bytes")!, value: [0x61, 0xE4]))
        let transports = [
            ClosureTransport(headers: fields, data: Data("text".utf8)), ClosureTransport(.noContent),
            ClosureTransport(data: Data([0, 1, 2])), ClosureTransport(headers: [.contentEncoding: "br"], data: Data([0, 1, 2])),
            ClosureTransport(chunks: [Data("a".utf8), Data([255])], trailers: [.init("X-Check")!: "1"], version: .http1_1),
            ClosureTransport(chunks: [Data("a".utf8)], failure: lost), ClosureTransport(chunks: [Data.seeded(3000)]),
            ClosureTransport { throw TransportError(.timedOut, phase: .response, request: $0, delivery: .unknown) },
        ]
        let requests = [
            try get("/a?b&c=d&e=%20&token=secret", headers: [.authorization: "Basic am9lOnB3", .cookie: "a=b; c=d"]),
            try post("/", .text("a=b&c&d=e+f&token=g"), type: "application/x-www-form-urlencoded"),
            try post("/", .text("{}"), type: "application/json"),
            try post("/", .data(Data([0, 255]))), try post("/", .data(.seeded(3000)), type: "image/png"),
            try Request(.init("PROPFIND")!, url: "http://[::1]:8080/%C3%A4"),
        ]
        for transport in transports {
            for request in requests { _ = try? await transport.record(on: recording).send(request).body.collect() }
        }
        let open = try await transports[4].record(on: recording).send(requests[0])
        try recording.save()
        open.body.abandon()
        #expect(recording.log.entries.count == transports.count * requests.count + 1)
        try Recording(atPath: folder.file("empty.har"), mode: .all, keepsUnknownText: true).save()
        try await HARValidator.validate(folder.file("a.har"), folder.file("empty.har"))
        let read = try Recording(atPath: folder.file("a.har"), mode: .once, keepsUnknownText: true)
        #expect(try read.log == HARLog(fileContent: folder.read("a.har")))
        let text = try folder.text("a.har")
        #expect(!text.contains("am9lOnB3") && !text.contains("=secret") && !text.contains("<abc>"))
    }

    @Test func theSchemaRefusesAnInvalidArchive() async throws {
        let folder = try TestFolder("recording")
        try await folder.record([get("/a")], over: ClosureTransport())
        let whole = try folder.text("a.har")
        try await HARValidator.validate(folder.file("a.har"))
        for (found, other) in [
            (#""httpVersion" : "unknown""#, #""httpVersion" : 1"#), (#""cookies" : ["#, #""cakes" : ["#), (#""wait" : "#, #""wait" : -"#),
            (#""method" : "GET""#, #""method" : """#),
        ] {
            #expect(whole.contains(found), "\(found) in \(whole)")
            try folder.write(whole.replacing(found, with: other), to: "b.har")
            await #expect(throws: ProgramFailure.self) { try await HARValidator.validate(folder.file("b.har")) }
        }
    }
}
