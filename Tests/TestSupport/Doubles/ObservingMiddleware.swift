package import ErrandCore

/// Observes each call by an observer that a closure makes.
package struct ObservingMiddleware<Observer: CallObserver>: HTTPMiddleware {
    private let makeObserver: @Sendable () -> Observer

    package init(_ makeObserver: @escaping @Sendable () -> Observer) { self.makeObserver = makeObserver }

    package func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        try await next.send(request, observedBy: makeObserver())
    }
}
