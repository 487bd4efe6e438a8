// What middleware write and observers read: numbers, how often a request was sent, redirects, sharing. Here, so that neither needs the other's module.

/// One redirect that was followed.
public struct RedirectRecord: Sendable, Hashable {
    /// 301, 302, 303, 307 or 308.
    public let status: HTTPResponse.Status
    /// The URL that was redirected, without secrets.
    public let from: String

    package init(status: HTTPResponse.Status, from: String) { (self.status, self.from) = (status, from) }
}

private enum RequestNumberKey: MetadataKey, OptionKey {
    static var defaultValue: Int? { nil }
    static func identity(of value: Int?) -> OptionIdentity { .none }
    static var crossesOrigins: Bool { true }
}

private enum ResendCountKey: OptionKey {
    static var defaultValue: Int { 0 }
    static func identity(of value: Int) -> OptionIdentity { .none }
    static var crossesOrigins: Bool { true }
}

private enum HasLeftOriginKey: OptionKey {
    static var defaultValue: Bool { false }
    /// It identifies: `baggage` depends on it.
    static var crossesOrigins: Bool { true }
}

private enum RedirectsKey: MetadataKey { static var defaultValue: [RedirectRecord] { [] } }
private enum CoalescedIntoKey: MetadataKey { static var defaultValue: RequestID? { nil } }

extension RequestOptions {
    /// The number that `NumberMiddleware` gave the request; nil without that middleware.
    public package(set) var requestNumber: Int? {
        get { self[RequestNumberKey.self] }
        set { self[RequestNumberKey.self] = newValue }
    }

    /// How many times the request was sent before, for the layers that see each attempt: 0 on the first. Retries, redirects and whatever
    /// else sends it again count.
    public package(set) var resendCount: Int {
        get { self[ResendCountKey.self] }
        set { self[ResendCountKey.self] = newValue }
    }

    /// Whether a redirect led to another origin on the way.
    package var hasLeftOrigin: Bool {
        get { self[HasLeftOriginKey.self] }
        set { self[HasLeftOriginKey.self] = newValue }
    }
}

extension ResponseMetadata {
    /// The number of the request of this response; nil without `NumberMiddleware`.
    public package(set) var requestNumber: Int? {
        get { self[RequestNumberKey.self] }
        set { self[RequestNumberKey.self] = newValue }
    }

    /// The redirects that led here, in order.
    public package(set) var redirects: [RedirectRecord] {
        get { self[RedirectsKey.self] }
        set { self[RedirectsKey.self] = newValue }
    }

    /// The request that was sent for this one as well; nil where it was this one.
    public var coalescedInto: RequestID? {
        get { self[CoalescedIntoKey.self] }
        set { self[CoalescedIntoKey.self] = newValue }
    }
}
