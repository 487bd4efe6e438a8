#if Auth
import Errand
import Foundation

// The samples of the article "Cookies", unchanged: `ReadmeTests` compares each sample with this file.

nonisolated struct Bakery: Sendable {
    let jar: CookieJar
    let api: APIClient

    init(over network: HTTPStack = .default, store: some CookieStore) {
        jar = CookieJar(store: store)
        api = APIClient(network.cookies(jar).retry().timeout(.seconds(30)).server("https://bakery.example"))
    }

    func signIn(user: String, password: String) async throws {
        try await api.post("/login", body: .form(["user": user, "password": password]))
        try await jar.save()
    }

    func orders() async throws -> [String] { try await api.get("/orders") }

    func signOut() async throws {
        try? await api.post("/logout")  // the bakery may be out of reach: the app signs out nevertheless
        jar.removeAll()
        try await jar.save()
    }
}

func makeBakery(in folder: URL) -> Bakery {
    Bakery(store: FileCookieStore(atPath: folder.appending(path: "cookies.json").path))
}

func sendWithOtherCookies(_ stack: HTTPStack, guest: CookieJar) async throws {
    var anonymous = try Request(.get, "/prices")
    anonymous.options.cookies = .off
    _ = try await stack.send(anonymous)
    var other = try Request(.get, "/prices")
    other.options.cookies = .use(guest)
    _ = try await stack.send(other)
}

nonisolated struct SignedOut: LocalizedError {
    var errorDescription: String? { "The session has ended. Sign in again." }
}

func makeStrictStack(_ jar: CookieJar) -> HTTPStack {
    let redirects = RedirectPolicy.standard.deciding { hop in
        hop.to.path == "/login" ? .fail(SignedOut()) : .standard
    }
    return HTTPStack.default.cookies(jar).redirect(redirects).server("https://bakery.example")
}

func exchangeWithCURL(_ jar: CookieJar, file: URL) async throws {
    let read = try CookieFile.netscape(parsing: Data(contentsOf: file))
    for problem in read.problems { print(problem) }
    for cookie in read.cookies { try jar.set(cookie) }

    // The text has the values of the cookies, which are secrets: only the owner may read the file.
    let text = CookieFile.netscape(of: jar.cookies)
    try await ResponseBody.text(text).write(toPath: file.path)
}
#endif
