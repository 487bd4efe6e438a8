#if Auth
public import ErrandCore
internal import Synchronization

/// A user and a password. The server gets a Digest proof, or, if the server does not offer Digest, the password with Basic.
///
/// ```swift
/// stack.authenticate(.password(user: "joe", password: password))
/// ```
///
/// The first request to an origin carries no proof. After the server's challenge, each request to the same origin carries a proof,
/// for at most 1,000 origins.
///
/// While the scheme remembers that a server has offered Digest, the server never gets the password itself, not even in these cases:
/// - The server has refused the proof.
/// - The server asks for Basic later.
/// - The Digest challenge has an unknown algorithm or form.
///
/// To send the password to such a server, use ``BasicScheme``.
public struct PasswordScheme: AuthenticationScheme {
    private let digest: DigestScheme
    private let basic: BasicScheme
    /// For each origin, whether the origin has offered Digest. The value is `false` for an origin that has asked only for
    /// Basic.
    private let offers: DigestOffers

    /// Creates the scheme.
    ///
    /// - Parameters:
    ///   - user: the name of the user, without control characters, and for Basic without a colon. If the scheme does not allow the name,
    ///     each request that carries the user fails with ``AuthenticationError``.
    ///   - password: the password, without control characters.
    ///   - account: the name under which caches and cookie jars keep the account's data; see
    ///     ``BasicScheme/init(user:password:isPreemptive:account:)``. `nil`, the default: the account's data is kept in memory only.
    public init(user: String, password: String, account: String? = nil) {
        digest = DigestScheme(user: user, password: password, account: account)
        basic = BasicScheme(user: user, password: password, account: account)
        offers = DigestOffers()
    }

    public var label: String { "digest or basic" }
    /// `false`, because the scheme sends no request.
    public var sendsRequests: Bool { false }

    /// Returns the proof to send with a request if the server has not sent a challenge yet. `nil` if the origin has neither
    /// accepted a Digest proof nor asked for Basic.
    ///
    /// - Throws: ``AuthenticationError``; if the body of the request can't be read, the error of this body.
    public func proof(for request: Request) async throws -> AuthenticationProof? {
        if let origin = request.origin, offers[origin] == false { return try basic.proof(for: request) }
        return try await digest.proof(for: request)
    }

    /// Returns the proof in response to a challenge. `nil` if the server offers neither scheme in a usable form, or asks for Basic after it
    /// has offered Digest.
    ///
    /// - Throws: ``AuthenticationError``; the error of the body if the body can't be read.
    public func proof(for request: Request, inResponseTo challenge: ServerChallenge) async throws -> AuthenticationProof? {
        guard let origin = request.origin else { return nil }
        if DigestResponse.isOffered(in: challenge.challenges) {
            offers[origin] = true
            return try await digest.proof(for: request, inResponseTo: challenge)
        }
        guard offers[origin] != true, !challenge.challenges(of: "Basic").isEmpty else { return nil }
        offers[origin] = false
        return try await basic.proof(for: request, inResponseTo: challenge)
    }

    /// Keeps the accepted nonce of Digest for later requests. If `Authentication-Info` has a next nonce, keeps that nonce instead.
    public func recordAcceptance(of proof: AuthenticationProof, for request: Request, by response: HTTPResponse) {
        digest.recordAcceptance(of: proof, for: request, by: response)
    }
}

extension PasswordScheme: CustomStringConvertible, HidesStorage {
    /// `digest or basic`.
    public var description: String { label }
}

extension AuthenticationScheme where Self == PasswordScheme {
    /// A user and a password. The server gets a Digest proof, or, if the server does not offer Digest, the password with Basic. See
    /// ``PasswordScheme``.
    ///
    /// - Parameters:
    ///   - user: the name of the user, without control characters, and for Basic without a colon.
    ///   - password: the password, without control characters.
    ///   - account: the name under which caches and cookie jars keep the account's data. `nil`, the default: the data is kept in memory
    ///     only.
    public static func password(user: String, password: String, account: String? = nil) -> PasswordScheme {
        PasswordScheme(user: user, password: password, account: account)
    }
}

private final class DigestOffers: Sendable {
    private let table = Mutex(BoundedTable<Origin, Bool>(limit: 1_000))

    subscript(origin: Origin) -> Bool? {
        get { table.withLock { $0.updateIfPresent(origin) { $0 } } }
        set { table.withLock { table in if let newValue { table.update(origin, default: newValue) { $0 = newValue } } } }
    }
}
#endif
