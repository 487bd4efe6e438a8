extension Duration {
    /// The sum, or the largest (or smallest) duration where the sum is none.
    func cappedSum(_ other: Duration) -> Duration {
        let (sum, isOver) = attoseconds.addingReportingOverflow(other.attoseconds)
        guard isOver else { return Duration(attoseconds: sum) }
        return Duration(attoseconds: other < .zero ? .min : .max)
    }
}
