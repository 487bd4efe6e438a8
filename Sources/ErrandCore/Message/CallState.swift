/// What the layers of a call note on its request for one another.
///
/// A layer that changes a note, the deadline or the event sink for those inside it takes that back on the way out: on the request of the
/// response (``Response/restoreCall(of:)``), and on that of the failure (``Swift/Error/restoringCall(of:)``). So whoever sends such a request once
/// more begins a call of its own, without the limits and observers of the one that is over.
package struct CallState: Sendable {
    /// Whether the request is inside its outermost stack: its options were checked, and its timeout was set.
    package var hasEntered = false
    /// Whether a middleware has set the deadline of this attempt by ``RequestOptions/attemptTimeout``.
    package var hasAttemptDeadline = false
    /// Whether the response will be decoded, so that the call ends later than its exchange: see ``CallEnd``.
    package var awaitsDecoding = false
    /// Whether a redirect that a response asks for may be followed further out.
    package var mayFollowRedirects = false
    /// The rule of the `validateStatus` that the request has passed: see ``Request/accepts(_:)``.
    package var passedStatusRule: StatusRule?
    /// Where the request is in the profile of its call; nil, as a rule.
    package var profilePosition: ProfilePosition?
    /// The limits of phases that the stack has set; nil without `phaseTimeouts`. A reference, as each request carries it.
    package var phaseLimits: StackLimits?

    init() {}
}

/// Limits that hold for each exchange of a stack, unless its request has others.
package final class StackLimits: Sendable {
    package let limits: PhaseTimeouts

    package init(_ limits: PhaseTimeouts) { self.limits = limits }
}

extension Request {
    /// Takes back what a layer has changed of the call: the deadline, the event sink and the notes are those of `outer` again.
    ///
    /// Another request, which a layer has sent meanwhile, is left as it is.
    package mutating func restoreCall(of outer: Request) {
        guard id == outer.id else { return }
        deadline = outer.deadline
        options.eventSink = outer.options.eventSink
        options.call = outer.options.call
    }
}

extension Response {
    /// Takes back what a layer has changed of the call for those inside it.
    ///
    /// - Parameter outer: the request as the layer got it.
    package mutating func restoreCall(of outer: Request) { request.restoreCall(of: outer) }
}

extension HTTPSender {
    /// Sends `changed` in place of `outer`, of whose call it is, and takes back on the way out what was changed of the call.
    package func send(_ changed: Request, inCallOf outer: Request) async throws -> Response {
        do {
            var response = try await send(changed)
            response.restoreCall(of: outer)
            return response
        } catch {
            throw error.restoringCall(of: outer)
        }
    }
}

extension Error {
    /// The same error; a failure's request has the call as the layer got it.
    ///
    /// - Parameters:
    ///   - outer: the request as the layer got it.
    ///   - restoresBody: whether the layer has put another body in its place.
    package func restoringCall(of outer: Request, restoresBody: Bool = false) -> any Error {
        guard var failure = self as? any RequestFailure, var request = failure.request, request.id == outer.id else { return self }
        request.restoreCall(of: outer)
        if restoresBody { request.body = outer.body }
        failure.request = request
        return failure
    }
}
