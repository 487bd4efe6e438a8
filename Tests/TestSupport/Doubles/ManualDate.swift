public import ErrandFormats
internal import Synchronization

/// A date that a test changes, for code that asks a closure for the current date.
public final class ManualDate: Sendable {
    private let date: Mutex<HTTPDate>

    /// Creates a date; 2010-01-01T00:00:00Z by default.
    public init(_ secondsSinceEpoch: Int64 = 1_262_304_000) { date = Mutex(HTTPDate(secondsSinceEpoch: secondsSinceEpoch)) }

    public var now: HTTPDate { date.withLock { $0 } }

    /// Moves the date; a negative number moves it back.
    public func move(bySeconds seconds: Int64) { date.withLock { $0 = HTTPDate(secondsSinceEpoch: $0.secondsSinceEpoch + seconds) } }
}
