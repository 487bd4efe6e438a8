import Errand
import ErrandTesting

// The samples of the article "From Alamofire and Moya", unchanged: `ReadmeTests` compares each sample with this file.

nonisolated struct Account: Codable, Sendable, Equatable {
    var id: Int
    var name: String
}

enum Accounts {
    static func list(matching text: String) -> Endpoint<[Account]> { .get("/accounts", query: ["q": text]) }
    static func rename(_ id: Int, to name: String) -> Endpoint<Account> { .patch("/accounts/\(id, "id")", body: .json(["name": name])) }
    static func signIn(_ user: String, _ password: String) -> Endpoint<Void> {
        .post("/session", body: .form(["user": user, "password": password]))
    }
}

nonisolated struct Envelope<Value: Decodable & Sendable>: Decodable, Sendable {
    var code: Int
    var message: String?
    var data: Value?
}

struct AccountError: Error, Equatable { var code: Int }

extension Envelope {
    static func value(of endpoint: Endpoint<Envelope<Value>>) -> Endpoint<Value> {
        endpoint.map { envelope in
            guard envelope.code == 0, let value = envelope.data else { throw AccountError(code: envelope.code) }
            return value
        }
    }
}

extension Accounts {
    static func account(_ id: Int) -> Endpoint<Account> { Envelope.value(of: .get("/accounts/\(id, "id")")) }
}

struct TimingMiddleware: HTTPMiddleware {
    let report: @Sendable (_ path: String, _ time: Duration) -> Void

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        let start = ContinuousClock.now
        let response = try await next.send(request)
        report(request.head.path ?? "", ContinuousClock.now - start)
        return response
    }
}

// swift-format-ignore
func signedIn(_ transport: some HTTPSender, refresh: @escaping @Sendable (AccessToken) async throws -> AccessToken) -> HTTPStack {
    let tokens = TokenSource(AccessToken("old"), refresh: refresh)
    return transport.authenticate(.bearer(tokens))
}

func accountsAreStubbed() async throws {
    let stub = StubTransport(
        Stub(.get, "/accounts").query("q", "Ada").responds(.json([Account(id: 1, name: "Ada")])),
        Stub(.get, "/accounts/{id}").responds(.json(["code": 7])))
    let api = APIClient(stub.server("https://api.example"))
    let found = try await api.value(Accounts.list(matching: "Ada"))
    assert(found.map(\.name) == ["Ada"])
    do {
        _ = try await api.value(Accounts.account(2))
    } catch let error as AccountError {
        assert(error.code == 7)
    }
}
