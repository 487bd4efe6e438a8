/// A change of the URL during a call, usually a redirect that was followed. No part of a record contains a secret.
///
/// ```swift
/// for hop in response.metadata.redirects where !hop.isInternal {
///     print(hop.status.code, hop.from, hop.to, hop.headerFields[.location] ?? "")
/// }
/// ```
public struct RedirectRecord: Sendable, Hashable {
    /// The reason for a change of the URL. New reasons may be added.
    public struct Reason: Sendable, Hashable, CustomStringConvertible {
        /// The reason in words.
        public let description: String

        private init(_ description: String) { self.description = description }

        /// A response of the server asked for the change.
        public static let redirect = Reason("redirect")
        /// The host had asked for https in an earlier response ([RFC 6797](https://www.rfc-editor.org/rfc/rfc6797)). The client
        /// changed the URL before the request was sent.
        public static let hsts = Reason("HSTS")
    }

    /// Credentials that the app sent to another origin on purpose.
    public struct KeptCredentials: Sendable, Hashable {
        /// The origin that got the credentials.
        public let origin: Origin
        /// The reason that the code of the app gives for sending the credentials.
        public let reason: String

        /// Creates a record of kept credentials.
        ///
        /// - Parameters:
        ///   - origin: the origin that got the credentials.
        ///   - reason: the reason, without secrets.
        public init(origin: Origin, reason: String) { (self.origin, self.reason) = (origin, reason) }
    }

    /// The status of the redirect: 301, 302, 303, 307 or 308. If there was no response (``isInternal``), the status is 307, because the
    /// method and the body stay unchanged.
    public let status: HTTPResponse.Status
    /// The method of the request that was redirected. `nil` if there was no response (``isInternal``), or if the layer that follows
    /// redirects records no method.
    public let method: HTTPRequest.Method?
    /// The URL that was redirected, without secrets.
    public let from: String
    /// The URL that was requested next, without secrets.
    public let to: String
    /// The reason for the change.
    public let reason: Reason
    /// The header fields of the redirect, with secret values replaced: ``Sensitivity/redacted(_:)``. Empty if there was no
    /// response (``isInternal``).
    public let headerFields: HTTPFields
    /// The credentials that the app sent to another origin on purpose; `nil` if the redirect removed all credentials, or stayed
    /// at its origin.
    public let keptCredentials: KeptCredentials?

    /// Whether the client changed the URL itself, without a response of the server.
    public var isInternal: Bool { reason != .redirect }

    /// Creates a record of a change of the URL.
    ///
    /// - Parameters:
    ///   - status: the status of the redirect; 307 if there was no response.
    ///   - method: the method of the request that was redirected. Default: `nil`.
    ///   - from: the URL that was redirected, without secrets: ``Request/redactedURL``.
    ///   - to: the URL that was requested next, without secrets.
    ///   - reason: the reason for the change. Default: ``Reason/redirect``.
    ///   - headerFields: the header fields of the redirect, without secrets: ``Sensitivity/redacted(_:)``. Default: no fields.
    ///   - keptCredentials: the credentials that the app sent to another origin on purpose. Default: `nil`.
    public init(
        status: HTTPResponse.Status, method: HTTPRequest.Method? = nil, from: String, to: String, reason: Reason = .redirect,
        headerFields: HTTPFields = HTTPFields(), keptCredentials: KeptCredentials? = nil
    ) {
        (self.status, self.method, self.from, self.to, self.reason) = (status, method, from, to, reason)
        (self.headerFields, self.keptCredentials) = (headerFields, keptCredentials)
    }
}

extension [RedirectRecord] {
    /// Returns text for the end of a message, if redirects were followed: `; redirected from GET https://a.example/old (2 hops)`. The text
    /// names the first request, which is the request of the app's code. Empty if no redirect was followed.
    ///
    /// - Parameter request: the last request, whose sensitive names also apply to the URL. `nil` if this request is not known.
    package func shown(before request: Request?) -> String {
        let hops = filter { !$0.isInternal }
        guard let first, let method = hops.first.map({ $0.method.map { "\($0.rawValue) " } ?? "" }) else { return "" }
        let url = (request?.options.sensitivity ?? .standard).redactedURL(first.from).shownSafely(limit: 500)
        return "; redirected from \(method)\(url) (\(hops.count.counted("hop")))"
    }
}
