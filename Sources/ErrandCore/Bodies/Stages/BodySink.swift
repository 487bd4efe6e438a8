/// A destination for a copy of a body, such as a file. The bytes are copied while a reader reads the body. The sink may be slower than
/// the reader.
///
/// The copy is made in the task of the reader, chunk by chunk. Therefore the reader waits for the sink, nothing is read ahead, and
/// cancelling the reader's task also cancels the sink.
package protocol BodySink: Sendable {
    /// Writes the next bytes, at least one byte, before the reader gets these bytes. The caller makes the next call only after this call
    /// has returned.
    ///
    /// - Throws: the error that fails the body. If the body is useful even without the sink, return without an error, and
    ///   ignore all later bytes.
    func write(_ chunk: Data) async throws

    /// Ends the sink after all bytes were written. The reader gets the end of the body after this function has returned. Called once, and
    /// not after ``abandon(_:)``.
    ///
    /// - Parameter trailers: the trailer fields of the body, if there are any.
    /// - Throws: the error that fails the body.
    func finish(trailers: HTTPFields?) async throws

    /// Ends the sink early, because the body has failed or will not be read to its end.
    ///
    /// Called once, and not after ``finish(trailers:)`` has begun. This function must not block. The function may be called while
    /// ``write(_:)`` waits in another task.
    func abandon(_ end: ExchangeLifetime.Outcome)
}

/// A sink, and the observer that reports an early end to the sink.
struct SinkStage: Sendable {
    let sink: any BodySink
    let observer: BodyObserver

    init(_ sink: some BodySink) {
        self.sink = sink
        observer = BodyObserver { event in
            switch event {
            case .opened, .chunk, .end(.complete, _): break
            case .end(let end, _): sink.abandon(end)
            }
        }
    }
}

extension ResponseBody {
    /// Returns a body with the bytes of this body. While a reader reads the returned body, its bytes are copied to `sink`.
    ///
    /// Use the returned body; this body can't be read any more. Bytes in memory become a stream, because a sink may wait.
    package consuming func copied(to sink: some BodySink) -> ResponseBody {
        let (stage, length) = (SinkStage(sink), expectedLength)
        return appending(.copy(stage), stage.observer, expectedLength: length)
    }
}
