#if AsyncHTTPClient
internal import ErrandCore

extension ExchangeMachine {
    enum State: Sendable {
        /// No caller waits for the response yet.
        case idle
        /// The client has been asked to send the request, but it has not returned its task yet. Without the task, the request can't be
        /// withdrawn.
        case starting(Progress)
        /// The exchange was cancelled in `starting`, before bytes were sent. The request is withdrawn as soon as the client has returned
        /// its task.
        case cancelledInStart(Progress)
        /// The connection pool or a connection has the request.
        case running(Progress)
        /// The exchange must end. First, the transport finds out whether a part of the request was sent.
        case withdrawing(reason: WithdrawalReason, Progress)
        case ended(ExchangeLifetime.Outcome)
    }

    enum WithdrawalReason: Sendable {
        case deadline
        case cancellation
    }

    /// The progress of the request and the response.
    enum Progress: Sendable {
        /// The client has not reported any sent bytes.
        case connecting(Handles.HeadWaiter)
        case sending(Handles.HeadWaiter)
        /// The whole request was sent.
        case awaitingResponse(Handles.HeadWaiter)
        /// The head of the response was received. The request may still be incomplete.
        case receiving(Receiving)
    }

    struct Receiving: Sendable {
        enum Flow: Sendable {
            /// The connection reads, and no reader waits.
            case open
            /// A reader waits, and no chunk is queued.
            case awaited(Handles.ChunkWaiter)
            /// The queue is full. The connection waits for the demand.
            case heldBack(Handles.Demand)
        }

        var flow = Flow.open
        /// The number of bytes of the body that have not arrived. `nil` if the length is not known.
        var missingBytes: Int64?
    }

    /// The progress of an exchange when it failed.
    struct Position: Sendable {
        let phase: ExchangePhase
        let delivery: Delivery
        let head: HTTPResponse?
    }

    /// The values that the caller needs to end the exchange.
    struct Ending: Sendable {
        let end: ExchangeLifetime.Outcome
        let sizes: ExchangeLifetime.BodySizes
        let held: Handles.Held?
        let headWaiter: Handles.HeadWaiter?
        let chunkWaiter: Handles.ChunkWaiter?
        let demand: Handles.Demand?
    }
}
#endif
