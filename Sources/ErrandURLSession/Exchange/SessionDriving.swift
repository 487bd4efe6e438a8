/// The calls of an exchange to the session's task.
protocol SessionDriving: Sendable {
    /// Starts the task. If the task is suspended, the task continues.
    func resume()
    func suspend()
    /// Ends the task. The call is also allowed before the task has started and after the task has ended.
    func cancel()
}
