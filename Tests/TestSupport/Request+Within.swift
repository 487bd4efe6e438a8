public import ErrandCore

extension Request {
    /// This request with a deadline.
    public func within(_ duration: Duration) -> Request {
        var copy = self
        copy.deadline = Deadline(after: duration)
        return copy
    }
}
