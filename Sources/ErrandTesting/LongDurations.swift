extension Duration {
    /// A century: a clock that converts what it is given may not hold more, and nobody waits longer.
    static let longestSleep = Duration.seconds(3_155_760_000)

    /// The sum, or the largest (or smallest) duration where the sum is none.
    func cappedSum(_ other: Duration) -> Duration {
        let (sum, isOver) = attoseconds.addingReportingOverflow(other.attoseconds)
        guard isOver else { return Duration(attoseconds: sum) }
        return Duration(attoseconds: other < .zero ? .min : .max)
    }
}
