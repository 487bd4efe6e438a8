#if MockServer
public import ErrandCore
public import ErrandMockServer

/// A chain of redirects from a server A to a server B, within B, and back to A, with a secret of each kind.
public enum RedirectLeaks {
    /// The kind of a secret.
    public enum Kind: String, CaseIterable, Sendable {
        case authorization, cookie, proxyAuthorization, apiKey, declaredField, declaredQueryItem, fallbackField, option

        fileprivate var secret: String { "s3cret-\(rawValue)" }
    }

    /// The kinds that each request of the chain had when a server received it.
    public struct Seen: Sendable {
        /// At A: of the first request, of the redirect within A, and of the return.
        public let first: [Set<Kind>]
        /// At B: of two requests.
        public let second: [Set<Kind>]
    }

    private static let declared = HTTPField.Name("X-Own")!

    /// Adds a secret of each kind to a request.
    public static func addSecrets(to request: inout Request) {
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

    /// Sends a request through the chain, whose servers have different hosts and set a cookie each, and returns the `Cookie` fields that
    /// the servers received.
    ///
    /// - Parameter send: sends a request with the cookies of a jar, and follows redirects.
    public static func cookies(
        from first: MockServer, to second: MockServer, sending send: (Request) async throws -> Response
    ) async throws -> (first: [String?], second: [String?]) {
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
        return (first.requests.map { $0.headers[.cookie] }, second.requests.map { $0.headers[.cookie] })
    }

    private static func kinds(in request: MockRequest) -> Set<Kind> {
        let texts = request.headers.map(\.value) + [request.head.path ?? ""]
        return Set(Kind.allCases.filter { kind in texts.contains { $0.contains(kind.secret) } })
    }
}
#endif
