internal import Synchronization

/// The end of reading a response: the value was decoded, decoding failed, the status was refused, or the response was discarded.
///
/// The first observer that waits for the reader creates this object. If no observer waits, nothing is allocated. An inner layer may
/// discard a response, such as the response of an attempt that is retried. For the observers, the call of a discarded response ends when
/// the response is discarded, at the latest when its last copy is released.
final class CallEnd: Sendable {
    enum Outcome: Sendable {
        /// Decoding succeeded.
        case decoded
        /// Decoding the value or reading the body failed.
        case failed(any Error)
        /// Status validation refused the response. The first bytes of the body have been read.
        indirect case refused(StatusError)
        /// The response is never decoded.
        case discarded
    }

    /// The observers' closures; `nil` after the end has been reported.
    private let handlers = Mutex<[@Sendable (Outcome) -> Void]?>([])

    func onEnd(_ handler: @escaping @Sendable (Outcome) -> Void) {
        let isOver = handlers.withLock { handlers in
            handlers?.append(handler)
            return handlers == nil
        }
        if isOver { handler(.discarded) }
    }

    /// Ends the call. Only the first end is recorded. Observers are notified in the order of registration, the innermost first.
    func end(_ outcome: Outcome) {
        let waiting = handlers.withLock { $0.take() }
        for handler in waiting ?? [] { handler(outcome) }
    }

    deinit { end(.discarded) }
}
