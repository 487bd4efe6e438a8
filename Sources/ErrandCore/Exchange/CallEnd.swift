internal import Synchronization

/// The end of reading a response: when its value has been decoded, when decoding has failed, or when its status was refused.
///
/// The first observer that waits for the reader creates it; without one, nothing is allocated. A response that is discarded on the way, such as that of
/// an attempt that is retried, ends when it is discarded, at the latest when its last copy goes away.
final class CallEnd: Sendable {
    enum Outcome: Sendable {
        /// There is a value.
        case decoded
        /// There is no value: decoding failed, or reading the body failed.
        case failed(any Error)
        /// The status was refused, and the body says why in the envelope of the client.
        case refused(ServiceError)
        /// Nobody decodes this response.
        case discarded
    }

    /// Nil once the end has been reported.
    private let handlers = Mutex<[@Sendable (Outcome) -> Void]?>([])

    func onEnd(_ handler: @escaping @Sendable (Outcome) -> Void) {
        let isOver = handlers.withLock { handlers in
            handlers?.append(handler)
            return handlers == nil
        }
        if isOver { handler(.discarded) }
    }

    /// Ends the call; the first end counts. Observers are notified in the order in which they asked, the innermost first.
    func end(_ outcome: Outcome) {
        let waiting = handlers.withLock { handlers in
            defer { handlers = nil }
            return handlers
        }
        for handler in waiting ?? [] { handler(outcome) }
    }

    deinit { end(.discarded) }
}

extension HTTPStack {
    /// Sends a request, and makes a value of its response. For its observers, the call ends when `read` is done.
    ///
    /// - Parameters:
    ///   - serviceErrors: reads the error of the back end in the body of a refused response; `nil` if the client has no envelope.
    ///   - read: decodes the response. A ``StatusError`` with an error of the back end ends the call with that error.
    /// - Throws: what sending throws, and what `read` throws.
    package func value<Value>(
        of request: Request, serviceErrors: ServiceErrorReader?, by read: (Response) async throws -> Value
    ) async throws -> Value {
        var typed = request
        typed.options.call.expectValue(serviceErrors)
        var response: Response
        // Without a closure, which would copy the request once more.
        do {
            response = try await send(typed)
        } catch {
            throw error.restoringCall(of: request)
        }
        response.request.restoreCall(of: request)
        let end = response.metadata.callEnd
        response.metadata.callEnd = nil
        let value: Value
        do {
            value = try await read(response)
        } catch {
            end?.end(.failed((error as? StatusError)?.serviceError ?? error))
            throw error
        }
        end?.end(.decoded)
        return value
    }
}
