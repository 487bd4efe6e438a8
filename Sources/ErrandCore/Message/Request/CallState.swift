/// The state that the layers of a call share. The request of the call carries the state.
///
/// A layer may change this state, the deadline or the event sink for its inner layers. When the layer returns a response or throws a
/// failure, the layer undoes its changes in the request of the response or the failure. If the app sends that request again, a new call
/// begins, without the limits and observers of the old call.
package struct CallState: Sendable {
    /// Whether the request has entered its outermost stack: its options were checked, and its timeout was set.
    var hasEntered = false
    /// Whether a middleware has set the deadline of this attempt by ``RequestOptions/attemptTimeout``.
    package var hasAttemptDeadline = false
    /// Whether the response will be decoded, so that the call ends later than its exchange: see ``CallObserver``.
    package var awaitsDecoding = false
    /// Whether an outer layer follows a redirect that a response asks for.
    var redirectsAreFollowed = false
    /// Whether no layer may follow a redirect, because the body has secrets for the first server only.
    var forbidsRedirects = false
    /// The rule of the `validateStatus` middleware through which the request has come: see ``Request/accepts(_:)``.
    package var passedStatusRule: StatusRule?
    /// Whether content codings of the response are decoded although the request asks for `identity`. The reader of the body needs the
    /// decoded content. The request asks for `identity` only because compression by a proxy would delay the body.
    package var decodesUnrequestedCodings = false
    /// Whether no layer may change the bytes of the request's body. The offsets of a resumable upload count these bytes.
    package var keepsBodyBytes = false
    /// The request's position in the profile of its call; usually `nil`.
    package var profilePosition: ProfilePosition?
    /// The phase limits of the stack; `nil` if the stack has no `phaseTimeouts`. The type is a class, because each request carries the
    /// limits, and a reference is cheap to copy.
    package var phaseLimits: StackLimits?
    /// The JSON coding of the call's client, which decodes the response or the failure later; `nil` if the call has no client.
    package var json: JSONCoding?

    /// The nearest observer in the outer layers; `nil` if there is no such observer.
    var observation: (any CallObservation)?
    /// The reader of the back end's error in the body of a refused response; `nil` if the client has no error envelope.
    package var serviceErrors: ServiceErrorReader?

    init() {}

    /// Records that the response will be decoded.
    mutating func expectValue(_ serviceErrors: ServiceErrorReader?) {
        awaitsDecoding = true
        self.serviceErrors = serviceErrors
    }
}

/// A reader of the error that a body describes in the error envelope of a client. The type is a class, because each request carries the
/// reader, and a reference is cheap to copy.
package final class ServiceErrorReader: Sendable {
    /// A closure that returns the error; `nil` if the body is not an error envelope, or describes no error.
    package let read: @Sendable (Data) -> ServiceError?

    package init(_ read: @escaping @Sendable (Data) -> ServiceError?) { self.read = read }
}

/// The limits for each exchange of a stack. If a request has its own limits, the request's limits apply instead.
package final class StackLimits: Sendable {
    package let limits: PhaseTimeouts

    package init(_ limits: PhaseTimeouts) { self.limits = limits }
}

extension Request {
    /// Undoes the changes of a layer to the call: the request gets the deadline, the event sink and the call state of `outer`
    /// again.
    ///
    /// If a layer has sent a different request, with another ID, this function changes nothing.
    mutating func restoreCall(of outer: Request) {
        guard id == outer.id else { return }
        deadline = outer.deadline
        options.restoreCall(of: outer.options)
    }

    /// Removes the deadline, the event sink and the call state. Only the JSON coding stays, because reading the body of a
    /// failure requires the coding.
    mutating func leaveCall() {
        deadline = nil
        options.eventSink = nil
        let json = options.call.json
        options.call = CallState()
        options.call.json = json
    }

    /// Returns a copy of this request that begins a separate call through the inner layers of the same stack. The copy lacks the deadline,
    /// the event sinks and the observers of the present call. Use the copy for work that may last longer than the present call.
    package func asInnerCall() -> Request {
        var request = self
        let statusRule = options.call.passedStatusRule
        request.leaveCall()
        request.options.call.hasEntered = true
        request.options.call.passedStatusRule = statusRule
        return request
    }

    /// Runs `send`, which sends a changed copy of this request, and then restores the call: see ``restoreCall(of:)``.
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
    /// Returns the error, with `restoreCall(of:)` applied to its request.
    ///
    /// - Parameter outer: the request as the layer received it.
    func restoringCall(of outer: Request) -> any Error {
        guard var failure = self as? any RequestFailure, var request = failure.request, request.id == outer.id,
            request.options.callStamp != outer.options.callStamp
        else { return self }
        request.restoreCall(of: outer)
        failure.request = request
        return failure
    }

    /// The error without the state of its call. Sending the request of this error again begins a new call.
    var withoutCall: any Error {
        guard var failure = self as? any RequestFailure, failure.request != nil else { return self }
        failure.request?.leaveCall()
        return failure
    }
}
