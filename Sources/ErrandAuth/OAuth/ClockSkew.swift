#if Auth
internal import ErrandCore
internal import Synchronization

/// The difference between the server's clock and this machine's clock, measured by the field `Date`.
final class ClockSkew: Sendable {
    private let value = Mutex(0.0)

    /// The number of seconds by which the server's clock is ahead.
    var seconds: Double { value.withLock { $0 } }

    func record(_ head: HTTPResponse, at now: Date) {
        let local = HTTPDate(now)
        guard let text = head.headerFields.single(.date), let date = HTTPDate(text, now: local) else { return }
        value.withLock { $0 = Double(date.secondsSinceEpoch - local.secondsSinceEpoch) }
    }
}
#endif
