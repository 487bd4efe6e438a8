public import ErrandCore

/// Measures each inner layer and each phase of every exchange. The result is a ``/ErrandCore/CallProfile``.
///
/// ```swift
/// let stack = transport.timeout(.seconds(30)).profile()
/// let response = try await stack.send(request)
/// _ = try await response.body.collect()
/// print(response.metadata.profile!)
/// // timeout(30 s)                   84 ms  own    0.013 ms  200
/// //   NIOTransport                  84 ms  200
/// //     GET https://a.example/, HTTP/2, new connection 1
/// //     connect                     52 ms
/// //     send                     0.041 ms
/// //     wait                        31 ms
/// //     receive                   0.54 ms  5120 bytes
/// // 1 request, 84 ms from the first request to the last byte, 84 ms in all, 200
/// ```
///
/// The call ends with its last exchange. A typed call ends when its value was decoded, or when decoding failed. See
/// ``/ErrandCore/CallProfile/duration`` and ``/ErrandCore/CallProfile/result``.
///
/// **Place:** outside the layers to measure. The measurement costs a few microseconds for each layer. A stack without this middleware has
/// no measurement cost.
///
/// **Per request:** set `request.options.profile` to `.off`, or to `.use(profile)` with a profile that you keep. The profile is
/// filled even if the call fails.
public struct ProfileMiddleware: HTTPMiddleware {
    /// Creates the middleware.
    public init() {}

    public var place: MiddlewarePlace { .profile }
    public var appliesToPreparedRequests: Bool { false }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .outside(.redirect, because: "each hop would have a separate profile"),
            .outside(.retry, because: "each attempt would have a separate profile"),
        ]
    }

    public var label: String { "profile" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        let profile: CallProfile
        switch request.options.profile {
        case .off: return try await next.send(request)
        case .inherited: profile = CallProfile()
        case .use(let own): profile = own
        }
        var profiled = request
        profiled.options.call.profilePosition = ProfilePosition(profile, nil)
        return try await next.send(profiled, observedBy: Profiled(profile: profile))
    }

    private struct Profiled: CallObserver, EventSink {
        let profile: CallProfile

        var eventSink: (any EventSink)? { self }

        func receive(_ response: inout Response, isRefused: Bool, awaitsReader: Bool) { response.metadata.profile = profile }

        func end(_ outcome: CallOutcome, at mark: Void) { profile.end(outcome) }

        func record(_ event: ExchangeEvent) {
            if event.kind == .redirectDecision, event.decision?.continues == true { profile.redirected() }
        }
    }
}

private enum ProfileOptionKey: CrossOriginOptionKey {
    static var defaultValue: OptionOverride<CallProfile> { .inherited }
    static func identity(of value: OptionOverride<CallProfile>) -> OptionIdentity { .ignored }
    static var requiredMiddleware: MiddlewarePlace { .profile }
}

private enum ProfileKey: MetadataKey { static var defaultValue: CallProfile? { nil } }

extension RequestOptions {
    /// The profile to fill for this request, in place of a new profile. `.off`: no profile. Default: `.inherited`: each call has
    /// a new profile. The option requires ``ProfileMiddleware`` in the stack.
    public var profile: OptionOverride<CallProfile> {
        get { self[ProfileOptionKey.self] }
        set { self[ProfileOptionKey.self] = newValue }
    }
}

extension ResponseMetadata {
    /// The measured times of the call's layers and phases; `nil` if the stack has no ``ProfileMiddleware``.
    public internal(set) var profile: CallProfile? {
        get { self[ProfileKey.self] }
        set { self[ProfileKey.self] = newValue }
    }

    /// The measured times of the call's exchanges so far. The times are complete after the body was read. `nil` without
    /// ``ProfileMiddleware``.
    public var timings: CallTimings? { profile?.timings }
}

extension HTTPSender {
    /// Measures every layer and every phase of each call. See ``ProfileMiddleware``.
    ///
    /// ```swift
    /// let stack = transport.retry().profile()
    /// ```
    public func profile() -> HTTPStack { wrapped(by: ProfileMiddleware()) }
}
