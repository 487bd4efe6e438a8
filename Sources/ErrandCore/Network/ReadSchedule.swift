/// The times at which a changing state is read: at most one read in each interval. The first change after a pause is read immediately.
/// After the last change of a series, the state is always read again.
struct ReadSchedule: Sendable {
    let interval: Duration
    private var lastRead: Duration?
    private var isPlanned = false

    /// - Parameter interval: the shortest time between two reads.
    init(every interval: Duration) { self.interval = interval }

    /// Records a change.
    ///
    /// - Returns: the time until the next read; `nil` if a read is planned already. If the result is not `nil`, the caller must
    ///   plan that read now.
    mutating func change(at now: Duration) -> Duration? {
        guard !isPlanned else { return nil }
        isPlanned = true
        return lastRead.map { max(.zero, interval - (now - $0)) } ?? .zero
    }

    /// Records that the planned read begins.
    mutating func read(at now: Duration) { (lastRead, isPlanned) = (now, false) }
}
