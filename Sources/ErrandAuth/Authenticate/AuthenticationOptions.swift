#if Auth
public import ErrandCore

/// The decision that the closure ``RequestOptions/onChallenge`` returns for a challenge.
public enum ChallengeDisposition: Sendable {
    /// The scheme of the stack responds, as for a request without a handler.
    case useScheme
    /// This scheme responds, but only to this challenge.
    case use(any AuthenticationScheme)
    /// The response is returned to the caller.
    case returnResponse
}

/// Decides about a challenge of a server, for example by asking a person for a password.
public typealias ChallengeHandler = @Sendable (ServerChallenge) async throws -> ChallengeDisposition

private enum AuthenticateOptionKey: OptionKey {
    static var defaultValue: OptionOverride<any AuthenticationScheme> { .inherited }
    static var requiredMiddleware: MiddlewarePlace { .authenticate }
}

private enum OnChallengeKey: OptionKey {
    static var defaultValue: ChallengeHandler? { nil }
    static var requiredMiddleware: MiddlewarePlace { .authenticate }
}

extension RequestOptions {
    /// Replaces the stack's authentication scheme for this request. `.off`: no credentials are added. Default: `.inherited`, the
    /// stack's scheme. A redirect to another origin removes this option.
    ///
    /// ```swift
    /// request.options.authenticate = .use(.basic(user: "joe", password: password))
    /// ```
    ///
    /// If the stack has no `authenticate`, the request fails with ``/ErrandCore/UnsupportedOptionError``.
    public var authenticate: OptionOverride<any AuthenticationScheme> {
        get { self[AuthenticateOptionKey.self] }
        set { self[AuthenticateOptionKey.self] = newValue }
    }

    /// The handler of each challenge to this request, which runs before the scheme responds. `nil`, the default: only the
    /// scheme responds.
    ///
    /// To use a password for later requests too, keep one scheme, such as `.password(user:password:)`, in the app. Set that scheme
    /// as the option ``authenticate`` of the requests.
    ///
    /// ```swift
    /// request.options.onChallenge = { challenge in
    ///     guard let password = await askForPassword(challenge.challenges.first?.realm) else { return .returnResponse }
    ///     return .use(.basic(user: "joe", password: password))
    /// }
    /// ```
    ///
    /// If the stack has no `authenticate`, the request fails with ``/ErrandCore/UnsupportedOptionError``.
    public var onChallenge: ChallengeHandler? {
        get { self[OnChallengeKey.self] }
        set { self[OnChallengeKey.self] = newValue }
    }
}

extension RequestOptions {
    /// Whether the request has its own scheme or handler.
    var hasAuthenticationOption: Bool {
        if case .inherited = authenticate { onChallenge != nil } else { true }
    }
}

/// A reason for which a challenge is returned to the caller.
public enum AuthenticationStop: String, Sendable, Hashable {
    /// The scheme has no response to any of the challenges.
    case noCredentials
    /// The server has refused the proof, and the scheme has no other proof.
    case refused
    /// The body of the request can be read only once.
    case bodyCannotBeReplayed
    /// The app has set the scheme's field (`Authorization`) in the request, and the server has refused that field.
    case ownCredentials
    /// The credentials belong to another origin.
    case otherOrigin
    /// The request's handler returned the response: ``ChallengeDisposition/returnResponse``.
    case declined
    /// The server asked for credentials more than 20 times in this call.
    case tooManyRounds
}

private enum AuthenticationStopKey: MetadataKey { static var defaultValue: AuthenticationStop? { nil } }

extension ResponseMetadata {
    /// The reason for which `authenticate` returned a challenge of the server, such as a 401; `nil` if the response is not a challenge.
    public var authenticationStop: AuthenticationStop? {
        get { self[AuthenticationStopKey.self] }
        set { self[AuthenticationStopKey.self] = newValue }
    }
}
#endif
