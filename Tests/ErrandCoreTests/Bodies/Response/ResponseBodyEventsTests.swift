import ErrandCore
import ErrandTesting
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ResponseBodyEventsTests {
    private func body(_ chunks: String...) -> ResponseBody {
        ResponseBody(
            ScriptedBodySource(steps: chunks.map { chunk in { Data(chunk.utf8) } }),
            request: try? Request(.get, url: "https://a.example/log"))
    }

    @Test func theEventsOfOneBodyEndWithIt() async throws {
        var events: [ServerSentEvent] = []
        for try await event in body("id: 1\nda", "ta: a\n\n:\n", "data: b\n\ndata: cut off").events { events.append(event) }
        #expect(events == [ServerSentEvent(data: "a", lastEventID: "1"), ServerSentEvent(data: "b", lastEventID: "1")])
        for try await event in ResponseBody(Data("data: a\n\n".utf8)).events { #expect(event.data == "a") }
    }

    @Test func anEventOverTheLimitIsAnError() async throws {
        var events = body("data: a\n\n", "data: 0123456789").events(upTo: 10).makeAsyncIterator()
        #expect(try await events.next()?.data == "a")
        let error = await #expect(throws: TransportError.self) { try await events.next() }
        #expect(error?.code == .bodyTooLarge && error?.message == "more than 10 bytes")
        #expect(error?.request?.url?.description == "https://a.example/log")
    }

    @Test func aLineOfTextOverTheLimitNamesTheRequest() async throws {
        let error = await #expect(throws: TransportError.self) { for try await _ in body("a\n", "0123456789").lines(upTo: 5) {} }
        #expect(error?.code == .bodyTooLarge && error?.request?.url?.description == "https://a.example/log")
        let inMemory = await #expect(throws: TransportError.self) {
            for try await _ in ResponseBody(Data("0123456789".utf8)).lines(upTo: 5) {}
        }
        #expect(inMemory?.code == .bodyTooLarge && inMemory?.request == nil)
    }

    /// Swift compares such a text in quadratic time.
    @Test(arguments: ["\n", ""]) func aLineWithManyMarksIsRefused(ending: String) async throws {
        func lines(_ count: Int) -> ResponseBody { body("a\nb", String(repeating: "\u{301}", count: count) + ending) }
        #expect(try await lines(128).lines.reduce(into: 0) { count, _ in count += 1 } == 2)
        var iterator = lines(129).lines.makeAsyncIterator()
        #expect(try await iterator.next() == "a")
        let error = await #expect(throws: TransportError.self) { try await iterator.next() }
        #expect(error?.code == .bodyTooLarge)
        #expect(error?.message == "more than 128 combining marks in a row")
        var events = body("event: b", String(repeating: "\u{301}", count: 129), "\ndata: x\n\n").events.makeAsyncIterator()
        let ofEvents = await #expect(throws: TransportError.self) { try await events.next() }
        #expect(ofEvents?.message == "more than 128 combining marks in a row")
    }

    // MARK: - Many JSON texts

    private struct Entry: Decodable, Equatable {
        var id: Int
        var tags: [String: Int]?
    }

    @Test func eachLineIsAValue() async throws {
        var entries: [Int] = []
        for try await entry in body("{\"id\":1}\r\n\n{\"i", "d\":2}\n{\"id\":3}").ndjson(as: Entry.self) { entries.append(entry.id) }
        #expect(entries == [1, 2, 3])
        let dates = body("{\"created_at\":0}\n").ndjson(as: [String: Date].self, coding: JSONCoding(dates: .secondsSince1970))
        for try await date in dates { #expect(date == ["created_at": Date(timeIntervalSince1970: 0)]) }
    }

    @Test func anInvalidLineIsNamedByItsNumberAndTheNextLineIsRead() async throws {
        var lines = body("{\"id\":1}\n\n{\"id\":\"s3cret\"}\ns3cret\n{}\n{\"id\":1,\"tags\":{\"s3cret\":null}}\n{\"id\":7}\n").ndjson(
            as: Entry.self
        )
        .makeAsyncIterator()
        #expect(try await lines.next()?.id == 1)
        for text in [
            "line 3: cannot decode Entry at id: expected Int", "line 4: cannot decode Entry: the text is not valid JSON",
            "line 5: cannot decode Entry at id: no such key", "line 6: cannot decode Entry at tags[…]: expected Int, found null",
        ] {
            let error = await #expect(throws: JSONTextError.self) { try await lines.next() }
            let named = "GET https://a.example/log: \(text)"
            #expect(error?.description == named && error?.failureReason?.hasPrefix("Line ") == true)
            #expect("\(error.map { Mirror(reflecting: $0).children.map(\.value) } ?? [])" == "[\"\(named)\"]")
        }
        #expect(try await lines.next()?.id == 7)
        #expect(try await lines.next() == nil)
        #expect(try await lines.next() == nil)
    }

    @Test func aLineOverTheLimitIsAnError() async throws {
        var lines = body("[1]\n", "[0123456789").ndjson(as: [Int].self, upTo: 10).makeAsyncIterator()
        #expect(try await lines.next() == [1])
        for _ in 1...2 {
            let error = await #expect(throws: TransportError.self) { try await lines.next() }
            #expect(error?.code == .bodyTooLarge && error?.request?.url?.description == "https://a.example/log")
        }
    }

    @Test func eachTextOfASequenceIsAValue() async throws {
        var texts = body("\u{1E}{\"id\":\n1}\n\u{1E}{\"id\"", ":\u{1E}{\"id\":3}\n\u{1E}", "{\"id\":4}").jsonSequence(as: Entry.self)
            .makeAsyncIterator()
        #expect(try await texts.next()?.id == 1)
        let error = await #expect(throws: JSONTextError.self) { try await texts.next() }
        #expect(
            error?.description == "GET https://a.example/log: text 2: cannot decode Entry: the text is cut off" && error?.place == .text(2))
        #expect(try await texts.next()?.id == 3)
        #expect(try await texts.next()?.id == 4)
        #expect(try await texts.next() == nil)
    }
}
