/// The task of one exchange, as the exchange uses it.
protocol SessionDriving: Sendable {
    /// Starts the task, or lets a suspended task continue.
    func resume()
    func suspend()
    /// Ends the task. Also possible before the start and after the end.
    func cancel()
}
