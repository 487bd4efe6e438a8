public import ErrandCore
package import ErrandTesting
internal import Synchronization

/// A body whose chunks are known beforehand or come from closures, followed by an ending and trailers.
public final class ScriptedBodySource: BodySource {
    /// Makes one chunk.
    public typealias Step = @Sendable () async throws -> Data

    /// What happens after the last chunk.
    public enum Ending: Sendable {
        case end
        case failure(any Error)
        /// The read waits until its task is cancelled, and throws `CancellationError`.
        case stall
        /// The read waits until its task is cancelled, and then returns the end of the body, as `AsyncStream` does.
        case stallThenEnd
        /// The read waits until the body is abandoned, and then returns the end of the body. Cancellation does not end the wait.
        case endWhenAbandoned
    }

    private let state: Mutex<(rest: ArraySlice<Step>, isWhole: Bool)>
    private let ending: Ending
    private let lastFields: HTTPFields?
    private let isAbandoned = Signal()
    /// The number of abandonments.
    public let abandonments = Watched(0)
    /// The event that every chunk was read, and the ending begins.
    package let reachedEnding = Signal()

    /// - Parameter trailers: known once the end of the body was read.
    public init(steps: [Step], then ending: Ending = .end, trailers: HTTPFields? = nil) {
        state = Mutex((steps[...], false))
        (self.ending, lastFields) = (ending, trailers)
    }

    /// - Parameter beforeEach: called before each chunk.
    public convenience init(
        chunks: [Data], then ending: Ending = .end, trailers: HTTPFields? = nil,
        beforeEach: @escaping @Sendable () async throws -> Void = {}
    ) {
        let steps = chunks.map { chunk in
            let step: Step = {
                try await beforeEach()
                return chunk
            }
            return step
        }
        self.init(steps: steps, then: ending, trailers: trailers)
    }

    /// Gives texts as chunks.
    public convenience init(
        _ texts: [String] = [], then ending: Ending = .end, trailers: HTTPFields? = nil,
        beforeEach: @escaping @Sendable () async throws -> Void = {}
    ) {
        self.init(chunks: texts.map { Data($0.utf8) }, then: ending, trailers: trailers, beforeEach: beforeEach)
    }

    /// Gives `data` in pieces of `pieceBytes`; the last may be shorter.
    public convenience init(_ data: Data, pieceBytes: Int) {
        let starts = stride(from: data.startIndex, to: data.endIndex, by: pieceBytes)
        self.init(chunks: starts.map { data[$0..<min($0 + pieceBytes, data.endIndex)] })
    }

    public var abandonCount: Int { abandonments.value }
    public var unreadCount: Int { state.withLock(\.rest.count) }
    public var trailers: HTTPFields? { state.withLock { $0.isWhole ? lastFields : nil } }

    public func next() async throws -> Data? {
        if let step = state.withLock({ $0.rest.popFirst() }) { return try await step() }
        reachedEnding.signal()
        switch ending {
        case .end: break
        case .failure(let error): throw error
        case .stall: try await untilCancelled()
        case .stallThenEnd: do { try await untilCancelled() } catch {}
        case .endWhenAbandoned: await isAbandoned.waitIgnoringCancellation()
        }
        state.withLock { $0.isWhole = true }
        return nil
    }

    public func abandon() {
        abandonments.change { $0 += 1 }
        isAbandoned.signal()
    }
}
