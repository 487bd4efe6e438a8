public import ErrandFormats
public import Foundation
internal import Synchronization

/// A date that a test changes, for code that asks a closure for the current date.
public final class ManualDate: Sendable {
    private let seconds: Mutex<Int64>

    /// Creates a date; 2010-01-01T00:00:00Z by default.
    public init(_ secondsSinceEpoch: Int64 = 1_262_304_000) { seconds = Mutex(secondsSinceEpoch) }

    public var now: HTTPDate { after(0) }
    public var date: Date { Date(timeIntervalSince1970: TimeInterval(now.secondsSinceEpoch)) }

    /// The date this number of seconds from now.
    public func after(_ seconds: Int64) -> HTTPDate { HTTPDate(secondsSinceEpoch: self.seconds.withLock { $0 } + seconds) }

    /// Moves the date; a negative number moves it back.
    public func move(bySeconds change: Int64) { seconds.withLock { $0 += change } }
}
