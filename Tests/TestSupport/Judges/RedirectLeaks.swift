#if MockServer
public import ErrandCore
public import ErrandMockServer

/// A chain of redirects from a server A to a server B, within B, and back to A, with a secret of each kind.
public enum RedirectLeaks {
    /// The kind of a secret.
    public enum Kind: String, CaseIterable, Sendable {
        case authorization, cookie, proxyAuthorization, apiKey, declaredField, declaredQueryItem, fallbackField

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

    private static func kinds(in request: MockRequest) -> Set<Kind> {
        let texts = request.headers.map(\.value) + [request.head.path ?? ""]
        return Set(Kind.allCases.filter { kind in texts.contains { $0.contains(kind.secret) } })
    }
}
#endif
