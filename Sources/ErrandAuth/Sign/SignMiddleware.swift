#if Auth
public import ErrandCore

/// Signs requests in their final form, as they are sent.
///
/// ```swift
/// struct TimestampSigner: RequestSigner {
///     let key: SymmetricKey
///
///     func sign(_ request: inout Request) async throws {
///         let seconds = "\(Int(Date().timeIntervalSince1970))"
///         let code = HMAC<SHA256>.authenticationCode(for: Data((request.head.path! + seconds).utf8), using: key)
///         request.headers[.custom("X-Timestamp")] = seconds
///         request.headers[.custom("X-Signature")] = Data(code).base64EncodedString()
///     }
/// }
/// ```
public protocol RequestSigner: Sendable {
    /// The name of this signer in the description of a stack, without secrets: `awsV4`. By default, the name of the type.
    var label: String { get }
    /// Adds the signature.
    ///
    /// The fields are complete, except for the fields that the transport adds: `Host`, `Content-Length` and `Transfer-Encoding`.
    ///
    /// A field with a secret must have a sensitive name (``/ErrandCore/Sensitivity``), or be declared in `request.options.sensitivity`.
    ///
    /// - Throws: any error. The attempt fails with this error.
    func sign(_ request: inout Request) async throws
}

extension RequestSigner {
    /// The name of the type.
    public var label: String { "\(Self.self)" }
}

/// Signs each attempt with a ``RequestSigner``, after all other layers.
///
/// A private `cache` does not store a response to a request with a signature in a sensitive field, unless the app names the account of the
/// signature in ``/ErrandCore/RequestOptions/credentialIdentity``.
///
/// ```swift
/// let stack = HTTPStack.bare
///     .sign(with: .awsV4(credentials, region: "eu-central-1", service: "s3"))
///     .retry()
///     .server("https://bucket.s3.eu-central-1.amazonaws.com")
/// ```
///
/// **Place:** innermost, directly around the transport. Each attempt gets a new signature, so that the time in the signature is
/// right.
///
/// **Origins that get a signature:** the origins in `origins`; if `origins` is `nil`, the origin that each request itself
/// names. ``AuthenticateMiddleware`` has the same rule.
///
/// **Per request:** with `request.options.sign = .off`, a request is not signed. With `.use(signer)`, the given signer signs
/// the request.
public struct SignMiddleware: HTTPMiddleware {
    private let signer: any RequestSigner
    private let scope: CredentialScope

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - signer: the signer of all requests.
    ///   - origins: the only origins whose requests are signed; `nil`, the default, allows the origin that each request itself
    ///     names.
    public init(_ signer: any RequestSigner, origins: Set<Origin>? = nil) {
        (self.signer, scope) = (signer, CredentialScope(origins: origins))
    }

    public var place: MiddlewarePlace { .sign }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .inside(.server, because: "the request would be signed without its URL"),
            .inside(.retry, because: "a retried request would carry an old signature"),
            .inside(.redirect, because: "the next hop would carry the signature of the first hop"),
            .inside(.compressRequests, because: "the body would change after it was signed"),
            .inside(.authenticate, because: "the credentials would not be signed"),
            .inside(.cookies, because: "the cookies would not be signed"),
            .inside(.decompress, because: "Accept-Encoding would be added after the request was signed"),
            .inside(.cache, because: "requests that the cache can serve would be signed, and the cache would change signed requests"),
            .inside(.coalesce, because: "coalesce would find no equal requests, because their signatures differ"),
            .inside(.hedge, because: "the second request would carry the signature of the first"),
            .inside(.rateLimit, because: "the signature would grow old in the queue"),
            .inside(.concurrencyLimit, because: "the signature would grow old in the queue"),
            .inside(.trace, because: "the trace fields would be added after the request was signed"),
        ]
    }

    public var label: String { "sign(\(signer.label))" }

    /// Signs the request and sends it.
    ///
    /// - Throws: the errors of the signer and of `next`.
    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard let signer = request.options.sign.resolved(signer), scope.includes(request) else { return try await next.send(request) }
        var signed = request
        signed.head = request.headWithFallbacks
        do {
            try await signer.sign(&signed)
        } catch var error as AuthenticationError {
            if error.request == nil { error.request = request }
            throw error
        }
        return try await next.send(signed)
    }
}

private enum SignOptionKey: OptionKey {
    static var defaultValue: OptionOverride<any RequestSigner> { .inherited }
    static var requiredMiddleware: MiddlewarePlace { .sign }
}

extension RequestOptions {
    /// Replaces the stack's signer for this request. `.off`: the request is not signed. Default: `.inherited`, the stack's signer.
    /// A redirect to another origin removes this option.
    public var sign: OptionOverride<any RequestSigner> {
        get { self[SignOptionKey.self] }
        set { self[SignOptionKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Signs each attempt. See ``SignMiddleware``.
    ///
    /// - Parameters:
    ///   - signer: the signer of all requests.
    ///   - origins: the only origins whose requests are signed; `nil`, the default, allows the origin that each request itself
    ///     names.
    public func sign(with signer: some RequestSigner, origins: Set<Origin>? = nil) -> HTTPStack {
        wrapped(by: SignMiddleware(signer, origins: origins))
    }
}
#endif
