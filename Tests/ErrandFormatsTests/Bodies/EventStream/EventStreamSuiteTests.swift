import ErrandFormats
import ErrandTesting
import Foundation
import TestSupport
import Testing

/// The public vectors for event streams, at every split.
@Suite(.timeLimit(.minutes(5)), .enabled(if: Suites.folder != nil, Comment(rawValue: Suites.missing)))
struct EventStreamSuiteTests {
    private struct Vector: Decodable {
        struct Event: Decodable {
            let type: String
            let data: String
            let lastEventId: String
        }

        let name: String
        let wire: Data
        let events: [Event]
        let retry: Int?
        let streamLastEventId: String?
    }

    @Test func everyVectorHasItsEventsAtEverySplit() throws {
        let vectors = try Suites.load("sse/vectors.json", as: [Vector].self)
        #expect(vectors.count >= 26)
        var random = SeededGenerator(seed: 18)
        for vector in vectors {
            let events = vector.events.map { ServerSentEvent(data: $0.data, type: $0.type, lastEventID: $0.lastEventId) }
            for pieces in Array(vector.wire).divisions(&random) {
                let parsed = ParsedStream(pieces)
                #expect(parsed.events == events, "\(vector.name) \(pieces.map(\.count))")
                #expect(parsed.error == nil)
                if let retry = vector.retry { #expect(parsed.reconnectionTime == .milliseconds(retry), "\(vector.name)") }
                if let id = vector.streamLastEventId { #expect(parsed.lastEventID == id, "\(vector.name)") }
            }
        }
    }
}
