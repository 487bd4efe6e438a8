internal import Synchronization

/// A body that others may read before its reader: if one of them reads all of it, the next one gets the same bytes, from memory.
package struct CheckedBody: Sendable {
    /// The body for the first to read it. It takes the place of the one from which this was made.
    package let body: ResponseBody
    /// The bytes as they are read; `nil` for bytes in memory, which can be looked at again.
    private let recorder: Recorder?

    /// - Parameter limitBytes: of a stream that is longer, nothing is kept.
    package init(_ body: consuming ResponseBody, limitBytes: Int = ResponseBody.defaultCollectLimitBytes) {
        if case .buffered = body.storage {
            (self.body, recorder) = (body, nil)
        } else {
            let recorder = Recorder(limitBytes: limitBytes)
            (self.body, self.recorder) = (body.observed { recorder.record($0) }, recorder)
        }
    }

    /// Returns `read`, or a body with the same bytes where `read` is this body and was read to its end.
    ///
    /// A body of which only a part was read is returned as it is, and throws ``BodyAlreadyUsedError``.
    package func next(after read: ResponseBody) -> ResponseBody {
        switch (read.storage, body.storage) {
        case (.buffered(let bytes), _) where bytes.isRead && !bytes.data.isEmpty: ResponseBody(bytes.data, trailers: bytes.trailers)
        case (.stream(let owner, _), .stream(let own, _)) where owner === own: recorder?.whole ?? read
        default: read
        }
    }

    /// Keeps nothing from now on.
    package func stop() { recorder?.stop() }

    private final class Recorder: Sendable {
        private struct State {
            /// `nil` once nothing is kept.
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
