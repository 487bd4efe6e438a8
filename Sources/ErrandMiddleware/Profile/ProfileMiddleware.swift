public import ErrandCore

/// Takes the time of each layer inside it, and of each phase of every exchange: a ``CallProfile``.
///
/// The call as a whole ends with its last exchange, a typed call when its value was decoded or decoding failed: see ``CallProfile/duration`` and
/// ``CallProfile/result``.
///
/// **Place:** outside what is to be measured. It costs a few microseconds for each layer; without it, a layer costs nothing more.
///
/// **Per request:** `request.options.profile = .off`, or `.use(profile)` with one that you keep, also where the call fails.
public struct ProfileMiddleware: HTTPMiddleware {
    public init() {}

    public var place: MiddlewarePlace? { .profile }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .outside(.redirect, because: "each hop would have a profile of its own"),
            .outside(.retry, because: "each attempt would have a profile of its own"),
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
        profiled.options.eventSink = EventSinks.together(request.options.eventSink, RedirectCounter(profile: profile))
        var response: Response
        do {
            response = try await next.send(profiled)
        } catch {
            profile.end(error)
            throw error.restoringCall(of: request)
        }
        response.metadata.profile = profile
        response.restoreCall(of: request)
        let status = response.head.status
        response.onCallEnd(of: request, mark: {}) { report in
            if let failure = report.failure { profile.end(failure) } else { profile.end("\(status.code)") }
        }
        return response
    }

    private struct RedirectCounter: EventSink {
        let profile: CallProfile

        func record(_ event: ExchangeEvent) {
            if event.kind == .redirectDecision, event.decision?.continues == true { profile.redirected() }
        }
    }
}

private enum ProfileOptionKey: OptionKey {
    static var defaultValue: OptionOverride<CallProfile> { .inherited }
    static func identity(of value: OptionOverride<CallProfile>) -> OptionIdentity { .none }
    static var crossesOrigins: Bool { true }
    static var servedBy: MiddlewarePlace? { .profile }
}

private enum ProfileKey: MetadataKey { static var defaultValue: CallProfile? { nil } }

extension RequestOptions {
    /// A profile of your own for this request, or `.off`. It needs ``ProfileMiddleware`` in the stack.
    public var profile: OptionOverride<CallProfile> {
        get { self[ProfileOptionKey.self] }
        set { self[ProfileOptionKey.self] = newValue }
    }
}

extension ResponseMetadata {
    /// Where the time of the call went; nil without ``ProfileMiddleware``.
    public internal(set) var profile: CallProfile? {
        get { self[ProfileKey.self] }
        set { self[ProfileKey.self] = newValue }
    }

    /// What the exchanges of the call took, as far as they have come: whole once the body was read. Nil without ``ProfileMiddleware``.
    public var timings: CallTimings? { profile?.timings }
}

extension HTTPSender {
    /// Takes the time of every layer and every phase of each call. See ``ProfileMiddleware``.
    public func profile() -> HTTPStack { wrapped(by: ProfileMiddleware()) }
}
