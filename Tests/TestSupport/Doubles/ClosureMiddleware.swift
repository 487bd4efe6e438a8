package import ErrandCore

/// Handles each call by a closure.
package struct ClosureMiddleware: HTTPMiddleware {
    /// Returns the response to a request, which it may pass to the next sender.
    package typealias Handler = @Sendable (_ request: Request, _ next: any HTTPSender) async throws -> Response

    package let label: String
    package let mayBypassInnerLayers: Bool
    package let appliesToPreparedRequests: Bool
    private let handler: Handler

    package init(
        label: String = "closure", mayBypassInnerLayers: Bool = false, appliesToPreparedRequests: Bool = true,
        _ handler: @escaping Handler
    ) {
        (self.label, self.mayBypassInnerLayers, self.appliesToPreparedRequests) = (label, mayBypassInnerLayers, appliesToPreparedRequests)
        self.handler = handler
    }

    /// Passes each request on with changes.
    package init(changing change: @escaping @Sendable (inout Request) -> Void) {
        self.init { request, next in
            var request = request
            change(&request)
            return try await next.send(request)
        }
    }

    package func send(_ request: Request, to next: some HTTPSender) async throws -> Response { try await handler(request, next) }
}
