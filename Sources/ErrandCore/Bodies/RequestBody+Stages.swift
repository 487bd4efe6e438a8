internal import Synchronization

extension RequestBody {
    /// Returns a body that `transform` makes of this one, chunk by chunk as it is sent.
    ///
    /// Each time that it is sent, a copy of `transform` begins anew, so it can be sent again if this body can, but from its first byte alone.
    /// Bytes in memory are transformed at once and stay in memory, unless that fails or makes more than 1 MiB of them.
    ///
    /// - Parameter length: of the new body, in bytes; nil where it is not known. Bytes in memory have the length of what was made of them, whatever
    ///   `length` says; a stream of another length fails the request.
    public func transformed(by transform: some BodyTransform, length: Int64? = nil) -> RequestBody {
        if let bytes, let output = transform.output(of: bytes, upTo: ResponseBody.transformedInMemoryLimitBytes) { return .data(output) }
        return replacingSource(length: length, replay: replay.canRestart ? .restartable : .oneShot) { source, _ in
            StagedBodySource(source, [.transform(transform)], observer: nil)
        }
    }

    /// Returns this body, and reports to `observe` each time that it is opened, its chunks, and the end once for each opening.
    ///
    /// ```swift
    /// let total = body.length
    /// request.body = body.observed { event in
    ///     switch event {
    ///     case .opened: sent.reset()                                  // a retry begins anew
    ///     case .chunk(let chunk): sent.add(chunk.count, of: total)
    ///     case .end: break
    ///     }
    /// }
    /// ```
    ///
    /// It is as long, and can be sent again in the same ways. Bytes in memory become a stream of chunks of at most 64 KiB, so that `coalesce` does
    /// not share such a request. Two openings overlap where a request is sent twice at once, by `hedge` or by two calls: their events mix.
    ///
    /// - Parameter observe: is called in the task that sends the body, and must not block.
    public func observed(_ observe: @escaping @Sendable (BodyEvent) -> Void) -> RequestBody {
        replacingSource(length: length, replay: replay) { source, offset in
            let observer = BodyObserver(observe)
            observer.opened(at: offset)
            // Whoever shows progress wants more than the beginning and the end of bytes in memory.
            return StagedBodySource((source as? DataBodySource)?.inChunks() ?? source, [.observe(observer)], observer: observer)
        }
    }
}

/// A request's body and what its chunks go through.
private final class StagedBodySource: BodySource {
    private let base: any BodySource
    private let observer: BodyObserver?
    /// Nil while it is being asked.
    private let pipeline: Mutex<BodyPipeline?>

    init(_ base: any BodySource, _ stages: [BodyStage], observer: BodyObserver?) {
        (self.base, self.observer) = (base, observer)
        pipeline = Mutex(BodyPipeline(stages))
    }

    private struct Input: BodyInput {
        let source: any BodySource
        func pull() async throws -> Data? {
            if let chunk = try await source.next() { return chunk }
            // A source may end where it is cancelled.
            try Task.checkCancellation()
            return nil
        }
        var trailers: HTTPFields? { source.trailers }
    }

    var trailers: HTTPFields? { base.trailers }

    func next() async throws -> Data? {
        guard var taken = pipeline.withLock({ $0.take() }) else { throw BodyAlreadyUsedError() }
        defer { pipeline.withLock { [taken] in $0 = taken } }
        do {
            try Task.checkCancellation()
            return try await taken.next(Input(source: base))
        } catch {
            observer?.end(.failed(error))
            base.fail(with: error)
            throw error
        }
    }

    func abandon() {
        observer?.end(.abandoned)
        base.abandon()
    }

    func fail(with error: any Error) {
        observer?.end(.failed(error))
        base.fail(with: error)
    }
}
