#if Auth
public import ErrandCore
public import ErrandFormats
internal import Synchronization

/// The cookies of an app or of an account ([RFC 6265bis](https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis)).
///
/// ```swift
/// let jar = CookieJar()
/// let stack = HTTPStack.default.cookies(jar).server("https://shop.example")
/// ```
///
/// The jar accepts the cookies that a browser accepts:
/// - A cookie belongs to its host, or to a domain that includes the host. Domains that are public suffixes are refused: ``PublicSuffixes``.
/// - `Secure` cookies belong to `https`, to `localhost`, and to the loopback addresses. An insecure origin can't replace or hide a
///   `Secure` cookie.
/// - The prefixes `__Secure-` and `__Host-`, and `SameSite`, are checked: ``/ErrandCore/SiteContext``.
/// - A cookie lives for at most 400 days after the jar has received the cookie.
/// - The attribute `Partitioned` is ignored, because a request of an app has no top-level site.
///
/// The numbers of cookies and octets are limited: ``Limits``. If a limit is exceeded, the jar first evicts expired cookies, and
/// then the least recently used cookies. If a domain or a registrable domain is full, its cookies without `Secure` are evicted
/// before its `Secure` cookies.
///
/// **Store:** with a ``CookieStore``, such as ``FileCookieStore``, the first request loads the cookies. If the store can't be read,
/// requests fail with ``CookieJarError``, and nothing is written. Changes are written in the background, and changes during a write are
/// written together in the next write. Before the app ends, call ``save()``. Session cookies, which have neither `Max-Age` nor `Expires`,
/// are not written.
///
/// Several stacks may share a jar. A separate jar for each account keeps the accounts apart. All methods may be called from any thread.
///
/// **Caches:** if a request carries cookies of this jar, a cache keeps the response for this jar only. If the jar is bound to a durable
/// ``account``, the responses belong to the account. Without an account, the responses belong to the session of the jar, and stay in
/// memory. A session ends when cookies are removed: by the app, or by a server that signs the user out. If another user signs in without a
/// sign-out, call ``removeAll()`` first, because a server may replace the cookies of the first user without removing a cookie.
///
/// Descriptions and mirrors show no cookie.
public final class CookieJar: Sendable {
    /// The limits of a jar.
    public struct Limits: Sendable, Hashable {
        /// The largest number of cookies with one domain, at least 1. Default: 50.
        public var countPerDomain: Int
        /// The largest number of cookies of a registrable domain, such as `example.co.uk`, and its subdomains; at least 1. Default: 180.
        public var countPerSite: Int
        /// The largest number of cookies, at least 1. Default: 3,000.
        public var totalCount: Int
        /// The largest number of octets of all names, values, domains and paths, at least 1. Default: 4 MiB.
        public var totalBytes: Int
        /// The largest number of octets of the `Cookie` field of a request, at least 1. Default: 8 KiB. Cookies with longer paths have
        /// priority. The event ``/ErrandCore/ExchangeEvent/Kind/cookieDecision`` reports the number of cookies that were omitted.
        public var fieldBytes: Int

        /// Creates limits.
        ///
        /// - Precondition: each limit is at least 1.
        public init(
            countPerDomain: Int = 50, countPerSite: Int = 180, totalCount: Int = 3_000, totalBytes: Int = 4 << 20, fieldBytes: Int = 8 << 10
        ) {
            for (name, limit) in [
                ("countPerDomain", countPerDomain), ("countPerSite", countPerSite), ("totalCount", totalCount), ("totalBytes", totalBytes),
                ("fieldBytes", fieldBytes),
            ] { precondition(limit >= 1, "\(name) must be at least 1 (is \(limit))") }
            (self.countPerDomain, self.countPerSite, self.totalCount) = (countPerDomain, countPerSite, totalCount)
            (self.totalBytes, self.fieldBytes) = (totalBytes, fieldBytes)
        }
    }

    struct State: Sendable {
        var table: CookieTable
        /// All removals. A response to a request that began before a removal must not store the removed cookies again.
        var removals = Removals()
        /// The removals that the store does not have yet.
        var unwrittenRemovals = Removals()
        /// The shared exchanges whose cookies were stored: for the ID of each sent request, a digest of the `Set-Cookie` fields.
        var sharedExchanges = BoundedTable<RequestID, Int>(limit: 128)
        /// The identity of the last session, kept because a request must not allocate it again.
        private var session: (number: UInt64, identity: CredentialIdentity)?

        init(table: CookieTable) { self.table = table }

        /// Returns the volatile identity of the current session of a jar without an account.
        mutating func sessionIdentity(ofJar jar: Int) -> CredentialIdentity {
            let number = table.session
            if let session, session.number == number { return session.identity }
            let identity = CredentialIdentity(scheme: "cookies", String(jar), String(number))
            session = (number, identity)
            return identity
        }

        /// Records a removal of all cookies of a site, or of all cookies if `site` is nil.
        mutating func recordRemoval(ofSite site: String? = nil, at date: HTTPDate) {
            let removal = Removals.Removal(use: table.countEvent(), date: date)
            removals.record(removal, ofSite: site)
            guard table.unwritten.hasStore else { return }
            // The store may have cookies that were not loaded yet, or that another process has stored.
            unwrittenRemovals.record(removal, ofSite: site)
            table.unwritten.isPending = true
        }
    }

    enum Work: Hashable, Sendable {
        case load
    }

    private static let lastNumber = Atomic(0)

    /// The number of this jar, which distinguishes the sessions of two jars.
    private let number = CookieJar.lastNumber.add(1, ordering: .relaxed).newValue
    let state: Mutex<State>
    let flights = SingleFlight<Work, Void>()
    let writer = BackgroundWriter()
    let store: (any CookieStore)?
    /// The account to which the cookies belong; `nil` if the jar is bound to no account.
    public let account: CredentialIdentity?
    private let limits: Limits
    let now: @Sendable () -> HTTPDate

    /// Creates a jar.
    ///
    /// - Parameters:
    ///   - store: the store that keeps the cookies between runs of the app. `nil`, the default: the cookies are only in memory.
    ///   - account: the account to which the cookies belong. If `account` is set, ``forget(_:)`` does nothing for another account. Default:
    ///     `nil`.
    ///   - limits: the limits of the jar.
    ///   - now: a closure that returns the current date.
    public init(
        store: (any CookieStore)? = nil, account: CredentialIdentity? = nil, limits: Limits = Limits(),
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        (self.store, self.account, self.limits, self.now) = (store, account, limits, { HTTPDate(now()) })
        state = Mutex(State(table: CookieTable(limits: limits, hasStore: store != nil)))
    }

    // MARK: Cookies

    /// The number of cookies. Some of the cookies may have expired.
    public var count: Int { state.withLock(\.table.count) }

    /// All cookies that have not expired, in the order in which the cookies were created.
    ///
    /// With a store, call ``load()`` first. Before the load, only the cookies in memory are returned.
    public var cookies: [Cookie] {
        state.withLock { $0.table.unexpired(at: now()) }
    }

    /// Returns the cookies that a request of the app to a URL carries, in sending order: longer paths first, then older cookies. The limit
    /// of the `Cookie` field does not apply.
    ///
    /// With a store, call ``load()`` first. Before the load, only the cookies in memory are returned.
    public func cookies(for url: HTTPURL) -> [Cookie] {
        let request = CookieRequest(url)
        return state.withLock { state in state.table.matches(request, at: now).compactMap { state.table[$0] } }
    }

    /// Stores a cookie in place of the cookie with the same ``Cookie/key``. An expired cookie is not stored, and only removes the stored
    /// cookie.
    ///
    /// The expiry date is limited to 400 days from now. The new cookie keeps the creation date of the replaced cookie.
    ///
    /// - Throws: ``CookieRefusedError`` if the cookie is invalid or too long, if its attributes do not fit its name or each other, if its
    ///   domain is a public suffix, or if the jar has no room.
    public func set(_ cookie: Cookie) throws(CookieRefusedError) {
        let now = now()
        let cookie = cookie.with(expires: cookie.expires?.atMost(SetCookie.longestLifetime, after: now), created: cookie.created)
        try CookiePolicy.check(cookie)
        let hasRoom = state.withLock { $0.table.set(cookie, at: now) }
        writeInBackground()
        guard hasRoom else { throw CookieRefusedError(.noRoom, cookie.name) }
    }

    /// Stores the cookie of a `Set-Cookie` field, as if a response to a request of the app had the field.
    ///
    /// - Parameters:
    ///   - field: the value of the field.
    ///   - url: the URL of the request.
    /// - Throws: ``CookieRefusedError``.
    public func set(_ field: SetCookie, from url: HTTPURL) throws(CookieRefusedError) {
        let (request, now) = (CookieRequest(url), now())
        let cookie = try CookiePolicy.cookie(field, of: request, at: now)
        let refusal = state.withLock { $0.set(cookie, isSecureOrigin: request.isSecure, at: now) }
        writeInBackground()
        if let refusal { throw refusal }
    }

    /// Removes a cookie.
    ///
    /// - Returns: whether the jar had the cookie.
    @discardableResult
    public func remove(_ key: Cookie.Key) -> Bool {
        defer { writeInBackground() }
        return state.withLock { $0.table.remove(key) }
    }

    /// Removes all cookies. A response to a request that began before the removal stores no cookies.
    public func removeAll() {
        state.withLock { state in
            state.recordRemoval(at: now())
            state.table.removeAll { _ in true }
        }
        writeInBackground()
    }

    /// Removes all cookies of the registrable domain of a URL, such as `example.co.uk`. A response to a request that began before the
    /// removal stores no cookies of this site.
    public func removeAll(ofSite url: HTTPURL) { removeAll(ofSite: CookieRequest.siteName(of: url.host)) }

    func removeAll(ofSite site: String) {
        state.withLock { state in
            state.recordRemoval(ofSite: site, at: now())
            state.table.removeAll(ofSite: site)
        }
        writeInBackground()
    }

    /// Removes the session cookies: the cookies without an expiry date.
    public func removeSessionCookies() { state.withLock { $0.table.removeAll { $0.expires == nil } } }
}

extension CookieJar.State {
    /// Stores a cookie of a response.
    ///
    /// - Returns: the refusal; `nil` if the cookie was stored.
    mutating func set(_ cookie: Cookie, isSecureOrigin: Bool, at now: HTTPDate) -> CookieRefusedError? {
        if !isSecureOrigin, !cookie.isSecure, table.hasSecureCookie(under: cookie, at: now) {
            return CookieRefusedError(.overlaysSecureCookie, cookie.name)
        }
        return table.set(cookie, at: now) ? nil : CookieRefusedError(.noRoom, cookie.name)
    }
}

// MARK: - The middleware

extension CookieJar {
    /// The cookies of a request.
    struct Selection: Sendable {
        /// The value of the `Cookie` field; empty if there is no cookie.
        var octets: [UInt8] = []
        /// The number of cookies in the field.
        var sent = 0
        /// The number of cookies that have no room in the field.
        var leftOut = 0
        /// The account of the jar; if the jar has no account, the session of the jar. `nil` if there is no cookie.
        var identity: CredentialIdentity?
        /// The number of the last use of a cookie before the request.
        let use: UInt64
    }

    /// The selection of a request that carries no cookie of the jar.
    var emptySelection: Selection { Selection(use: state.withLock(\.table.lastUse)) }

    /// Returns the cookies that a request carries; `nil` if the store must be loaded first. A request with a `Cookie` field of the app
    /// carries no cookie of the jar. Allocates nothing for a request without a cookie.
    func selection(for request: Request) -> Selection? {
        state.withLock { state in
            guard state.table.unwritten.isLoaded else { return nil }
            var selection = Selection(use: state.table.lastUse)
            guard state.table.count > 0 else { return selection }
            // The rest of the request is read only if there are cookies of the host.
            let domains = request.knownHost.map { state.table.domains(including: $0) }
            guard domains?.isEmpty != true, let target = CookieRequest(request) else { return selection }
            let found = state.table.matches(target, of: domains ?? state.table.domains(including: target.origin.host), at: now)
            guard !found.isEmpty, !request.hasCookie else { return selection }
            write(found, of: &state.table, to: &selection)
            if !selection.octets.isEmpty { selection.identity = account ?? state.sessionIdentity(ofJar: number) }
            return selection
        }
    }

    /// Writes the `Cookie` field of a request.
    private func write(_ found: [Int], of table: inout CookieTable, to selection: inout Selection) {
        var bytes = 0
        for index in found { bytes += table.fieldBytes(index) }
        var writer = CookieFieldWriter(limitBytes: limits.fieldBytes, expectedBytes: bytes)
        for index in found where table.write(index, to: &writer) { table.use(index) }
        (selection.octets, selection.sent, selection.leftOut) = (writer.octets, writer.count, found.count - writer.count)
    }

    /// Stores the cookies of a response.
    ///
    /// - Parameters:
    ///   - fields: the fields of the response.
    ///   - request: the request of the response.
    ///   - use: the number of the last use before the request: ``Selection/use``.
    ///   - sent: the ID of the request that was sent on the wire.
    ///   - isShared: whether the response belongs to the exchange of another request. If `isShared` is true, the cookies are stored only if
    ///     the jar has not stored the cookies of that exchange yet.
    /// - Returns: the number of all cookies in the fields, and the refused cookies.
    func receive(
        _ fields: HTTPFields, of request: CookieRequest, since use: UInt64, sent: RequestID, isShared: Bool
    ) -> (count: Int, refused: [CookieRefusedError]) {
        let now = now()
        var (received, refused, hasher): ([Cookie], [CookieRefusedError], Hasher) = ([], [], Hasher())
        var count = 0
        for field in fields where field.name == .setCookie {
            count += 1
            field.withUnsafeBytesOfValue { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
            do throws(CookieRefusedError) {
                received.append(try CookiePolicy.cookie(try Self.read(field), of: request, at: now))
            } catch {
                refused.append(error)
            }
        }
        let digest = hasher.finalize()
        let isSecureOrigin = received.allSatisfy(\.isSecure) || request.isSecure
        state.withLock { state in
            if isShared, state.sharedExchanges[sent] == digest {
                (count, refused) = (0, [])
                return
            }
            state.sharedExchanges.update(sent, default: digest) { $0 = digest }
            let removal = state.removals.last(ofSite: CookieRequest.siteName(of: request.origin.host))
            guard use >= removal?.use ?? 0 else {
                refused += received.map { CookieRefusedError(.removed, $0.name) }
                return
            }
            for cookie in received {
                if let refusal = state.set(cookie, isSecureOrigin: isSecureOrigin, at: now) { refused.append(refusal) }
            }
        }
        writeInBackground()
        return (count, refused)
    }

    private static func read(_ field: HTTPField) throws(CookieRefusedError) -> SetCookie {
        do throws(SetCookie.Problem) {
            return try field.withUnsafeBytesOfValue { octets throws(SetCookie.Problem) in try SetCookie(octets: octets) }
        } catch {
            throw CookieRefusedError(error == .tooManyOctets ? .tooManyOctets : .invalid, "")
        }
    }
}

extension CookieJar: CustomStringConvertible, HidesStorage {
    /// The number of cookies: `cookie jar, 12 cookies`.
    public var description: String {
        let count = count
        return "cookie jar, \(count.counted("cookie"))"
    }
}
#endif
