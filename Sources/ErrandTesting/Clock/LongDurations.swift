extension Duration {
    /// Returns the sum, or the largest or smallest duration if the sum overflows.
    func cappedSum(_ other: Duration) -> Duration {
        let (sum, isOver) = attoseconds.addingReportingOverflow(other.attoseconds)
        guard isOver else { return Duration(attoseconds: sum) }
        return Duration(attoseconds: other < .zero ? .min : .max)
    }
}
