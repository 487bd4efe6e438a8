package import ErrandCore
internal import Synchronization

/// A body that a test writes in pieces, one piece for each read. The source records how the body is read.
package final class RecordingBodySource: BodySource {
    private struct State {
        var pieces: ArraySlice<Data> = []
        var end: Result<Data?, any Error>?
        var reader: CheckedContinuation<Data?, any Error>?
        var asked = 0
        var cancelled = 0
        var abandoned = 0
    }

    private let state = Mutex(State())
    private let sentTrailers: HTTPFields?
    /// Whether a waiting read ends when the body is abandoned. If false, abandoning the body does not end the read.
    private let endsReads: Bool
    package let lifetime = ExchangeLifetime()

    /// Creates a body whose first pieces are known. The body ends at ``finish(_:)``.
    package init(_ texts: [String] = [], trailers: HTTPFields? = nil, endsReads: Bool = true) {
        (sentTrailers, self.endsReads) = (trailers, endsReads)
        state.withLock { $0.pieces = texts.map { Data($0.utf8) }[...] }
    }

    package var trailers: HTTPFields? { sentTrailers }
    package var asked: Int { state.withLock(\.asked) }
    package var cancelled: Int { state.withLock(\.cancelled) }
    package var abandoned: Int { state.withLock(\.abandoned) }
    package var isBeingRead: Bool { state.withLock { $0.reader != nil } }

    package func response(to request: Request) -> Response {
        Response(head: HTTPResponse(status: .ok), body: ResponseBody(self, request: request), request: request, exchange: lifetime)
    }

    package func write(_ data: Data) {
        let reader = state.withLock { state in
            if state.reader == nil { state.pieces.append(data) }
            return state.reader.take()
        }
        reader?.resume(returning: data)
    }

    package func write(_ text: String) { write(Data(text.utf8)) }

    package func finish(_ error: (any Error)? = nil) {
        let end: Result<Data?, any Error> = error.map { .failure($0) } ?? .success(nil)
        let reader = state.withLock { state in
            state.end = end
            return state.reader.take()
        }
        lifetime.end(error.map { .failed($0) } ?? .complete)
        reader?.resume(with: end)
    }

    package func next() async throws -> Data? {
        try await waitInQueue { _, continuation in
            state.withLock { state -> Result<Data?, any Error>? in
                state.asked += 1
                if Task.isCancelled || state.abandoned > 0 && endsReads { return .failure(CancellationError()) }
                if let piece = state.pieces.popFirst() { return .success(piece) }
                if let end = state.end { return end }
                state.reader = continuation
                return nil
            }
        } leave: { [self] ticket in
            state.withLock { state in
                if !ticket.isCancelled { state.cancelled += 1 }
                ticket.isCancelled = true
                return state.reader.take()
            }
        }
    }

    package func abandon() {
        let reader = state.withLock { state in
            state.abandoned += 1
            return endsReads ? state.reader.take() : nil
        }
        lifetime.end(.abandoned)
        reader?.resume(throwing: CancellationError())
    }
}
