import ErrandTesting
import Testing

@testable import ErrandCore

/// A request that other code has chosen, as the next request of a call.
@Suite struct ContinuingCallTests {
    private static let own = HTTPField.Name("X-Own")!

    private func earlier(_ clock: ManualClock = ManualClock()) throws -> Request {
        var earlier = try Request(.post, url: "https://a.example/x?card=1", headers: [.accept: "a/b"], body: .text("earlier"))
        earlier.deadline = Deadline(after: .seconds(7), clock: clock)
        earlier.options.requestNumber = 3
        earlier.options.sensitivity = Sensitivity(fields: [Self.own], queryNames: ["card"])
        (earlier.options.fieldsOfServer, earlier.options.fieldsWithoutServer) = ([.userAgent], [.acceptLanguage])
        earlier.options.redirectsAreFollowed = true
        earlier.options.eventSink = RecordingEventSink()
        return earlier
    }

    @Test func aContinuedCallHasTheMessageOfTheNewRequest() throws {
        var chosen = try Request(.put, url: "https://b.example/y", headers: [.accept: "c/d"], body: .text("chosen"))
        chosen.options.tags = ["tenant": "blue"]
        let next = try chosen.continuingCall(of: earlier())
        #expect(next.head == chosen.head)
        #expect(next.url?.description == "https://b.example/y" && next.options.tags == ["tenant": "blue"])
        #expect("\(next.body)" == "\(chosen.body)" && next.options.urlTemplate == nil)
    }

    @Test func aContinuedCallKeepsItsIdentityAndItsLimits() throws {
        let clock = ManualClock()
        let earlier = try earlier(clock)
        var chosen = try Request(.get, url: "https://a.example/y")
        chosen.options.sensitivity = Sensitivity(fields: [HTTPField.Name](), queryNames: ["iban"])
        let next = chosen.continuingCall(of: earlier)
        #expect(next.id == earlier.id && next.options.requestNumber == 3 && next.options.redirectsAreFollowed)
        #expect(next.options.sensitivity.isSensitive(Self.own) && next.options.sensitivity.isSensitive(queryName: "card"))
        #expect(next.options.sensitivity.isSensitive(queryName: "iban") && next.options.fieldsOfServer == [.userAgent])
        #expect(next.options.fieldsWithoutServer == [.acceptLanguage])
        #expect(next.options.eventSink is RecordingEventSink && !next.options.hasLeftOrigin)
        #expect(next.options.callStamp != earlier.options.callStamp)
        for (seconds, expected) in [(3, 3), (600, 7)] {
            chosen.deadline = Deadline(after: .seconds(seconds), clock: clock)
            #expect(chosen.continuingCall(of: earlier).deadline?.remaining == .seconds(expected))
        }
    }

    @Test func aCallThatHasLeftItsOriginStaysAway() throws {
        var (first, second) = (try earlier(), try Request(.get, url: "https://a.example/y"))
        first.options.hasLeftOrigin = true
        #expect(second.continuingCall(of: first).options.hasLeftOrigin)
        first.options.hasLeftOrigin = false
        second.options.hasLeftOrigin = true
        #expect(second.continuingCall(of: first).options.hasLeftOrigin)
    }

    @Test func aNewRequestMayHaveItsOwnSinkAndNumber() throws {
        var chosen = try Request(.get, url: "https://a.example/y")
        let sink = RecordingEventSink()
        chosen.options.eventSink = sink
        chosen.options.requestNumber = 9
        let next = try chosen.continuingCall(of: earlier())
        #expect(next.options.eventSink as? RecordingEventSink === sink && next.options.requestNumber == 9)
    }
}
