public import ErrandCore

extension Request {
    /// Returns this request with a deadline after `duration`.
    public func within(_ duration: Duration) -> Request {
        var copy = self
        copy.deadline = Deadline(after: duration)
        return copy
    }
}
