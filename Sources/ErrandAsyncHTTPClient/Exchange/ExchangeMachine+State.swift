#if AsyncHTTPClient
internal import ErrandCore

extension ExchangeMachine {
    enum State: Sendable {
        /// Nobody waits for the response yet.
        case idle
        /// The connection pool is being asked. It has not returned yet what the request can be withdrawn by.
        case starting(Progress)
        /// Cancelled in `starting`, before anything was sent: withdrawn as soon as the pool has returned.
        case cancelledInStart(Progress)
        /// The pool has the request, or a connection has it.
        case running(Progress)
        /// To end, and whether the request has left is being found out.
        case withdrawing(reason: WithdrawalReason, Progress)
        case ended(ExchangeLifetime.Outcome)
    }

    enum WithdrawalReason: Sendable {
        case deadline
        case cancellation
    }

    /// How far the messages have come.
    enum Progress: Sendable {
        /// Nothing was sent, as far as is known.
        case connecting(Handles.HeadWaiter)
        case sending(Handles.HeadWaiter)
        /// The request was sent as a whole.
        case awaitingResponse(Handles.HeadWaiter)
        /// The head of the response has come; the request may still be on its way.
        case receiving(Receiving)
    }

    struct Receiving: Sendable {
        enum Flow: Sendable {
            /// The connection reads, and nobody waits.
            case open
            /// A reader waits; nothing is queued.
            case awaited(Handles.ChunkWaiter)
            /// So much is queued that the connection waits.
            case heldBack(Handles.Demand)
        }

        var flow = Flow.open
        /// The bytes of the body that have not arrived; nil for an unknown length.
        var missingBytes: Int64?
    }

    /// Where an exchange was when it failed.
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
