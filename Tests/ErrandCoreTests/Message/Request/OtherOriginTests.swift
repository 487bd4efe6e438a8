import Errand
import ErrandTesting
import TestSupport
import Testing

@testable import ErrandCore

/// The parts of a request that are sent to another origin.
@Suite(.timeLimit(.minutes(10))) struct OtherOriginTests {
    @Test func noSecretCrossesOrigins() throws {
        let secret = "s3cret"
        let names = [
            "Authorization", "authorization", "AUTHORIZATION", "Proxy-Authorization", "Cookie", "cookie", "Set-Cookie", "X-Auth-Token",
            "X-API-Key",
            "x-api-key", "Api-Key", "X-Amz-Security-Token", "X-CSRF-Token", "X-Xsrf-Token", "X-Goog-IAP-JWT-Assertion", "X-Session-Id",
            "X-Access-Token", "X-Client-Secret", "X-Vault-Token", "Private-Token", "X-Password", "WWW-Authenticate", "Referer", "Origin",
            "Host",
            "DPoP", "X-Shopify-Access-Token", "Ocp-Apim-Subscription-Key",
            "Authentication-Info", "X-Forwarded-Access-Token", "X-Passphrase",
        ]
        var kept: [String] = []
        for target in [
            "https://b.example/", "http://a.example/", "https://a.example:444/", "https://a.example./", "https://sub.a.example/",
        ] {
            for name in names {
                for isFallback in [false, true] {
                    guard let field = HTTPField.Name(name) else { continue }
                    var request = try Request(.get, url: "https://a.example/x")
                    if isFallback { request.options.fallbackHeaders[field] = secret } else { request.headers[field] = secret }
                    request.options.credentialIdentity = CredentialIdentity(scheme: "x", secret)
                    try request.move(to: HTTPURL(target), from: Origin("https://a.example"))
                    if request.completedFields.contains(where: { $0.value.contains(secret) }) { kept.append("\(name) to \(target)") }
                    #expect(request.options.credentialIdentity == nil && request.options.hasLeftOrigin)
                }
            }
        }
        #expect(Set(kept) == [])
        for same in ["https://A.EXAMPLE/", "https://a.example:443/y"] {
            var request = try Request(.get, url: "https://a.example/x")
            request.headers[.authorization] = secret
            try request.move(to: HTTPURL(same), from: Origin("https://a.example"))
            #expect(request.headers[.authorization] == secret)
        }
    }

    /// If an inner layer has declared a secret, the descriptions of the hops hide the secret.
    @Test func aDeclaredSecretIsHiddenInTheNextURL() async throws {
        let transport = StubTransport(
            Stub(.get, "/x").responds(.redirect(to: "https://b.example/y?sesame=s3cret")), Stub().responds(.status(.ok)))
        let declaring = ClosureMiddleware { request, next in
            var request = request
            request.options.sensitivity.formUnion(Sensitivity(fields: [HTTPField.Name](), queryNames: ["sesame"]))
            return try await next.send(request)
        }
        let response = try await HTTPStack(transport).wrapped(by: declaring).redirect().send(.sample("/x"))
        let shown = "\(response.metadata.redirects)" + response.metadata.redirects.map { $0.from + $0.to }.joined()
        #expect(!shown.contains("s3cret"))
    }
}
