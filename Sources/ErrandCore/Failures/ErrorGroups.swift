// Properties of any error, for a `catch … where` clause. If a token could not be refreshed, the properties describe the failure of
// the refresh.

extension Error {
    /// Whether the server could not be reached, or the connection to the server was lost.
    ///
    /// True for ``TransportError`` with the codes `notConnected`, `cannotFindHost`, `cannotConnect` and `connectionLost`, and with
    /// `timedOut` in the phases ``ExchangePhase/connect`` and ``ExchangePhase/connectivity``. The property is also true if the refresh of a
    /// token failed with one of these errors. False for a failure of TLS or of a proxy, and for a timeout in another phase.
    ///
    /// With `connectionLost`, the server was reached and may have processed the request: check ``RequestFailure/delivery`` before
    /// you send the request again.
    ///
    /// ```swift
    /// } catch where error.isConnectivityError {
    ///     showBanner("The server can't be reached.")
    /// }
    /// ```
    public var isConnectivityError: Bool {
        guard let error = decidingError as? TransportError else { return false }
        return error.code.isOfConnection || error.code == .timedOut && [.connect, .connectivity].contains(error.phase)
    }

    /// Whether the device is known to be offline.
    ///
    /// True for ``TransportError`` with the code `notConnected`, and with `timedOut` in the phase ``ExchangePhase/connectivity``. The
    /// property is also true if the refresh of a token failed with one of these errors. If this property is true, ``isConnectivityError``
    /// is true too. False if a host name could not be looked up: the device may be offline, but the cause is not known. With
    /// `waitForNetwork` in the stack, the cause is known: the property is true if no network path was available after the wait.
    ///
    /// ```swift
    /// } catch where error.isOffline {
    ///     showBanner("This device is offline.")
    /// } catch where error.isConnectivityError {
    ///     showBanner("The server can't be reached.")
    /// }
    /// ```
    public var isOffline: Bool {
        guard let error = decidingError as? TransportError else { return false }
        return error.code == .notConnected || error.code == .timedOut && error.phase == .connectivity
    }

    /// Whether the same call may succeed later, without a change by the app, the user or the server's operator.
    ///
    /// True for:
    /// - ``TransportError`` with the codes `notConnected`, `cannotFindHost`, `cannotConnect`, `connectionLost` and `timedOut`, in any
    ///   phase
    /// - ``StatusError`` with a status for which `HTTPResponse.Status.isTransient` is true, except the 504 of a cache that has no usable
    ///   response
    /// - a refresh of a token that failed with one of these errors of the transport
    /// - polling whose timeout passed
    ///
    /// False for:
    /// - a failure of TLS or of a proxy
    /// - an error in an envelope (``ServiceError``)
    /// - a failed refresh of a token, even if the response to the refresh had the status 503
    /// - a refusal by a layer of the client (``TemporaryRefusal``). A ``TemporaryFailure`` also covers these refusals
    ///
    /// ``mayHaveBeenProcessed`` says whether the server may have processed the request. In your own retry, check both properties:
    ///
    /// ```swift
    /// } catch where error.isTransient && request.mayBeSentAgain(after: error) {
    /// ```
    public var isTransient: Bool {
        isTimeout || (decidingError as? TransportError)?.code.isTransient == true || (self as? StatusError)?.refused.isTransient() == true
    }

    /// Whether a server may have processed the request.
    ///
    /// False for a ``RequestFailure`` with the delivery ``Delivery/notSent``, for ``InvalidURLError`` and for
    /// ``InvalidFieldError``; true for any other error.
    public var mayHaveBeenProcessed: Bool { Delivery(of: self) != .notSent }

    /// Whether a deadline or a timeout of the client passed, in any phase.
    ///
    /// True for ``TransportError`` with the code `timedOut`, and for the error of polling after its timeout has passed. The property is
    /// also true if the refresh of a token failed because of a timeout. False for the statuses 408 and 504, because the server responded.
    public var isTimeout: Bool {
        let error = decidingError
        return (error as? TransportError)?.code == .timedOut || (error as? any TimeoutFailure)?.isFailureOfTimeout == true
    }

    /// Whether the call was cancelled: true for `CancellationError`.
    public var isCancellation: Bool { self is CancellationError }

    /// Whether the call failed because of a response with a status from 400 to 499.
    ///
    /// True for a ``StatusError`` or a ``ServiceError`` with one of these statuses (``ServiceError/equivalentStatus``), and for the error
    /// of a response validator whose retries are used up. The property is also true if the refresh of a token failed with one of these
    /// statuses.
    public var isClientError: Bool { refusedStatus?.kind == .clientError }

    /// Whether the server requires credentials, or refused the credentials of the request: the status 401.
    ///
    /// True for ``StatusError`` with the status 401, and for ``ServiceError`` if its ``ServiceError/equivalentStatus`` is 401. If a
    /// ``ServiceError`` has no equivalent status, the status of its response counts. If the refresh of a token failed with the status 401,
    /// the property is true. If the refresh failed because of the network or with another status, the property is false.
    public var isUnauthorized: Bool { refusedStatus == .unauthorized }

    /// Whether a person must sign in before the call can succeed.
    ///
    /// True for:
    /// - an error for which ``isUnauthorized`` is true
    /// - a request that was not sent, because nobody is signed in
    /// - a token that can't be refreshed, because the server refuses to refresh the token or there is no refresh token
    /// - a sign-in of a device that has expired
    /// - a damaged file of a token
    ///
    /// False if a token could not be refreshed for a temporary reason, such as a lost network.
    ///
    /// ```swift
    /// } catch where error.needsSignIn {
    ///     showSignIn()
    /// }
    /// ```
    public var needsSignIn: Bool { (self as? any SignInFailure)?.isFailureOfMissingSignIn ?? isUnauthorized }

    /// Whether the call failed because of a response with a status from 500 to 599.
    ///
    /// True for a ``StatusError`` or a ``ServiceError`` with one of these statuses (``ServiceError/equivalentStatus``), and for the error
    /// of a response validator whose retries are used up. The property is also true if the refresh of a token failed with one of these
    /// statuses. The property is false for the 504 of a cache that has no usable response.
    public var isServerError: Bool { refusedStatus?.kind == .serverError }

    /// The status that made the call fail; `nil` if the call failed for another reason.
    var refusedStatus: HTTPResponse.Status? {
        // A transport failure can also have the head of a response, but the status in that head is not the cause of the
        // failure.
        guard let failure = decidingError as? any RequestFailure, failure.phase == .response, !(failure is TransportError),
            (failure as? StatusError)?.isUnavailable != true
        else { return nil }
        return (failure as? ServiceError)?.equivalentStatus ?? failure.response?.status
    }
}

extension Error {
    /// The error that decides these properties: the failure of the refresh if a token could not be refreshed, otherwise this
    /// error.
    var decidingError: any Error { (self as? any DependentFailure)?.decidingFailure?.decidingError ?? self }
}

/// A failure whose cause may be the failure of another call. Error types of other modules conform to this protocol.
///
/// If another call caused the failure, `isTransient`, `isTimeout` and similar properties describe the failure of the other call.
public protocol DependentFailure: RequestFailure {
    /// The failure of the other call; `nil` if no other call caused this failure.
    var decidingFailure: (any RequestFailure)? { get }
}

/// A failure whose cause may be a deadline or a timeout. Error types of other modules conform to this protocol.
public protocol TimeoutFailure: RequestFailure {
    /// Whether a deadline or a timeout of the client was the cause.
    var isFailureOfTimeout: Bool { get }
}

/// A failure that knows whether a person must sign in. Error types of other modules conform to this protocol.
public protocol SignInFailure: Error {
    /// Whether the call can succeed only after a person has signed in.
    var isFailureOfMissingSignIn: Bool { get }
}
