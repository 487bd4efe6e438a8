import TestSupport
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct SharedObjectTests {
    private final class Resource: Sendable {
        let events: RecordingList<String>

        init(_ events: RecordingList<String>) {
            self.events = events
            events.record("begin")
        }

        deinit { events.record("end") }
    }

    private let events = RecordingList<String>()

    private func makeShared() -> SharedObject<Resource> { SharedObject { [events] in Resource(events) } }

    @Test func noObjectIsCreatedBeforeTheFirstUse() {
        _ = makeShared()
        #expect(events.all.isEmpty)
    }

    @Test func allUsersShareOneObject() async {
        let shared = makeShared()
        let first = shared.object
        await withTaskGroup { group in
            for _ in 0..<20 { group.addTask { shared.object } }
            for await other in group { #expect(other === first) }
        }
        #expect(events.all == ["begin"])
    }

    @Test func theLastUserReleasesTheObject() {
        let shared = makeShared()
        func use() { withExtendedLifetime((shared.object, shared.object)) {} }
        use()
        #expect(events.all.first == "begin" && events.all.last == "end")
        let before = events.all.count
        use()
        #expect(events.all.count > before, "a later user gets a new object")
    }
}
