#if MockServer
public import ErrandCore
public import ErrandMockServer

/// A chain of redirects from a server A to a server B, within B, and back to A, with a secret of each kind.
///
/// The cookies of a jar have a chain of their own. A client certificate belongs to the transport and to no request.
public enum RedirectLeaks {
    /// The kind of a secret.
    public enum Kind: String, CaseIterable, Sendable {
        case authorization, cookie, proxyAuthorization, apiKey, declaredField, declaredQueryItem, fallbackField, option

        fileprivate var secret: String { "s3cret-\(rawValue)" }
    }

    /// The kinds that each request of the chain had when a server received it.
    public struct Seen: Sendable, Hashable {
        /// At A: of the first request, of the redirect within A, and of the return.
        public let first: [Set<Kind>]
        /// At B: of two requests.
        public let second: [Set<Kind>]
    }

    /// What the servers may receive: B and the return to A have no secret. Credentials for a proxy go to no server.
    ///
    /// - Parameter isDecided: whether a hook adds the secrets to each hop: ``addingSecrets(to:)``.
    public static func allowed(isDecided: Bool) -> Seen {
        let sent = Set(Kind.allCases).subtracting([.proxyAuthorization])
        // The query of a redirect comes from its Location.
        return Seen(first: [sent, isDecided ? sent : sent.subtracting([.declaredQueryItem]), []], second: [[], []])
    }

    /// Returns the request of a hop with a secret of each kind. A hook of a policy may follow this request.
    public static func addingSecrets(to next: Request) -> Request {
        var next = next
        addSecrets(to: &next)
        return next
    }

    private static let declared = HTTPField.Name("X-Own")!

    /// Adds a secret of each kind to a request.
    private static func addSecrets(to request: inout Request) {
        request.headers[.authorization] = Kind.authorization.secret
        request.headers[.cookie] = "id=\(Kind.cookie.secret)"
        request.headers[.proxyAuthorization] = Kind.proxyAuthorization.secret
        request.headers[HTTPField.Name("X-API-Key")!] = Kind.apiKey.secret
        request.headers[declared] = Kind.declaredField.secret
        request.query.append("card", Kind.declaredQueryItem.secret)
        request.options.fallbackHeaders[HTTPField.Name("X-Fallback-Token")!] = Kind.fallbackField.secret
        request.options[IdentityKey.self] = Kind.option.secret
    }

    /// An option that belongs to its origin, as the identity of a person does.
    private enum IdentityKey: OptionKey {
        static var defaultValue: String? { nil }
    }

    /// Sends the option as a field. The place is inside `redirect`.
    public struct OptionSender: HTTPMiddleware {
        public init() {}

        public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
            var request = request
            if let identity = request.options[IdentityKey.self] { request.headers[HTTPField.Name("X-Identity")!] = identity }
            return try await next.send(request)
        }
    }

    /// Sends a request through the chain, and returns what the servers received.
    ///
    /// - Parameter send: sends a request, and follows redirects.
    public static func seen(
        from first: MockServer, to second: MockServer, sending send: (Request) async throws -> Response
    ) async throws -> Seen {
        first.enqueue(.redirect(to: "/a2", status: .temporaryRedirect), .redirect(to: second.url("/b")), .text("fine"))
        second.enqueue(.redirect(to: "/b2"), .redirect(to: first.url("/a3")))
        var request = try Request(.get, url: first.url("/a"))
        request.options.sensitivity = Sensitivity(fields: [declared], queryNames: ["card"])
        addSecrets(to: &request)
        _ = try await send(request).body.collect()
        return Seen(first: first.requests.map(kinds(in:)), second: second.requests.map(kinds(in:)))
    }

    /// The `Cookie` fields that the servers received. `nil` is a request without this field.
    public struct SeenCookies: Sendable, Hashable {
        public let first: [String?]
        public let second: [String?]
    }

    /// The `Cookie` fields that the servers may receive if the jar has the cookie `own=0` of A: each host receives its own cookies.
    ///
    /// - Parameter isDecided: whether a hook adds the secrets to each hop: ``addingSecrets(to:)``. Within A, the field of the hook replaces
    ///   the cookies of the jar.
    public static func allowedCookies(isDecided: Bool) -> SeenCookies {
        SeenCookies(
            first: ["own=0", isDecided ? "id=\(Kind.cookie.secret)" : "own=0; a=1", "own=0; a=1"], second: [nil, "b=2"])
    }

    /// Sends a request through the chain, whose servers have different hosts and set a cookie each, and returns the `Cookie` fields that
    /// the servers received.
    ///
    /// - Parameter send: sends a request with the cookies of a jar, and follows redirects.
    public static func cookies(
        from first: MockServer, to second: MockServer, sending send: (Request) async throws -> Response
    ) async throws -> SeenCookies {
        func setting(_ cookie: String, _ location: String) -> MockResponse {
            .status(.found, headers: [.location: location, .setCookie: cookie])
        }
        // Cookies do not depend on the port.
        let (home, other) = (first.url("/a3"), second.url("/b"))
        let moved =
            other.contains("localhost")
            ? other.replacing("localhost", with: "127.0.0.1") : other.replacing("127.0.0.1", with: "localhost")
        first.enqueue(setting("a=1", "/a2"), .redirect(to: moved), .text("fine"))
        second.enqueue(setting("b=2", "/b2"), .redirect(to: home))
        _ = try await send(Request(.get, url: first.url("/a"))).body.collect()
        return SeenCookies(first: first.requests.map { $0.headers[.cookie] }, second: second.requests.map { $0.headers[.cookie] })
    }

    private static func kinds(in request: MockRequest) -> Set<Kind> {
        let texts = request.headers.map(\.value) + [request.head.path ?? ""]
        return Set(Kind.allCases.filter { kind in texts.contains { $0.contains(kind.secret) } })
    }
}
#endif
