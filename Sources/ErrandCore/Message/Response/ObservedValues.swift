// Middleware sets these values, and observers read them: request numbers, resend counts, redirects and shared exchanges. The
// values are declared here, so that middleware and observers do not need each other's modules.

private enum RequestNumberKey: MetadataKey, CrossOriginOptionKey {
    static var defaultValue: Int? { nil }
    static func identity(of value: Int?) -> OptionIdentity { .ignored }
}

private enum ResendCountKey: CrossOriginOptionKey {
    static var defaultValue: Int { 0 }
    static func identity(of value: Int) -> OptionIdentity { .ignored }
}

private enum NetworkWaitKey: CrossOriginOptionKey {
    static var defaultValue: NetworkWait? { nil }
    static func identity(of value: NetworkWait?) -> OptionIdentity { .ignored }
}

/// The value is part of the identity, because `baggage` depends on the value.
private enum HasLeftOriginKey: CrossOriginOptionKey {
    static var defaultValue: Bool { false }
}

private enum RedirectsKey: MetadataKey { static var defaultValue: [RedirectRecord] { [] } }
private enum CoalescedIntoKey: MetadataKey { static var defaultValue: RequestID? { nil } }

extension RequestOptions {
    /// The number of the request for logs and events, which `NumberMiddleware` sets; `nil` if the stack lacks that middleware.
    public var requestNumber: Int? {
        get { self[RequestNumberKey.self] }
        set { self[RequestNumberKey.self] = newValue }
    }

    /// The number of times that the request was sent before, for layers that see each attempt: 0 for the first attempt. Retries,
    /// redirects and all other repetitions count.
    public var resendCount: Int {
        get { self[ResendCountKey.self] }
        set { self[ResendCountKey.self] = newValue }
    }

    /// The time that the earlier attempts of the call have waited for a network; `nil` if no attempt has waited.
    package var networkWait: NetworkWait? {
        get { self[NetworkWaitKey.self] }
        set { self[NetworkWaitKey.self] = newValue }
    }

    /// Whether a redirect has led to another origin, or the absolute URL of the request has another origin than `server`.
    public package(set) var hasLeftOrigin: Bool {
        get { self[HasLeftOriginKey.self] }
        set { self[HasLeftOriginKey.self] = newValue }
    }
}

/// The time that the attempts of a call have waited for a network.
package struct NetworkWait: Sendable {
    /// The time that all attempts together have waited.
    package var elapsed: Duration
    /// The resend count of the latest attempt. A request with the same count is a new call, and not a later attempt.
    package var resendCount: Int

    package init(elapsed: Duration, resendCount: Int) { (self.elapsed, self.resendCount) = (elapsed, resendCount) }
}

extension RequestOptions {
    /// Whether an outer layer follows the redirect of a response. Use this property in your own layer that follows redirects.
    ///
    /// A middleware that follows redirects sets this property for its inner layers, so that observers don't record a redirect as
    /// a failure. When the middleware returns, the property has its earlier value again.
    public var redirectsAreFollowed: Bool {
        get { call.redirectsAreFollowed }
        set { call.redirectsAreFollowed = newValue }
    }

    /// Whether no layer may follow a redirect, because the request has secrets only for the first server.
    public var forbidsRedirects: Bool {
        get { call.forbidsRedirects }
        set { call.forbidsRedirects = newValue }
    }
}

extension ResponseMetadata {
    /// The number of the request of this response, which `NumberMiddleware` sets; `nil` if the stack lacks that middleware.
    public var requestNumber: Int? {
        get { self[RequestNumberKey.self] }
        set { self[RequestNumberKey.self] = newValue }
    }

    /// The followed redirects, and the other changes of the URL, in order.
    public var redirects: [RedirectRecord] {
        get { self[RedirectsKey.self] }
        set { self[RedirectsKey.self] = newValue }
    }

    /// The request whose exchange this response shares; `nil` if the response has its own exchange.
    public var coalescedInto: RequestID? {
        get { self[CoalescedIntoKey.self] }
        set { self[CoalescedIntoKey.self] = newValue }
    }
}
