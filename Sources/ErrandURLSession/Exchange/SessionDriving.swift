/// The functions that an exchange calls on the task of its session.
protocol SessionDriving: Sendable {
    /// Starts the task, or resumes the suspended task.
    func resume()
    func suspend()
    /// Cancels the task. This function may also be called before the task has started and after the task has ended.
    func cancel()
}
