extension ResponseBody {
    /// The largest output of a transform that stays in memory, if the input is in memory: 1 MiB.
    static let transformedInMemoryLimitBytes = 1024 * 1024

    /// Returns a body that `transform` makes from this body, chunk by chunk as the body is read.
    ///
    /// Use the returned body; this body can't be read any more. The returned body has the trailers of this body. If the returned
    /// body is abandoned, this body is abandoned. Bytes in memory are transformed immediately and stay in memory. If the transform
    /// fails, or its output has more than 1 MiB, the bytes become a stream.
    ///
    /// - Parameters:
    ///   - transform: makes the new body.
    ///   - length: the length of the new body, in bytes. `nil`, the default, and negative numbers mean that the length is unknown.
    ///     The length becomes ``expectedLength`` and is not checked. For bytes in memory, `length` is ignored: the length is the
    ///     length of the output.
    public consuming func transformed(by transform: some BodyTransform, length: Int64? = nil) -> ResponseBody {
        if case .buffered(let bytes) = storage,
            let output = transform.output(of: bytes.data, upTo: Self.transformedInMemoryLimitBytes)
        {
            guard let moved = bytes.moved(output, to: bytes.taps) else { return ResponseBody(usedUp: nil) }
            return ResponseBody(.buffered(moved), expectedLength: Int64(output.count))
        }
        return appending(.transform(transform), expectedLength: length.flatMap { $0 >= 0 ? $0 : nil })
    }

    /// Returns a body with the bytes of this body. The chunks and the end of the returned body are reported to `observe`.
    ///
    /// Use the returned body; this body can't be read any more. The end event is one of:
    /// - `.complete`, after the last chunk was delivered
    /// - `.failed`, if the body ends early, or an outer transform fails before the end
    /// - `.abandoned`, if the body is not read to its end
    ///
    /// If this body is in memory, the returned body is in memory too, and a reader gets all its bytes as one chunk. If your code uses only
    /// ``bufferedData``, no chunk is reported.
    ///
    /// - Parameter observe: called with one event at a time, by the code that reads or releases the body. The closure must not block. The
    ///   end is reported exactly once, as the last event.
    public consuming func observed(_ observe: @escaping @Sendable (BodyEvent) -> Void) -> ResponseBody {
        let observer = BodyObserver(observe)
        let length = expectedLength
        guard case .buffered(let bytes) = storage else { return appending(.observe(observer), observer, expectedLength: length) }
        guard let moved = bytes.moved(bytes.data, to: bytes.taps + [BodyTap(observer: observer, data: bytes.data)]) else {
            return ResponseBody(usedUp: nil)
        }
        return ResponseBody(.buffered(moved), expectedLength: length)
    }

    /// Returns a stream of this body's bytes with an additional stage.
    ///
    /// - Parameter observer: the observer of the stage, which is notified if the body fails or ends early.
    consuming func appending(_ stage: BodyStage, _ observer: BodyObserver? = nil, expectedLength: Int64?) -> ResponseBody {
        func adding(to observers: [BodyObserver]) -> [BodyObserver] { observer.map { observers + [$0] } ?? observers }
        switch storage {
        case .stream(let owner, let stages):
            guard let source = owner.move() else { return ResponseBody(usedUp: owner.request) }
            let moved = owner.successor(over: source, observers: adding(to: owner.observers))
            return ResponseBody(.stream(moved, stages + [stage]), expectedLength: expectedLength)
        case .buffered(let bytes):
            guard bytes.moved(bytes.data, to: []) != nil else { return ResponseBody(usedUp: nil) }
            let source = DataBodySource(bytes.data, trailers: bytes.trailers)
            let owner = StreamOwner(source, request: nil, observers: adding(to: bytes.taps.map(\.observer)))
            return ResponseBody(.stream(owner, bytes.taps.map { .tap($0) } + [stage]), expectedLength: expectedLength)
        }
    }

    /// Returns this body with the source that `wrap` makes from the present source. A body in memory is returned unchanged.
    consuming func replacingSource(_ wrap: (any BodySource) -> some BodySource) -> ResponseBody {
        guard case .stream(let owner, let stages) = storage else { return self }
        guard let source = owner.move() else { return ResponseBody(usedUp: owner.request) }
        return ResponseBody(
            .stream(owner.successor(over: wrap(source), observers: owner.observers), stages), expectedLength: expectedLength)
    }

    init(usedUp request: Request?) { self.init(.stream(StreamOwner(usedUp: request), []), expectedLength: nil) }
}
