import Errand
import ErrandCore
import Testing

/// What a mirror shows of a type that hides its stored properties.
@Suite(.timeLimit(.minutes(5))) struct HidesStorageTests {
    private static let secret = "hunter2"

    private struct Described: CustomStringConvertible, HidesStorage {
        let secret = HidesStorageTests.secret
        var description: String { "described" }
    }
    private struct Plain: HidesStorage { let secret = HidesStorageTests.secret }
    private struct Debugged: CustomStringConvertible, CustomDebugStringConvertible, HidesStorage {
        var description: String { HidesStorageTests.secret }
        var debugDescription: String { "debugged" }
    }
    private enum Choice: CustomStringConvertible, HidesStorage {
        case some(String)
        var description: String { "choice" }
    }
    private struct Chosen: HidesStorage {
        let secret = HidesStorageTests.secret
        var shownFields: KeyValuePairs<String, Any> { ["count": 7] }
    }
    private struct OwnError: RequestFailure {
        let secret = HidesStorageTests.secret
        var request: Request?
        var phase: ExchangePhase { .request }
        var attempts: [AttemptRecord] = []
        var delivery: Delivery { .notSent }
        var description: String { "own error" }
    }

    private func children(_ value: Any) -> [String] { Mirror(reflecting: value).children.map { "\($0.label ?? "") \($0.value)" } }

    @Test func aMirrorShowsTheDescriptionByDefault() {
        #expect(children(Described()) == ["description described"])
        #expect(children(Choice.some(Self.secret)) == ["description choice"])
        #expect(children(Debugged()) == ["description debugged"], "the debug description comes first")
        #expect(children(Plain()).isEmpty, "a type without a description shows nothing")
        #expect(children(Chosen()) == ["count 7"])
        #expect(children(OwnError()) == ["failure own error"], "an error of the app, too")
    }

    @Test func noTextShowsAStoredProperty() {
        let values: [Any] = [Described(), Plain(), Choice.some(Self.secret), Chosen(), OwnError(), [Described()], [1: Plain()]]
        for value in values {
            for text in ["\(value)", String(reflecting: value), dumped(value)] { #expect(!text.contains(Self.secret), "\(text)") }
        }
        for text in [String(reflecting: Debugged()), dumped(Debugged())] { #expect(!text.contains(Self.secret), "\(text)") }
    }
}
