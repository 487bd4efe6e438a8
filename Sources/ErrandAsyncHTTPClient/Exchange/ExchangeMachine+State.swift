#if AsyncHTTPClient
internal import ErrandCore

extension ExchangeMachine {
    enum State: Sendable {
        /// The exchange has not begun: no caller waits for the response.
        case idle
        /// The request was given to the connection pool, which has not yet returned the task by which the request can be withdrawn.
        case starting(Progress)
        /// The exchange was cancelled in `starting`, before anything was sent. It is withdrawn as soon as the pool returns.
        case cancelledInStart(Progress)
        /// The pool or a connection has the request.
        case running(Progress)
        /// The exchange will end. It is not yet known whether the request was sent.
        case withdrawing(reason: WithdrawalReason, Progress)
        case ended(ExchangeLifetime.Outcome)
    }

    enum WithdrawalReason: Sendable {
        case deadline
        case cancellation
    }

    /// The progress of the request and the response.
    enum Progress: Sendable {
        /// Nothing was sent, as far as is known.
        case connecting(Handles.HeadWaiter)
        case sending(Handles.HeadWaiter)
        /// The whole request was sent.
        case awaitingResponse(Handles.HeadWaiter)
        /// The head of the response has arrived. The request may not be completely sent.
        case receiving(Receiving)
    }

    struct Receiving: Sendable {
        enum Flow: Sendable {
            /// The connection reads, and no reader waits.
            case open
            /// A reader waits, and no chunk is queued.
            case awaited(Handles.ChunkWaiter)
            /// The queue is full, and the connection waits.
            case heldBack(Handles.Demand)
        }

        var flow = Flow.open
        /// The number of bytes of the body that have not arrived; `nil` for an unknown length.
        var missingBytes: Int64?
    }

    /// The position of an exchange at its failure.
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
