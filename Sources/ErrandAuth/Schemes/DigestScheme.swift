#if Auth
public import ErrandCore
internal import ErrandFormats
internal import Synchronization

/// A user and a password that are proved without sending the password ([RFC 7616](https://www.rfc-editor.org/rfc/rfc7616)).
///
/// ```swift
/// stack.authenticate(.digest(user: "joe", password: password))
/// ```
///
/// The scheme knows:
/// - MD5, SHA-256, SHA-512-256 and SHA-512, each with `-sess`
/// - the qualities `auth` and `auth-int`, and none as in [RFC 2069](https://www.rfc-editor.org/rfc/rfc2069)
/// - `userhash`
/// - `stale`, and `nextnonce` in `Authentication-Info`
///
/// The scheme responds to the strongest challenge of a server, also to challenges in unusual forms: see
/// ``/ErrandFormats/AuthenticationChallenge/parse(_:)``. The server's own proof (`rspauth`) is not checked. The user is not normalized.
///
/// The first request to an origin costs a round trip. After that, each request carries a proof with the server's last nonce and the next count. For
/// `auth-int`, a body that is not in memory is read one more time for its hash. If an inner layer such as `compressRequests` changes the body, the proof is
/// wrong: put such a layer outside.
///
/// Copies share their nonces, for at most 1,000 origins. Digest protects the password, and not the request: use Digest over TLS.
public struct DigestScheme: AuthenticationScheme {
    private let user: String
    private let password: String
    private let sessions: DigestSessions
    private let clientNonce: @Sendable () -> String
    private let account: String?

    /// Creates the scheme.
    ///
    /// - Parameters:
    ///   - user: without control characters. Any other fails each request with ``AuthenticationError``.
    ///   - password: the password.
    ///   - account: the name under which stores keep the account's data; see ``BasicScheme/init(user:password:isPreemptive:account:)``. `nil`, the default:
    ///     what belongs to the account is kept in memory alone.
    public init(user: String, password: String, account: String? = nil) {
        self.init(user: user, password: password, account: account, clientNonce: Self.randomClientNonce)
    }

    /// 128 bits of chance.
    @Sendable static func randomClientNonce() -> String { hex(randomOctets(16)) }

    init(user: String, password: String, account: String? = nil, clientNonce: @escaping @Sendable () -> String) {
        (self.user, self.password, self.account, self.clientNonce) = (user, password, account, clientNonce)
        sessions = DigestSessions()
    }

    public var label: String { "digest" }
    /// False: the scheme sends no request.
    public var sendsRequests: Bool { false }

    /// Returns the proof that a request carries before the server has asked for any; `nil` to wait for a challenge.
    ///
    /// - Throws: ``AuthenticationError``, and the error of a body that can't be read.
    public func proof(for request: Request) async throws -> AuthenticationProof? {
        guard let origin = request.origin, let (response, count) = sessions.next(for: origin), request.canBeHashed(for: response) else {
            return nil
        }
        return try await proof(response, count, for: request, isFresh: false)
    }

    /// Returns the proof that answers a challenge; `nil` if the server does not offer this scheme.
    ///
    /// - Throws: ``AuthenticationError``, and the error of a body that can't be read.
    public func proof(for request: Request, inResponseTo challenge: ServerChallenge) async throws -> AuthenticationProof? {
        guard let origin = request.origin,
            let response = DigestResponse.strongest(of: challenge.challenges, hashesBody: request.body.replay.canRestart)
        else { return nil }
        if case .digest(let refused, _) = challenge.refused?.context { sessions.forget(refused.nonce, at: origin) }
        let count = sessions.begin(response, at: origin)
        return try await proof(response, count, for: request, isFresh: true)
    }

    /// Keeps the nonce for the next requests, and takes the next one from `Authentication-Info`.
    public func noteAccepted(_ proof: AuthenticationProof, for request: Request, by response: HTTPResponse) {
        guard let origin = request.origin, case .digest(let digest, let isFresh) = proof.context else { return }
        if isFresh { sessions.note(digest, at: origin) }
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
        // A proof with a nonce of the server's own choice is another one only if the last nonce was too old.
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
    /// A user and a password that are proved without sending the password. See ``DigestScheme``.
    ///
    /// - Parameters:
    ///   - user: without control characters.
    ///   - password: the password.
    ///   - account: the name under which stores keep the account's data; `nil`, the default, for memory alone.
    public static func digest(user: String, password: String, account: String? = nil) -> DigestScheme {
        DigestScheme(user: user, password: password, account: account)
    }
}

extension Request {
    /// Whether the body can be read once more than it is sent, where that is needed.
    fileprivate func canBeHashed(for response: DigestResponse) -> Bool { response.quality != .authInt || body.replay.canRestart }
}

extension RequestBody {
    /// The hash of all bytes, as hexadecimal digits.
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

/// The last challenge of each origin whose proof was accepted, and how many requests were sent with each nonce.
///
/// Only the request that was challenged uses a new nonce, until the server accepts it: some servers refuse counts that arrive out of order.
private final class DigestSessions: Sendable {
    private struct Tables: Sendable {
        var responses = BoundedTable<Origin, DigestResponse>(limit: 1_000)
        var counts = NonceCounts(limit: 1_000)
    }

    private let tables = Mutex(Tables())

    /// The challenge and the count of the next request; `nil` if no proof was accepted.
    func next(for origin: Origin) -> (DigestResponse, Int)? {
        tables.withLock { tables in
            guard let response = tables.responses.updateIfPresent(origin, { $0 }) else { return nil }
            return (response, tables.counts.next(for: response.nonce, at: origin))
        }
    }

    /// The count of the next request in response to a challenge: 1 for a new nonce.
    func begin(_ response: DigestResponse, at origin: Origin) -> Int {
        tables.withLock { $0.counts.next(for: response.nonce, at: origin) }
    }

    /// The server has accepted the response to a challenge.
    func note(_ response: DigestResponse, at origin: Origin) {
        tables.withLock { tables in tables.responses.update(origin, default: response) { $0 = response } }
    }

    /// The server does not accept this nonce any more.
    func forget(_ nonce: String, at origin: Origin) {
        tables.withLock { tables in
            if tables.responses[origin]?.nonce.isExactly(nonce) == true { tables.responses.removeValue(forKey: origin) }
        }
    }

    func continueWith(_ nonce: String, at origin: Origin) {
        tables.withLock { tables in _ = tables.responses.updateIfPresent(origin) { $0.nonce = nonce } }
    }
}

/// How many requests were sent with each of the last nonces. A server hands out one to each of the requests that it challenges at the same time.
struct NonceCounts: Sendable {
    private struct Key: Hashable, Sendable {
        let origin: Origin?
        let nonce: OctetKey
    }

    private var table: BoundedTable<Key, Int>

    init(limit: Int) { table = BoundedTable(limit: limit) }

    /// The count of the next request: 1 for a new nonce.
    mutating func next(for nonce: String, at origin: Origin?) -> Int {
        table.update(Key(origin: origin, nonce: OctetKey(nonce)), default: 0) { count in
            count += 1
            return count
        }
    }
}
#endif
