extension Duration {
    /// Returns the sum. If the sum overflows, returns the largest or the smallest duration.
    func cappedSum(_ other: Duration) -> Duration {
        let (sum, isOver) = attoseconds.addingReportingOverflow(other.attoseconds)
        guard isOver else { return Duration(attoseconds: sum) }
        return Duration(attoseconds: other < .zero ? .min : .max)
    }
}
