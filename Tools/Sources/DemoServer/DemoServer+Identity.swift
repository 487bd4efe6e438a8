import Crypto
import ErrandFormats
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

/// Authentication: Basic, Digest, a form with a session cookie, and an OAuth 2 server that accepts every sign-in.
extension DemoServer {
    /// The name and the password of the person.
    private static let (user, password) = ("joe", "pw")

    static func addIdentity(to router: Router<BasicRequestContext>) {
        router.get("v1/basic") { request, _ -> Response in
            let expected = "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
            guard request.headers[.authorization] == expected else { return challenge(#"Basic realm="demo", charset="UTF-8""#) }
            return text("welcome, \(user)")
        }
        let nonces = Mutex<Set<String>>([])
        router.get("v1/digest") { request, _ -> Response in
            if let field = request.headers[.authorization], let proof = AuthenticationChallenge.parse([field]).first,
                let nonce = proof["nonce"], nonces.withLock({ $0.contains(nonce) }), isRight(proof, method: "GET")
            {
                return text("welcome, \(user)")
            }
            let nonce = UUID().uuidString
            nonces.withLock { _ = $0.insert(nonce) }
            return challenge(#"Digest realm="demo", nonce="\#(nonce)", algorithm=SHA-256, qop="auth""#)
        }
        addFormLogin(to: router)
        addOAuth(to: router)
    }

    // MARK: - A form

    /// A form for people. A session is a cookie, which a browser keeps until it ends, or for 30 days with `remember=on`.
    private static func addFormLogin(to router: Router<BasicRequestContext>) {
        let sessions = Mutex<Set<String>>([])
        @Sendable func session(of request: Request) -> String? {
            let pairs = (request.headers[.cookie] ?? "").split(separator: ";").map { $0.drop { $0 == " " } }
            let session = pairs.first { $0.hasPrefix("session=") }.map { String($0.dropFirst(8)) }
            return session.flatMap { session in sessions.withLock { $0.contains(session) } ? session : nil }
        }
        @Sendable func cookie(_ value: String, _ attributes: String) -> String {
            "session=\(value); Path=/v1; HttpOnly; SameSite=Lax\(attributes)"
        }
        router.get("v1/login") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "text/html; charset=utf-8"],
                body: .init(
                    byteBuffer: ByteBuffer(
                        string: """
                            <!doctype html><title>Sign in</title><form method=post><input name=user><input name=password type=password>\
                            <input name=remember type=checkbox><button>Sign in</button></form>

                            """)))
        }
        router.post("v1/login") { request, _ -> Response in
            let form = form(String(buffer: try await request.body.collect(upTo: 65_536)))
            guard form["user"] == user, form["password"] == password else {
                return Response(
                    status: .forbidden, body: .init(byteBuffer: ByteBuffer(string: "the user or the password is wrong\n")))
            }
            let session = UUID().uuidString
            sessions.withLock { _ = $0.insert(session) }
            let cookie = cookie(session, form["remember"] == "on" ? "; Max-Age=2592000" : "")
            return Response(status: .seeOther, headers: [.location: "/v1/profile", .setCookie: cookie])
        }
        router.get("v1/profile") { request, _ -> Response in
            guard session(of: request) != nil else { return Response(status: .found, headers: [.location: "/v1/login"]) }
            return json(#"{"name":"\#(user)"}"#)
        }
        router.post("v1/logout") { request, _ -> Response in
            if let session = session(of: request) { sessions.withLock { _ = $0.remove(session) } }
            return Response(status: .noContent, headers: [.setCookie: cookie("", "; Max-Age=0")])
        }
    }

    /// Whether the response to a challenge proves the password ([RFC 7616, section
    /// 3.4.1](https://www.rfc-editor.org/rfc/rfc7616#section-3.4.1)).
    private static func isRight(_ proof: AuthenticationChallenge, method: String) -> Bool {
        func hash(_ text: String) -> String {
            SHA256.hash(data: Data(text.utf8)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
        guard let nonce = proof["nonce"], let count = proof["nc"], let clientNonce = proof["cnonce"], let target = proof["uri"],
            proof["username"] == user
        else { return false }
        let expected = hash(
            [hash("\(user):demo:\(password)"), nonce, count, clientNonce, "auth", hash("\(method):\(target)")].joined(separator: ":"))
        return proof["response"] == expected
    }

    // MARK: - OAuth 2

    /// The tokens that the server has issued. A refresh token can be used once: a second use revokes all tokens of the sign-in.
    private final class Tokens: Sendable {
        private struct State {
            /// The redirect and the code challenge of each code.
            var codes: [String: (redirect: String, challenge: String)] = [:]
            /// The family of each valid access token, and of each refresh token, used or not.
            var access: [String: Int] = [:]
            var refresh: [String: (family: Int, isUsed: Bool)] = [:]
            var families = 0
        }

        private let state = Mutex(State())

        func code(for redirect: String, challenge: String) -> String {
            let code = UUID().uuidString
            state.withLock { $0.codes[code] = (redirect, challenge) }
            return code
        }

        func accepts(_ access: String) -> Bool { state.withLock { $0.access[access] != nil } }

        /// A token for a code, or `nil`.
        func token(code: String, redirect: String, verifier: String) -> (access: String, refresh: String)? {
            let digest = Data(SHA256.hash(data: Data(verifier.utf8))).base64EncodedString()
                .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
            return state.withLock { state in
                guard let known = state.codes.removeValue(forKey: code), known.redirect == redirect, known.challenge == digest else {
                    return nil
                }
                return Self.begin(&state)
            }
        }

        func token() -> (access: String, refresh: String) { state.withLock { Self.begin(&$0) } }

        /// A token for a refresh token, or `nil`.
        func token(refresh: String) -> (access: String, refresh: String)? {
            state.withLock { state in
                guard let (family, isUsed) = state.refresh[refresh] else { return nil }
                state.access = state.access.filter { $0.value != family }
                guard !isUsed else {
                    state.refresh = state.refresh.filter { $0.value.family != family }
                    return nil
                }
                state.refresh[refresh]?.isUsed = true
                return Self.issue(family, &state)
            }
        }

        func revoke(_ token: String) {
            state.withLock { state in
                guard let family = state.access[token] ?? state.refresh[token]?.family else { return }
                state.access = state.access.filter { $0.value != family }
                state.refresh = state.refresh.filter { $0.value.family != family }
            }
        }

        /// Makes all access tokens invalid, as if they had expired.
        func expire() { state.withLock { $0.access = [:] } }

        private static func begin(_ state: inout State) -> (access: String, refresh: String) {
            state.families += 1
            return issue(state.families, &state)
        }

        private static func issue(_ family: Int, _ state: inout State) -> (access: String, refresh: String) {
            let (access, refresh) = (UUID().uuidString, UUID().uuidString)
            state.access[access] = family
            state.refresh[refresh] = (family, false)
            return (access, refresh)
        }
    }

    private static func addOAuth(to router: Router<BasicRequestContext>) {
        let tokens = Tokens()
        router.get(".well-known/oauth-authorization-server") { request, _ -> Response in
            let base = "http://\(request.head.authority ?? "")"
            return json(
                """
                {"issuer":"\(base)","authorization_endpoint":"\(base)/oauth/authorize","token_endpoint":"\(base)/oauth/token",\
                "revocation_endpoint":"\(base)/oauth/revoke","code_challenge_methods_supported":["S256"],\
                "authorization_response_iss_parameter_supported":true}
                """)
        }
        // No input is needed. The server sends the browser back immediately.
        router.get("oauth/authorize") { request, _ -> Response in
            let query = form(request.uri.query ?? "")
            guard let redirect = query["redirect_uri"], redirect.hasPrefix("http://127.0.0.1:"), let state = query["state"],
                let challenge = query["code_challenge"], query["code_challenge_method"] == "S256", query["response_type"] == "code"
            else { return Response(status: .badRequest) }
            let reply = FormURLEncoded.encode([
                (name: "code", value: tokens.code(for: redirect, challenge: challenge)), (name: "state", value: state),
                (name: "iss", value: "http://\(request.head.authority ?? "")"),
            ])
            return Response(status: .found, headers: [.location: "\(redirect)?\(reply)"])
        }
        router.post("oauth/token") { request, _ -> Response in
            let form = form(String(buffer: try await request.body.collect(upTo: 65_536)))
            let token: (access: String, refresh: String)? =
                switch form["grant_type"] {
                case "authorization_code":
                    tokens.token(code: form["code"] ?? "", redirect: form["redirect_uri"] ?? "", verifier: form["code_verifier"] ?? "")
                case "refresh_token": tokens.token(refresh: form["refresh_token"] ?? "")
                case "client_credentials": tokens.token()
                default: nil
                }
            guard let token else { return json(#"{"error":"invalid_grant"}"#, status: .badRequest) }
            return json(
                """
                {"access_token":"\(token.access)","token_type":"Bearer","expires_in":3600,"refresh_token":"\(token.refresh)"}
                """)
        }
        router.post("oauth/revoke") { request, _ -> HTTPResponse.Status in
            let form = form(String(buffer: try await request.body.collect(upTo: 65_536)))
            tokens.revoke(form["token"] ?? "")
            return .ok
        }
        router.post("oauth/expire") { _, _ -> HTTPResponse.Status in
            tokens.expire()
            return .ok
        }
        router.get("v1/account") { request, _ -> Response in
            guard let field = request.headers[.authorization], field.hasPrefix("Bearer "), tokens.accepts(String(field.dropFirst(7))) else {
                return challenge(#"Bearer realm="demo", error="invalid_token""#)
            }
            return json(#"{"name":"\#(user)"}"#)
        }
    }

    private static func form(_ text: String) -> [String: String] {
        let items = URLComponents(string: "http://form/?" + text.replacing("+", with: "%20"))?.queryItems ?? []
        return Dictionary(items.map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { first, _ in first })
    }

    private static func challenge(_ value: String) -> Response { Response(status: .unauthorized, headers: [.wwwAuthenticate: value]) }

    private static func text(_ text: String) -> Response { Response(status: .ok, body: .init(byteBuffer: ByteBuffer(string: text))) }

    private static func json(_ text: String, status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(string: text)))
    }
}
