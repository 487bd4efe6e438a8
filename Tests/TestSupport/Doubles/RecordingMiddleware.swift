public import ErrandCore

/// Records each request on its way in, and each response or error on its way out.
public struct RecordingMiddleware: HTTPMiddleware {
    public let label: String
    public let place: MiddlewarePlace
    public let neighbors: [MiddlewareNeighbor]
    private let name: String
    private let list: RecordingList<String>

    /// - Parameters:
    ///   - name: recorded as `> name` on the way in, and as `< name` on the way out.
    ///   - label: the name in a stack's description; `nil` (the default): `name`.
    public init(
        name: String, list: RecordingList<String>, label: String? = nil, place: MiddlewarePlace = .unplaced,
        neighbors: [MiddlewareNeighbor] = []
    ) {
        (self.name, self.list, self.label) = (name, list, label ?? name)
        (self.place, self.neighbors) = (place, neighbors)
    }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        list.record("> \(name)")
        defer { list.record("< \(name)") }
        return try await next.send(request)
    }
}
