public import ErrandCore
internal import Synchronization

/// Records names, in order.
public final class Passage: Sendable {
    private let names = Mutex<[String]>([])

    public init() {}

    public var all: [String] { names.withLock { $0 } }
    public func note(_ name: String) { names.withLock { $0.append(name) } }
}

/// Records each request on its way in, and each response on its way out.
public struct RecordingMiddleware: HTTPMiddleware {
    private let name: String
    private let passage: Passage

    public init(name: String, passage: Passage) { (self.name, self.passage) = (name, passage) }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        passage.note("> \(name)")
        defer { passage.note("< \(name)") }
        return try await next.send(request)
    }
}
