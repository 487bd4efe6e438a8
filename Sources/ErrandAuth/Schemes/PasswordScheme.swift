#if Auth
public import ErrandCore
internal import Synchronization

/// A user and a password, by the strongest scheme that the server offers: Digest, or else Basic.
///
/// ```swift
/// stack.authenticate(.password(user: "joe", password: password))
/// ```
///
/// It sends nothing before the server has asked. After that, each request to the same origin carries a proof, for at most 1,000 origins. A server that offers
/// Digest never gets the password itself: not after it has refused the proof either.
public struct PasswordScheme: AuthenticationScheme {
    private let digest: DigestScheme
    private let basic: BasicScheme
    /// The origins that have asked for Basic, and for no Digest.
    private let basicOrigins: BasicOrigins

    /// Creates the scheme.
    ///
    /// - Parameters:
    ///   - user: without control characters, and for Basic without a colon. Any other fails each request that needs it with
    ///     ``AuthenticationError``.
    ///   - password: without control characters.
    public init(user: String, password: String) {
        digest = DigestScheme(user: user, password: password)
        basic = BasicScheme(user: user, password: password)
        basicOrigins = BasicOrigins()
    }

    public var label: String { "digest or basic" }

    /// Returns the proof that a request carries before the server has asked for any; `nil` to wait for a challenge.
    ///
    /// - Throws: ``AuthenticationError``, and the error of a body that can't be read.
    public func proof(for request: Request) async throws -> AuthenticationProof? {
        if let origin = request.origin, basicOrigins.contains(origin) { return try basic.proof(for: request) }
        return try await digest.proof(for: request)
    }

    /// Returns the proof that answers a challenge; `nil` if the server offers neither scheme.
    ///
    /// - Throws: ``AuthenticationError``, and the error of a body that can't be read.
    public func proof(for request: Request, inResponseTo challenge: ServerChallenge) async throws -> AuthenticationProof? {
        let offersDigest = !challenge.challenges(of: "Digest").isEmpty
        if let origin = request.origin { basicOrigins.set(origin, !offersDigest && !challenge.challenges(of: "Basic").isEmpty) }
        if offersDigest { return try await digest.proof(for: request, inResponseTo: challenge) }
        return try await basic.proof(for: request, inResponseTo: challenge)
    }

    /// Takes the next nonce of Digest from `Authentication-Info`.
    public func noteAccepted(_ proof: AuthenticationProof, for request: Request, by response: HTTPResponse) {
        digest.noteAccepted(proof, for: request, by: response)
    }
}

extension PasswordScheme: CustomStringConvertible, CustomReflectable {
    /// `digest or basic`.
    public var description: String { label }
    /// The description alone.
    public var customMirror: Mirror { Mirror(self, children: ["scheme": label]) }
}

extension AuthenticationScheme where Self == PasswordScheme {
    /// A user and a password, by the strongest scheme that the server offers: Digest, or else Basic. See ``PasswordScheme``.
    public static func password(user: String, password: String) -> PasswordScheme { PasswordScheme(user: user, password: password) }
}

private final class BasicOrigins: Sendable {
    private let table = Mutex(BoundedTable<Origin, Bool>(limit: 1_000))

    func contains(_ origin: Origin) -> Bool { table.withLock { $0.updateIfPresent(origin) { $0 } } ?? false }
    func set(_ origin: Origin, _ isBasic: Bool) { table.withLock { $0.update(origin, default: isBasic) { $0 = isBasic } } }
}
#endif
