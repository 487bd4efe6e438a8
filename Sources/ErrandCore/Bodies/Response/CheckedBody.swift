internal import Synchronization

/// A body that several validators may read before the final reader.
///
/// If a validator reads the whole body, the next reader gets the same bytes from memory.
package struct CheckedBody: Sendable {
    /// The body for the first reader. Use this body in place of the body from which this value was created.
    package let body: ResponseBody
    /// The recorder of the bytes that are read; `nil` for a body in memory, whose bytes stay available.
    private let recorder: Recorder?

    /// - Parameter limitBytes: the maximum number of bytes of a stream that are kept. If the stream is longer, no bytes are
    ///   kept.
    package init(_ body: consuming ResponseBody, limitBytes: Int = ResponseBody.defaultCollectLimitBytes) {
        if case .buffered = body.storage {
            (self.body, recorder) = (body, nil)
        } else {
            let recorder = Recorder(limitBytes: limitBytes)
            (self.body, self.recorder) = (body.observed { recorder.record($0) }, recorder)
        }
    }

    /// Returns the body for the next reader. If `read` is this body and was read to its end, the result is a new body with the kept
    /// bytes.
    ///
    /// If `read` is another body, or was not read to its end, the result is `read`. If the previous reader has read only a part of `read`,
    /// the next reader gets a ``BodyAlreadyUsedError``.
    package func next(after read: ResponseBody) -> ResponseBody {
        switch (read.storage, body.storage) {
        case (.buffered(let bytes), _) where bytes.isRead && !bytes.data.isEmpty: ResponseBody(bytes.data, trailers: bytes.trailers)
        case (.stream(let owner, _), .stream(let own, _)) where owner === own: recorder?.whole ?? read
        default: read
        }
    }

    /// Drops the kept bytes, and keeps no further bytes.
    package func stop() { recorder?.stop() }

    private final class Recorder: Sendable {
        private struct State {
            /// The kept bytes; `nil` if no bytes are kept.
            var bytes: Data? = Data()
            var isWhole = false
            var trailers: HTTPFields?
        }

        private let limitBytes: Int
        private let state = Mutex(State())

        init(limitBytes: Int) { self.limitBytes = limitBytes }

        var whole: ResponseBody? {
            state.withLock { state in
                guard state.isWhole, let bytes = state.bytes else { return nil }
                return ResponseBody(bytes, trailers: state.trailers)
            }
        }

        func record(_ event: BodyEvent) {
            state.withLock { state in
                switch event {
                case .opened: break
                case .chunk(let chunk):
                    guard let count = state.bytes?.count, count + chunk.count <= limitBytes else {
                        state.bytes = nil
                        return
                    }
                    state.bytes?.append(chunk)
                case .end(.complete, let trailers): (state.isWhole, state.trailers) = (true, trailers)
                case .end: state.bytes = nil
                }
            }
        }

        func stop() { state.withLock { $0.bytes = nil } }
    }
}
