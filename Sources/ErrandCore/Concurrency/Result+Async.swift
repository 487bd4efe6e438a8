extension Result where Failure == any Error {
    /// Creates the result of work that suspends.
    package init(of work: () async throws -> Success) async {
        do {
            self = .success(try await work())
        } catch {
            self = .failure(error)
        }
    }
}
