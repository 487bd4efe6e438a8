// Questions that can be asked of any error, in a `catch … where` clause. A failure of authentication gives the answers of the failed refresh.

extension Error {
    /// Whether the server could not be reached, or the connection to it was lost.
    ///
    /// True for ``TransportError`` with the codes `cannotFindHost`, `cannotConnect` and `connectionLost`, and with `timedOut` in the phase
    /// ``ExchangePhase/connect``. True for a token that could not be refreshed because of such a failure. False for a failure of TLS or of a proxy, and
    /// for a timeout in another phase.
    ///
    /// With `connectionLost`, the server was reached and may have processed the request: ask ``RequestFailure/delivery`` before you send it again.
    ///
    /// ```swift
    /// } catch where error.isConnectivityError {
    ///     showBanner("You seem to be offline.")
    /// }
    /// ```
    public var isConnectivityError: Bool {
        guard let error = decidingError as? TransportError else { return false }
        return error.code.isOfConnection || (error.code == .timedOut && error.phase == .connect)
    }

    /// Whether the same call may succeed later, without a change by the app, the user or the server's operator.
    ///
    /// True for ``TransportError`` with the codes `cannotFindHost`, `cannotConnect`, `connectionLost` and `timedOut` in any phase, for a token that could
    /// not be refreshed because of such a failure, and for polling whose time is over. True for ``StatusError`` with a status for which
    /// `HTTPResponse.Status.isTransient` is true. False for a failure of TLS or of a proxy, for an error in an envelope, for a token that could not be
    /// refreshed because of a status, and for a refusal by a layer on this side (``TemporaryRefusal``).
    ///
    /// ``mayHaveBeenProcessed`` says whether the server may have processed the request. A retry of your own asks both:
    ///
    /// ```swift
    /// } catch where error.isTransient && request.mayBeSentAgain(after: error) {
    /// ```
    public var isTransient: Bool {
        isTimeout || (decidingError as? TransportError)?.code.isTransient == true || (self as? StatusError)?.status.isTransient == true
    }

    /// Whether a server may have processed the request: false for a ``RequestFailure`` with the delivery ``Delivery/notSent`` and for
    /// ``InvalidURLError``, true for any other error.
    public var mayHaveBeenProcessed: Bool { Delivery(of: self) != .notSent }

    /// Whether a deadline or a timeout of this side passed, in any phase.
    ///
    /// True for ``TransportError`` with the code `timedOut`, for a token that could not be refreshed because of such a failure, and for polling whose time is
    /// over. False for the statuses 408 and 504: there, the server responded.
    public var isTimeout: Bool {
        let error = decidingError
        return (error as? TransportError)?.code == .timedOut || (error as? any TimeLimitedFailure)?.exceededItsTime == true
    }

    /// Whether the call was cancelled, by its task: true for `CancellationError`.
    public var isCancellation: Bool { self is CancellationError }

    /// Whether the call failed because of a response with a status from 400 to 499.
    ///
    /// True for ``StatusError``, for a token that could not be refreshed because of such a response, and for what a response validator throws when its
    /// retries are used up.
    public var isClientError: Bool { refusedStatus?.kind == .clientError }

    /// Whether the server wants credentials, or refuses those that were sent: the status 401.
    ///
    /// True for ``StatusError`` with that status, and for ``ServiceError`` with that status or ``ServiceError/equivalentStatus``. True for a token that the
    /// server refuses to refresh after that status. False for a token that could not be refreshed because of the network or of another status.
    public var isUnauthorized: Bool { refusedStatus == .unauthorized }

    /// Whether a person has to sign in before the call can succeed.
    ///
    /// True for the status 401 as in ``isUnauthorized``, for a request that was not sent because nobody is signed in, and for a token that the server
    /// refuses to refresh. False for a token that could not be refreshed for now, because the network was down, for example.
    ///
    /// ```swift
    /// } catch where error.needsSignIn {
    ///     showSignIn()
    /// }
    /// ```
    public var needsSignIn: Bool { (self as? any SignInFailure)?.failureNeedsSignIn ?? isUnauthorized }

    /// Whether the call failed because of a response with a status from 500 to 599.
    ///
    /// True for ``StatusError``, for a token that could not be refreshed because of such a response, and for what a response validator throws when its
    /// retries are used up.
    public var isServerError: Bool { refusedStatus?.kind == .serverError }

    /// The status because of which the call failed.
    var refusedStatus: HTTPResponse.Status? {
        // A failure of the transport may have a head as well; that it failed is not because of the status.
        guard let failure = decidingError as? any RequestFailure, failure.phase == .response, !(failure is TransportError) else {
            return nil
        }
        return (failure as? ServiceError)?.equivalentStatus ?? failure.response?.status
    }
}

extension Error {
    /// The failure that decides the groups: the failure of the refresh, for a token that could not be refreshed. Otherwise, this error.
    private var decidingError: any Error { (self as? any DependentFailure)?.decidingFailure?.decidingError ?? self }
}

/// A failure of another module that may depend on the failure of another call, which then decides the groups.
public protocol DependentFailure: RequestFailure {
    /// The failure of the other call; `nil` if this failure depends on none.
    var decidingFailure: (any RequestFailure)? { get }
}

/// A failure of another module that may be one of time.
public protocol TimeLimitedFailure: RequestFailure {
    /// Whether a limit of time on this side was the cause.
    var exceededItsTime: Bool { get }
}

/// A failure of another module that knows whether a person has to sign in.
public protocol SignInFailure: Error {
    /// Whether the call can succeed after a person has signed in, and not before.
    var failureNeedsSignIn: Bool { get }
}
