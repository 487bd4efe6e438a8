internal import Synchronization

extension RequestBody {
    /// Returns a body that `transform` makes from this body, chunk by chunk as the body is sent.
    ///
    /// Each time the body is sent, a new copy of `transform` is used. Therefore, if this body can be sent again, the new body can be sent
    /// again, but only from its first byte. Bytes in memory are transformed immediately and stay in memory. If the immediate transform
    /// fails, or its output has more than 1 MiB, the bytes are transformed while they are sent.
    ///
    /// - Parameters:
    ///   - transform: makes the new body.
    ///   - length: the length of the new body, in bytes; `nil`, the default, if the length is unknown. For bytes in memory,
    ///     `length` is ignored: the length is the length of the output. If the new body is a stream of a different length, the
    ///     request fails.
    public func transformed(by transform: some BodyTransform, length: Int64? = nil) -> RequestBody {
        if let data = bufferedData, let output = transform.output(of: data, upTo: ResponseBody.transformedInMemoryLimitBytes) {
            return .data(output, contentType: contentType)
        }
        return transformedWhileSent(by: transform, length: length)
    }

    /// Returns a body whose bytes pass through `transform` while the body is sent. Even bytes in memory are transformed only while the body
    /// is sent. In contrast, ``transformed(by:length:)`` transforms bytes in memory immediately.
    package func transformedWhileSent(by transform: some BodyTransform, length: Int64? = nil) -> RequestBody {
        replacingSource(length: length, replay: replay.canRestart ? .restartable : .oneShot) { source, _ in
            StagedBodySource((source as? DataBodySource)?.inChunks() ?? source, [.transform(transform)], observer: nil)
        }
    }

    /// Returns this body, and reports each reading of the body to `observe`: the opening, the chunks and the end.
    ///
    /// ```swift
    /// request.body = body.observed { [total = body.length] event in
    ///     switch event {
    ///     case .opened: progress.reset()                              // a retry starts again
    ///     case .chunk(let chunk): progress.add(chunk.count, of: total)
    ///     case .end: break
    ///     }
    /// }
    /// ```
    ///
    /// The length and the ``Replay`` of the body are unchanged. Bytes in memory become a stream of chunks of at most 64 KiB, so `coalesce`
    /// does not share the request. If `hedge` or two calls send a request twice at the same time, the events of both readings are mixed.
    ///
    /// - Parameter observe: called in the task that sends the body. The closure must not block.
    public func observed(_ observe: @escaping @Sendable (BodyEvent) -> Void) -> RequestBody { observed(byEach: { observe }) }

    /// Returns this body, with a new observer each time the body is opened.
    func observed(
        byEach makeObserver: @escaping @Sendable () -> @Sendable (BodyEvent) -> Void
    ) -> RequestBody {
        replacingSource(length: length, replay: replay, keepsBytes: true) { source, offset in
            let observer = BodyObserver(makeObserver())
            observer.opened(at: offset)
            // If all bytes in memory were one chunk, the progress would jump from 0 to 1.
            return StagedBodySource((source as? DataBodySource)?.inChunks() ?? source, [.observe(observer)], observer: observer)
        }
    }
}

/// A source of a request's body, and the stages that its chunks pass through.
private final class StagedBodySource: BodySource {
    private let base: any BodySource
    private let observer: BodyObserver?
    /// The pipeline; `nil` while it is in use.
    private let pipeline: Mutex<BodyPipeline?>

    init(_ base: any BodySource, _ stages: [BodyStage], observer: BodyObserver?) {
        (self.base, self.observer) = (base, observer)
        pipeline = Mutex(BodyPipeline(stages))
    }

    private struct Input: BodyInput {
        let source: any BodySource
        func pull() async throws -> Data? {
            if let chunk = try await source.next() { return chunk }
            // A source may end when its reader is cancelled. After a cancellation, the end of the source is not the end of the body.
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
