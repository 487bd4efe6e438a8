public import ErrandCore
internal import ErrandFormats

/// Adds the field `User-Agent` ([RFC 9110, section 10.1.5](https://www.rfc-editor.org/rfc/rfc9110#section-10.1.5)), which some servers
/// require.
///
/// `HTTPStack.default` has this middleware with the value ``standard``. To send the name of your app in place of this value, write:
///
/// ```swift
/// let stack = HTTPStack.default.userAgent("Shop/2.1")
/// ```
///
/// **Place:** outside `redirect` and `authenticate`, so that every request of a call has the field. A field that the request or an outer
/// `server` has set is kept.
///
/// **Over URLSession:** if a request has no `User-Agent`, `URLSession` adds its own value. `URLSession` can't send a request without the
/// field.
///
/// **Per request:** set `request.options.userAgent` to a value such as `.use("Shop/2.1 (nightly)")`, or to `.off` to add no
/// field.
public struct UserAgentMiddleware: HTTPMiddleware {
    /// The name and the version of this library: `Errand/0.1`. This text names neither the app nor the device.
    public static let standard = "Errand/0.1"

    private let value: String?

    /// Creates the middleware.
    ///
    /// - Parameter value: product names with versions, such as `Shop/2.1 Errand/0.1`. Write the most important product first. `nil`: this
    ///   middleware adds no field, but `URLSession` adds its own value. If the value is invalid, each request fails. The initializer does
    ///   not trap, because the value may come from a configuration.
    public init(_ value: String? = standard) { self.value = value }

    public var place: MiddlewarePlace { .userAgent }
    public var label: String { value.map { "userAgent(\($0.shownSafely()))" } ?? "userAgent(off)" }

    /// Sends the request with the field.
    ///
    /// - Throws: ``/ErrandCore/InvalidFieldError`` if the value has a control character except tabs, or begins or ends with a space or a
    ///   tab; and the errors of `next`.
    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        let option = request.options.userAgent
        guard request.headers[.userAgent] == nil, let value = option.resolved(value ?? ""), !value.isEmpty else {
            return try await next.send(request)
        }
        var request = request
        try request.headers.set(.userAgent, value)
        return try await next.send(request)
    }
}

private enum UserAgentOptionKey: CrossOriginOptionKey {
    static var defaultValue: OptionOverride<String> { .inherited }
    static func identity(of value: OptionOverride<String>) -> OptionIdentity { .ignored }
    static var requiredMiddleware: MiddlewarePlace { .userAgent }
}

extension RequestOptions {
    /// Replaces the stack's `User-Agent` for this request. `.off`: the stack adds no field, but `URLSession` adds its own value. Default:
    /// `.inherited`, the stack's value. If the value is invalid, the request fails with an ``/ErrandCore/InvalidFieldError``.
    public var userAgent: OptionOverride<String> {
        get { self[UserAgentOptionKey.self] }
        set { self[UserAgentOptionKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Adds the field `User-Agent`. See ``UserAgentMiddleware``.
    ///
    /// - Parameter value: product names with versions, such as `Shop/2.1`. `nil`: the stack adds no field, but `URLSession` adds its own
    ///   value. If the value is invalid, each request fails with an ``/ErrandCore/InvalidFieldError``.
    public func userAgent(_ value: String?) -> HTTPStack { wrapped(by: UserAgentMiddleware(value)) }
}
