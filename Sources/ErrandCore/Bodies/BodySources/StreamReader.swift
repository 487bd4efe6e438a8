internal import Synchronization

/// The input of a body's stages: the chunks of a stream, read from the stream's source.
struct StreamPull: Sendable, BodyInput {
    private let owner: StreamOwner
    private let source: (any BodySource)?
    /// Whether there is a source. A check of the source itself would copy the source.
    private let hasSource: Bool

    /// Claims the source. If several readers claim the source, only the first reader gets the source.
    init(_ owner: StreamOwner) {
        self.owner = owner
        source = owner.claim()
        hasSource = source != nil
    }

    /// Whether the stream has no more bytes.
    ///
    /// - Throws: ``BodyAlreadyUsedError`` for a second reader, and if another task abandoned the body.
    var isOver: Bool {
        get throws {
            switch owner.phase {
            case .open where hasSource: false
            case .over where hasSource: true
            case .open, .over, .givenUp: throw BodyAlreadyUsedError()
            }
        }
    }

    /// Returns the next chunk of the source; `nil` at its end.
    func pull() async throws -> Data? {
        if try isOver { return nil }
        guard let source else { throw BodyAlreadyUsedError() }
        do {
            if let chunk = try await source.next() { return chunk }
            // A source may end when it is cancelled or abandoned. The end of a cancelled or abandoned source is not the end of the body.
            try Task.checkCancellation()
            if owner.phase == .givenUp { throw BodyAlreadyUsedError() }
            return nil
        } catch let error as BodyAlreadyUsedError {
            // The stream is not ended here, because another reader may be reading the stream.
            throw error
        } catch {
            owner.sourceFailed(error)
            throw error
        }
    }

    var trailers: HTTPFields? { source?.trailers }

    /// Records the end of the body.
    ///
    /// - Throws: ``BodyAlreadyUsedError`` if another task has abandoned the body: the end must not be treated as the end of a
    ///   complete body.
    func finish() throws {
        if owner.phase == .over { return }
        guard let source, owner.finish(trailers: source.trailers) else { throw BodyAlreadyUsedError() }
    }

    /// Abandons the stream if this value is its reader.
    func abandon() { if hasSource { owner.abandon() } }
}

/// The state that copies of an iterator share. All copies read the same stream, and releasing the last copy abandons the stream.
final class StreamReader: Sendable {
    private let owner: StreamOwner
    /// The input, without the stages of the body.
    let pull: StreamPull
    /// The number of reads by a pipeline.
    private let readCount = Atomic(0)

    init(_ owner: StreamOwner) {
        self.owner = owner
        pull = StreamPull(owner)
    }

    var request: Request? { owner.request }

    /// Returns the next chunk of a body without stages; `nil` at its end.
    func next() async throws -> Data? {
        if let chunk = try await pull.pull() { return chunk }
        try pull.finish()
        return nil
    }

    /// Ends the body because one of its stages has failed.
    func fail(_ error: any Error) { owner.readerFailed(error) }

    /// Checks whether the task was cancelled or the deadline has passed.
    ///
    /// - Throws: `CancellationError`; ``TransportError`` if the deadline of the exchange has passed.
    func checkLimits() throws {
        try Task.checkCancellation()
        guard let request = owner.request, let deadline = request.deadline, deadline.hasPassed else { return }
        throw TransportError.timedOut(.body, after: nil, request: request, delivery: .sent)
    }

    /// Counts a read by a copy of the iterator. Returns false if another copy has read since the last read of this copy.
    func claimRead(_ count: Int) -> Bool {
        readCount.compareExchange(expected: count, desired: count + 1, ordering: .acquiringAndReleasing).exchanged
    }

    deinit { pull.abandon() }
}
