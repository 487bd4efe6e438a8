#if Auth
public import ErrandCore
internal import ErrandFormats
internal import Synchronization

/// The Digest scheme: proves a user and a password without sending the password
/// ([RFC 7616](https://www.rfc-editor.org/rfc/rfc7616)).
///
/// ```swift
/// stack.authenticate(.digest(user: "joe", password: password))
/// ```
///
/// The scheme supports:
/// - MD5, SHA-256, SHA-512-256 and SHA-512, each with `-sess`
/// - the qualities `auth` and `auth-int`, and challenges without a quality as in [RFC 2069](https://www.rfc-editor.org/rfc/rfc2069)
/// - `userhash`
/// - `stale`, and `nextnonce` in `Authentication-Info`
///
/// The scheme responds to the strongest challenge of a server. The scheme also reads challenges in unusual forms: see
/// ``/ErrandFormats/AuthenticationChallenge/parse(_:)``. The server's own proof (`rspauth`) is not checked. The user name is used as given,
/// without Unicode normalization.
///
/// The first request to an origin costs one additional round trip. Each later request carries a proof with the server's last nonce and the
/// next count. For `auth-int`, a body that is not in memory is read one more time for its hash. If an inner layer such as
/// `compressRequests` changes the body, the proof is wrong: place such a layer outside `authenticate`.
///
/// Copies of a scheme share their nonces, for at most 1,000 origins. Digest protects the password, and not the request: use Digest
/// over TLS.
public struct DigestScheme: AuthenticationScheme {
    private let user: String
    private let password: String
    private let sessions: DigestSessions
    private let clientNonce: @Sendable () -> String
    private let account: String?

    /// Creates the scheme.
    ///
    /// - Parameters:
    ///   - user: the name of the user, without control characters. If the name contains a control character, each request fails with
    ///     ``AuthenticationError``.
    ///   - password: the password.
    ///   - account: the name under which caches and cookie jars keep the account's data; see
    ///     ``BasicScheme/init(user:password:isPreemptive:account:)``. `nil`, the default: the account's data is kept in memory only.
    public init(user: String, password: String, account: String? = nil) {
        self.init(user: user, password: password, account: account, clientNonce: Self.randomClientNonce)
    }

    /// Returns 128 random bits, as hexadecimal digits.
    @Sendable static func randomClientNonce() -> String { hex(randomOctets(16)) }

    init(user: String, password: String, account: String? = nil, clientNonce: @escaping @Sendable () -> String) {
        self.user = user
        self.password = password
        self.account = account
        self.clientNonce = clientNonce
        sessions = DigestSessions()
    }

    public var label: String { "digest" }
    /// `false`, because the scheme sends no request.
    public var sendsRequests: Bool { false }

    /// Returns the proof that a request carries before any challenge. `nil` if the origin has not accepted a proof yet, or if
    /// `auth-int` needs the hash of a body that can be read only once.
    ///
    /// - Throws: ``AuthenticationError``; the error of the body if the body can't be read.
    public func proof(for request: Request) async throws -> AuthenticationProof? {
        guard let origin = request.origin, let (response, count) = sessions.next(for: origin), request.canBeHashed(for: response) else {
            return nil
        }
        return try await proof(response, count, for: request, isFresh: false)
    }

    /// Returns the proof in response to a challenge; `nil` if the server does not offer Digest in a usable form.
    ///
    /// - Throws: ``AuthenticationError``; the error of the body if the body can't be read.
    public func proof(for request: Request, inResponseTo challenge: ServerChallenge) async throws -> AuthenticationProof? {
        guard let origin = request.origin,
            let response = DigestResponse.strongest(of: challenge.challenges, hashesBody: request.body.replay.canRestart)
        else { return nil }
        if case .digest(let refused, _) = challenge.refused?.context { sessions.forget(refused.nonce, at: origin) }
        let count = sessions.begin(response, at: origin)
        return try await proof(response, count, for: request, isFresh: true)
    }

    /// Keeps the accepted nonce for later requests. If `Authentication-Info` has a next nonce, keeps that nonce instead.
    public func recordAcceptance(of proof: AuthenticationProof, for request: Request, by response: HTTPResponse) {
        guard let origin = request.origin, case .digest(let digest, let isFresh) = proof.context else { return }
        if isFresh { sessions.record(digest, at: origin) }
        guard let value = response.headerFields[.authenticationInfo],
            let nonce = AuthenticationChallenge.parse(["Digest " + value]).first?["nextnonce"], !nonce.isEmpty
        else { return }
        sessions.continueWith(nonce, at: origin)
    }

    private func proof(_ response: DigestResponse, _ count: Int, for request: Request, isFresh: Bool) async throws -> AuthenticationProof {
        _ = try checkedFieldValue(user, "a user of Digest")
        var body: String?
        if response.quality == .authInt {
            body = try await request.body.digits(of: response.algorithm)
        }
        let field = response.field(
            user: user, password: password, method: request.method.rawValue, target: request.writtenTarget, count: count,
            clientNonce: clientNonce(), bodyDigits: body)
        // A new nonce is treated as a new proof only if the last nonce was too old (`stale`).
        let nonce = isFresh && !response.isStale ? "" : response.nonce
        var proof = AuthenticationProof(
            headers: [.authorization: field], identity: .of(account, scheme: "digest", user, password),
            fingerprint: AuthenticationFingerprint([user, password, response.realm, nonce]))
        proof.context = .digest(response, isFresh: isFresh)
        return proof
    }
}

extension DigestScheme: CustomStringConvertible, HidesStorage {
    /// `digest`.
    public var description: String { label }
}

extension AuthenticationScheme where Self == DigestScheme {
    /// A user and a password, which the scheme proves to the server. The password itself is not sent. See ``DigestScheme``.
    ///
    /// - Parameters:
    ///   - user: the name of the user, without control characters.
    ///   - password: the password.
    ///   - account: the name under which caches and cookie jars keep the account's data. `nil`, the default: the data is kept in memory
    ///     only.
    public static func digest(user: String, password: String, account: String? = nil) -> DigestScheme {
        DigestScheme(user: user, password: password, account: account)
    }
}

extension Request {
    /// Returns whether the response needs no hash of the body, or the body can be read one more time for the hash.
    fileprivate func canBeHashed(for response: DigestResponse) -> Bool { response.quality != .authInt || body.replay.canRestart }
}

extension RequestBody {
    /// Returns the hash of all bytes, as hexadecimal digits.
    fileprivate func digits(of algorithm: DigestResponse.Algorithm) async throws -> String {
        var hash = algorithm.hash
        if let data = bufferedData {
            hash.update(data)
            return hash.digits
        }
        let source = try await open()
        defer { source.abandon() }
        while let piece = try await source.next() { hash.update(piece) }
        return hash.digits
    }
}

/// The last challenge of each origin that has accepted a proof, and the number of requests with each nonce.
///
/// Some servers refuse counts that arrive out of order. Therefore only the challenged request uses a new nonce until the server
/// accepts the nonce.
private final class DigestSessions: Sendable {
    private struct Tables: Sendable {
        var responses = BoundedTable<Origin, DigestResponse>(limit: 1_000)
        var counts = NonceCounts(limit: 1_000)
    }

    private let tables = Mutex(Tables())

    /// Returns the challenge and the count of the next request; `nil` if the origin has not accepted a proof.
    func next(for origin: Origin) -> (DigestResponse, Int)? {
        tables.withLock { tables in
            guard let response = tables.responses.updateIfPresent(origin, { $0 }) else { return nil }
            return (response, tables.counts.next(for: response.nonce, at: origin))
        }
    }

    /// Returns the count of the next request in response to a challenge: 1 for a new nonce.
    func begin(_ response: DigestResponse, at origin: Origin) -> Int {
        tables.withLock { $0.counts.next(for: response.nonce, at: origin) }
    }

    /// Records that the server has accepted the response to a challenge.
    func record(_ response: DigestResponse, at origin: Origin) {
        tables.withLock { tables in tables.responses.update(origin, default: response) { $0 = response } }
    }

    /// Records that the server no longer accepts this nonce.
    func forget(_ nonce: String, at origin: Origin) {
        tables.withLock { tables in
            if tables.responses[origin]?.nonce.isExactly(nonce) == true { tables.responses.removeValue(forKey: origin) }
        }
    }

    func continueWith(_ nonce: String, at origin: Origin) {
        tables.withLock { tables in _ = tables.responses.updateIfPresent(origin) { $0.nonce = nonce } }
    }
}

/// The number of requests that were sent with each of the latest nonces. If a server challenges several requests at the same time,
/// each request gets its own nonce.
struct NonceCounts: Sendable {
    private struct Key: Hashable, Sendable {
        let origin: Origin?
        let nonce: OctetKey
    }

    private var table: BoundedTable<Key, Int>

    init(limit: Int) { table = BoundedTable(limit: limit) }

    /// Returns the count of the next request: 1 for a new nonce.
    mutating func next(for nonce: String, at origin: Origin?) -> Int {
        table.update(Key(origin: origin, nonce: OctetKey(nonce)), default: 0) { count in
            count += 1
            return count
        }
    }
}
#endif
