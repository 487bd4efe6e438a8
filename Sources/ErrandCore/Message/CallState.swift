/// The notes of a call's layers for one another, which its request carries.
///
/// A layer may change a note, the deadline or the event sink for the layers inside it. They are restored when the layer is left, on the request of the
/// response and on the request of the failure. So sending such a request again begins a new call, without the limits and observers of the old one.
package struct CallState: Sendable {
    /// Whether the request is inside its outermost stack: its options were checked, and its timeout was set.
    var hasEntered = false
    /// Whether a middleware has set the deadline of this attempt by ``RequestOptions/attemptTimeout``.
    package var hasAttemptDeadline = false
    /// Whether the response will be decoded, so that the call ends later than its exchange: see ``CallObserver``.
    package var awaitsDecoding = false
    /// Whether an outer layer may follow a redirect that a response asks for.
    var mayFollowRedirects = false
    /// Whether no layer may follow a redirect: the body has secrets, which are for the first server alone.
    var forbidsRedirects = false
    /// The rule of the `validateStatus` that the request has passed: see ``Request/accepts(_:)``.
    package var passedStatusRule: StatusRule?
    /// Whether content codings of the response are decoded although the request asks for none: its reader needs the content, and asks for `identity`
    /// only so that no proxy holds back what it compresses.
    package var decodesUnrequestedCodings = false
    /// The request's position in the profile of its call; usually `nil`.
    package var profilePosition: ProfilePosition?
    /// The phase limits of the stack; `nil` without `phaseTimeouts`. A reference, because each request carries it.
    package var phaseLimits: StackLimits?
    /// How the client of the call reads and writes JSON, to decode its response or its failure later; `nil` without a client.
    package var json: JSONCoding?

    /// The innermost observer outside of the request's position; `nil` without one.
    var observation: (any CallObservation)?
    /// Reads the error of the back end in the body of a refused response; `nil` without a client that has an envelope.
    package var serviceErrors: ServiceErrorReader?

    init() {}

    /// The response will be decoded.
    mutating func expectValue(_ serviceErrors: ServiceErrorReader?) {
        awaitsDecoding = true
        self.serviceErrors = serviceErrors
    }
}

/// Reads the error that a body describes in the envelope of a client. A reference, because each request carries it.
package final class ServiceErrorReader: Sendable {
    /// Returns `nil` if the body describes no error, or is no such envelope.
    package let read: @Sendable (Data) -> ServiceError?

    package init(_ read: @escaping @Sendable (Data) -> ServiceError?) { self.read = read }
}

/// The limits that apply to each exchange of a stack, unless its request has its own.
package final class StackLimits: Sendable {
    package let limits: PhaseTimeouts

    package init(_ limits: PhaseTimeouts) { self.limits = limits }
}

extension Request {
    /// Restores what a layer has changed of the call: the deadline, the event sink and the notes are those of `outer` again.
    ///
    /// A different request, which a layer has sent in between, is left as it is.
    mutating func restoreCall(of outer: Request) {
        guard id == outer.id else { return }
        deadline = outer.deadline
        options.restoreCall(of: outer.options)
    }

    /// Removes the call: its deadline, its event sink and its notes, except for the coding of JSON, by which the body of a failure is read.
    mutating func leaveCall() {
        deadline = nil
        options.eventSink = nil
        let json = options.call.json
        options.call = CallState()
        options.call.json = json
    }

    /// Sends a request that was made of this one, and restores its call on the way out.
    func restoringCall(_ send: () async throws -> Response) async throws -> Response {
        do {
            var response = try await send()
            response.request.restoreCall(of: self)
            return response
        } catch {
            throw error.restoringCall(of: self)
        }
    }
}

extension Error {
    /// Returns the error, with the call of its request restored as the layer got it.
    ///
    /// - Parameter outer: the request as the layer got it.
    func restoringCall(of outer: Request) -> any Error {
        guard var failure = self as? any RequestFailure, var request = failure.request, request.id == outer.id,
            request.options.callStamp != outer.options.callStamp
        else { return self }
        request.restoreCall(of: outer)
        failure.request = request
        guard var error = failure as? StatusError else { return failure }
        error.refused.request.restoreCall(of: outer)
        return error
    }

    /// The error without the notes of its call, so that sending its request again begins a new call.
    var withoutCall: any Error {
        guard var failure = self as? any RequestFailure, failure.request != nil else { return self }
        failure.request?.leaveCall()
        guard var error = failure as? StatusError else { return failure }
        error.refused.request.leaveCall()
        return error
    }
}
