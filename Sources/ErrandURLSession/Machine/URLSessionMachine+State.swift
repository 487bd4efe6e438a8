internal import ErrandCore

extension URLSessionMachine {
    enum State: Sendable {
        /// No caller waits for the response yet.
        case idle
        /// The task runs, and no head has been received.
        case waiting(HeadWaiter)
        case receiving(Receiving)
        case ended(ExchangeLifetime.Outcome)
    }

    struct Receiving: Sendable {
        /// The number of bytes of the body that have not arrived. `nil` if the length is not known.
        var missingBytes: Int64?
        /// Whether the session decodes the body.
        var isDecoded: Bool
    }

    /// The progress of the request's body.
    struct Upload: Sendable {
        var sentBytes: Int64 = 0
        /// The length of the body, after the session has read the whole body.
        var wholeLength: Int64?
        var hasReportedHead = false
        var hasReportedEnd = false
    }

    /// A step that the exchange carries out, outside its lock and in the order of the list.
    enum Action: Sendable {
        /// Starts the task.
        case start
        /// Suspends or resumes the task, as ``URLSessionMachine/isHeldBack`` says at the time of the step.
        case adjustFlow
        case cancelTask
        /// Releases the body of the request.
        case stopUpload
        /// Asks the closure of the request for a decision about a server. The decisions arrive in the order of the questions.
        case ask(ServerTrust)
        case reply(Challenge, TrustReply)
        case record(ExchangeEvent.Kind, bytes: Int64? = nil)
        case recordInformational(HTTPResponse)
        case recordHead(HTTPResponse)
        case recordTimings(ExchangeEvent.Timings)
        case recordEnd((any Error)?)
        case endLifetime(ExchangeLifetime.Outcome, ExchangeLifetime.BodySizes)
        /// Releases the exchange: the session's callbacks for the task are ignored from now on.
        case forget
        case deliverHead(ReceivedHead, to: HeadWaiter)
        case failHead(HeadWaiter, any Error)
        case deliver(UnreadBody<ChunkWaiter>.Read, to: ChunkWaiter)
        /// Calls ``URLSessionMachine/publishEnd()``.
        case publishEnd
    }
}
