import Errand
import Foundation

/// A person signs in to a site with a form, as in a browser, and stays signed in by a cookie.
///
/// The jar keeps the cookies in a private file. Each request carries the cookies of the site, and no other site gets these cookies.
/// If a request has no session, the site redirects the request to the page with the form. In this example, such a redirect is an error.
enum FormLogin {
    nonisolated struct Profile: Decodable, Sendable, Equatable {
        var name: String
    }

    /// The site has redirected a request to the page with the form: the session has ended, or nobody has signed in.
    nonisolated struct SignedOut: LocalizedError {
        var errorDescription: String? { "The session has ended. Sign in again." }
    }

    static let profile: Endpoint<Profile> = .get("/profile")
    static let signOut: Endpoint<Void> = .post("/logout")

    // The site responds with a redirect to the profile
    static func signIn(_ user: String, _ password: String) -> Endpoint<Profile> {
        .post("/login", body: .form(["user": user, "password": password, "remember": "on"]))
    }

    /// An app makes this value once, at its start.
    struct Site: Sendable {
        private let jar: CookieJar
        private let api: APIClient

        /// - Parameter path: the file of the cookies. A separate file for each account keeps the accounts apart.
        init(_ server: URL, cookiesIn path: String) {
            jar = CookieJar(store: FileCookieStore(atPath: path))
            let redirects = RedirectPolicy.standard.deciding { hop in
                hop.to.path.hasSuffix("/login") ? .fail(SignedOut()) : .standard
            }
            api = APIClient(HTTPStack.default.cookies(jar).redirect(redirects).retry().timeout(.seconds(30)).server(server))
        }

        func signIn(user: String, password: String) async throws -> Profile {
            let profile = try await api.value(FormLogin.signIn(user, password))
            // Changes are written in the background. A sign-in must last, even if the system ends the app now
            try await jar.save()
            return profile
        }

        func profile() async throws -> Profile { try await api.value(FormLogin.profile) }

        func signOut() async throws {
            // Signing out succeeds on this device, even if the site can't be reached
            try? await api.value(FormLogin.signOut)
            jar.removeAll()
            try await jar.save()
        }
    }
}
