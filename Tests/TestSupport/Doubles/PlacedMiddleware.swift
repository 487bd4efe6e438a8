package import ErrandCore

/// Passes each request on, and declares a place and rules for the order of a stack.
package struct PlacedMiddleware: HTTPMiddleware {
    package let label: String
    package let place: MiddlewarePlace
    package let supportedPlaces: Set<MiddlewarePlace>
    package let neighbors: [MiddlewareNeighbor]
    private let passed: RecordingList<String>?

    /// - Parameters:
    ///   - supportedPlaces: `nil`, the default: the place, unless the middleware is unplaced.
    ///   - passed: records the label for each request.
    package init(
        _ label: String, at place: MiddlewarePlace = .unplaced, _ neighbors: [MiddlewareNeighbor] = [],
        supportedPlaces: Set<MiddlewarePlace>? = nil, passed: RecordingList<String>? = nil
    ) {
        (self.label, self.place, self.neighbors, self.passed) = (label, place, neighbors, passed)
        self.supportedPlaces = supportedPlaces ?? (place == .unplaced ? [] : [place])
    }

    package func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        passed?.record(label)
        return try await next.send(request)
    }
}
