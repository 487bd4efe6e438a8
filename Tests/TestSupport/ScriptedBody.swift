public import ErrandCore
internal import Synchronization

/// A body whose chunks come from closures, followed by trailers.
public final class ScriptedBody: BodySource {
    private struct State {
        var steps: ArraySlice<@Sendable () async throws -> Data>
        var isOver = false
    }

    private let state: Mutex<State>
    private let lastFields: HTTPFields?
    public let abandoned = Watched(0)

    public init(_ steps: [@Sendable () async throws -> Data], trailers: HTTPFields? = nil) {
        state = Mutex(State(steps: steps[...]))
        lastFields = trailers
    }

    public var trailers: HTTPFields? { state.withLock { $0.isOver ? lastFields : nil } }

    public func next() async throws -> Data? {
        guard let step = state.withLock({ $0.steps.popFirst() }) else {
            state.withLock { $0.isOver = true }
            return nil
        }
        return try await step()
    }

    public func abandon() { abandoned.change { $0 += 1 } }
}
