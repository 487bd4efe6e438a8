extension ResponseBody {
    /// How much the output of a transform of bytes in memory may have to stay in memory: 1 MiB.
    static let transformedInMemoryLimitBytes = 1024 * 1024

    /// Returns a body that `transform` makes of this one, chunk by chunk as it is read.
    ///
    /// Use the returned body; this one can no longer be read. Trailers and abandonment behave as before.
    /// Bytes in memory are transformed at once and stay in memory, unless that fails or makes more than 1 MiB of them: then they
    /// become a stream.
    ///
    /// - Parameter length: of the new body, in bytes, for ``expectedLength``; it is not checked. Nil and negative numbers mean that it is not known.
    ///   Bytes in memory have the length of what was made of them, whatever `length` says.
    public consuming func transformed(by transform: some BodyTransform, length: Int64? = nil) -> ResponseBody {
        let length = length.flatMap { $0 >= 0 ? $0 : nil }
        switch storage {
        case .stream(let owner, let stages):
            guard let source = owner.move() else { return ResponseBody(usedUp: owner.request) }
            let moved = owner.successor(over: source, observers: owner.observers)
            return ResponseBody(.stream(moved, stages + [.transform(transform)]), expectedLength: length)
        case .buffered(let bytes):
            let output = transform.output(of: bytes.data, upTo: Self.transformedInMemoryLimitBytes)
            guard let moved = bytes.moved(output ?? bytes.data, to: bytes.taps) else { return ResponseBody(usedUp: nil) }
            if let output { return ResponseBody(.buffered(moved), expectedLength: Int64(output.count)) }
            return ResponseBody(
                .stream(
                    StreamOwner(DataBodySource(bytes.data, trailers: bytes.trailers), request: nil, observers: bytes.taps.map(\.observer)),
                    bytes.taps.map { .tap($0) } + [.transform(transform)]),
                expectedLength: length)
        }
    }

    /// Returns this body, and reports its chunks and its end to `observe`.
    ///
    /// Use the returned body; this one can no longer be read. The end is `.complete` once the last chunk was handed on, `.failed` where the body
    /// breaks off or a transform further out fails before, and `.abandoned` where nobody reads on. Bytes in memory stay in memory: they are
    /// a chunk when somebody reads them, and none where somebody only looks at ``bufferedData``.
    ///
    /// - Parameter observe: is called with one event at a time, in the reader's task or where the body is let go of, and must not block. Nothing
    ///   follows the end, which comes exactly once.
    public consuming func observed(_ observe: @escaping @Sendable (BodyEvent) -> Void) -> ResponseBody {
        let observer = BodyObserver(observe)
        switch storage {
        case .stream(let owner, let stages):
            guard let source = owner.move() else { return ResponseBody(usedUp: owner.request) }
            let moved = owner.successor(over: source, observers: owner.observers + [observer])
            return ResponseBody(.stream(moved, stages + [.observe(observer)]), expectedLength: expectedLength)
        case .buffered(let bytes):
            guard let moved = bytes.moved(bytes.data, to: bytes.taps + [BodyTap(observer: observer, data: bytes.data)]) else {
                return ResponseBody(usedUp: nil)
            }
            return ResponseBody(.buffered(moved), expectedLength: expectedLength)
        }
    }

    /// This body over another source, which `wrap` makes of its own; bytes in memory stay what they are.
    consuming func replacingSource(_ wrap: (any BodySource) -> some BodySource) -> ResponseBody {
        guard case .stream(let owner, let stages) = storage else { return self }
        guard let source = owner.move() else { return ResponseBody(usedUp: owner.request) }
        return ResponseBody(
            .stream(owner.successor(over: wrap(source), observers: owner.observers), stages), expectedLength: expectedLength)
    }

    private init(usedUp request: Request?) { self.init(.stream(StreamOwner(usedUp: request), []), expectedLength: nil) }
}
