public import ErrandCore

#if canImport(FoundationNetworking)
internal import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// Sends requests with `URLSession`: with the system's proxies, certificates, VPN and network policies.
///
/// ```swift
/// try await withTransport(URLSessionTransport()) { transport in
///     let response = try await transport.timeout(.seconds(10)).send(Request(.get, url: "https://a.example/"))
/// }
/// ```
///
/// The transport does not use the cache, the cookies, the stored credentials and the redirects of `URLSession`. The middleware of this
/// library does this work. A redirect is returned as a response with its body.
///
/// `URLSession` requests and decodes content codings itself, without a limit on the decoded size. A decoded response has no
/// `Content-Encoding` and no `Content-Length`. The metadata of the response has both fields as the server sent them. If the request has an
/// `Accept-Encoding` of its own, such as `identity`, the server receives that field.
///
/// On Apple's platforms, a body is received no faster than the caller reads the body. On Linux, `URLSession` receives the whole body as
/// fast as the server sends it. Therefore the transport has the capability `streamingDownload` on Apple's platforms only. On Linux, a body
/// that is a stream or a file is sent in chunks, and the response arrives only after the whole body was sent. On Linux, all other requests
/// over `URLSession` in the process wait while the stream of an upload has no bytes ready.
///
/// `URLSession` limits what a transport can do:
/// - The fields of a response have no order, and fields of one name arrive as one field. The transport separates the values of
///   `Set-Cookie` again.
/// - `URLSession` adds fields: `User-Agent`, `Accept-Language`, and `Content-Type` to a body without a media type.
/// - The fields `Host`, `Connection` and `Proxy-Authorization` belong to `URLSession`.
/// - Trailer fields and upgrades are not supported. Informational responses are reported on Linux only.
/// - A response of the type `multipart/x-mixed-replace` fails.
/// - The version of HTTP is not reported.
/// - There is no timeout for connecting. Each request ends after seven days, even without a deadline.
/// - `URLSession` may send an idempotent request again without a report. The body of a request that is not idempotent is sent only once. On
///   Linux, a request that is not idempotent and has no body uses a connection of its own, because curl repeats requests on kept
///   connections.
///
/// The stack enforces deadlines and phase limits. `URLSession` reports the times of DNS, TCP and TLS only on Apple's platforms, at the end
/// of the exchange.
public struct URLSessionTransport: HTTPTransport, CustomStringConvertible, HidesStorage {
    private let sessions: Sessions

    /// Creates a transport.
    ///
    /// - Parameters:
    ///   - configuration: the settings of the session, which are copied. Default: `.ephemeral`. These settings are always replaced: the
    ///     cache, the cookies, the stored credentials, and the timeouts.
    ///   - idleTimeout: the longest time without a byte in either direction, more than zero; `nil`, the default, if only the deadlines
    ///     of requests apply. On Linux, the time is rounded up to whole seconds.
    ///   - configure: a closure that changes each `URLRequest` just before it is sent; `nil`, the default, if nothing is changed. The
    ///     closure runs last, after the work of all layers. If the closure changes the URL or the field `Authorization`, an event of the
    ///     kind `requestChanged` is recorded.
    public init(
        _ configuration: URLSessionConfiguration = .ephemeral, idleTimeout: Duration? = nil,
        configure: (@Sendable (inout URLRequest) -> Void)? = nil
    ) {
        self.init(configuration, .system, idleTimeout, configure)
    }

    /// Creates a transport with settings of TLS.
    ///
    /// The system always validates the certificate of a server, except for `tls.uncheckedHostsForTesting`. On Apple's platforms, a request
    /// can accept a server that the system does not trust: see ``/ErrandCore/RequestOptions/onServerTrust``. App Transport Security still
    /// applies. On Linux, `URLSession` has no settings of TLS. Therefore, any setting that differs from its default is refused.
    ///
    /// - Parameters:
    ///   - configuration: as in ``init(_:idleTimeout:configure:)``.
    ///   - tls: the trusted authorities, the pins, the unchecked hosts and the oldest version of TLS. `clientCertificate` is not supported,
    ///     because `URLSession` can't read a key from a PEM file.
    ///   - clientCredential: the credential for servers that ask for a client certificate, from
    ///     `URLCredential(identity:certificates:persistence:)`. `nil`, the default, means that the transport has no client
    ///     certificate.
    ///   - idleTimeout: as in ``init(_:idleTimeout:configure:)``.
    ///   - configure: as in ``init(_:idleTimeout:configure:)``.
    /// - Throws: ``/ErrandCore/TLSSettingsError`` for an unsupported setting, and for a file of authorities that can't be read.
    public init(
        _ configuration: URLSessionConfiguration = .ephemeral, tls: TLSSettings, clientCredential: URLCredential? = nil,
        idleTimeout: Duration? = nil, configure: (@Sendable (inout URLRequest) -> Void)? = nil
    ) throws(TLSSettingsError) {
        self.init(configuration, try SessionTLS(tls, clientCredential: clientCredential), idleTimeout, configure)
    }

    private init(
        _ configuration: URLSessionConfiguration, _ tls: SessionTLS, _ idleTimeout: Duration?,
        _ configure: (@Sendable (inout URLRequest) -> Void)?
    ) {
        precondition(
            idleTimeout.map { $0 > .zero } ?? true, "idleTimeout must be more than zero, or nil (is \((idleTimeout ?? .zero).inWords))")
        sessions = Sessions(configuration, tls: tls, idleTimeout: idleTimeout, configure: configure)
    }

    /// The transport decodes content. On Apple's platforms, the transport also streams response bodies, and limits requests to some kinds
    /// of networks. On Apple's platforms, the transport can also wait for a network, and lets a request decide about certificates.
    public var capabilities: TransportCapabilities { SessionAbilities.current.capabilities }

    /// The type's name.
    public var description: String { "URLSessionTransport" }

    /// Sends a request, and returns its response as soon as the head has been received.
    ///
    /// - Throws: ``/ErrandCore/TransportError``; ``/ErrandCore/InvalidURLError``; `CancellationError`;
    ///   ``/ErrandCore/UnsupportedOptionError`` for an option that requires a capability that this transport does not have.
    public func send(_ request: Request) async throws -> Response {
        try Task.checkCancellation()
        try request.checkOptions(supportedBy: capabilities)
        if let problem = UnsafeFieldError(in: request.headers) {
            throw TransportError(
                .invalidRequest, phase: .request, message: "\(problem)", underlying: problem, request: request, delivery: .notSent)
        }
        return try await sessions.send(request)
    }

    /// Ends the session. Exchanges in progress fail. Later calls of ``send(_:)`` throw ``/ErrandCore/TransportError`` with the code
    /// `shutDown`. `shutdown(drainingFor:)` does not wait for exchanges in progress either.
    public func shutdown() async throws { sessions.shutDown() }
}
