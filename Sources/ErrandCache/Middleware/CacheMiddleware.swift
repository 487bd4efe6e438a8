public import ErrandCore

/// Stores responses, and returns stored responses without a request, by the rules of HTTP caching ([RFC
/// 9111](https://www.rfc-editor.org/rfc/rfc9111)).
///
/// ```swift
/// let cache = MemoryCacheStore(bytes: 50_000_000)
/// let stack = HTTPStack.default.cache(in: cache).retry().server("https://api.example")
///
/// let first = try await stack.send(Request(.get, "/news"))
/// _ = try await first.body.collect()                            // is stored while it is read
/// let second = try await stack.send(Request(.get, "/news"))
/// print(second.metadata.cacheStatus?.description ?? "")         // hit; ttl=60
/// ```
///
/// **Requests:** a fresh response is returned without a request. A stale response is returned only after the server has confirmed the
/// response (`If-None-Match`). With `stale-while-revalidate`, a stale response is returned immediately, and is revalidated in the
/// background. If the server fails, `stale-if-error` applies. If the request has `only-if-cached`, and no stored response can be used, the
/// response is a 504.
///
/// **Bodies:** a body is stored while it is read. Later requests can use the stored response when the whole body was read. If the reader
/// stops early, and the response has a strong validator, the cache keeps the bytes that have arrived. For a later request, the cache can
/// request only the rest. If the store is slower than the reader, unwritten bytes stay in memory: at most 1 MiB of one body, and
/// at most 2 MiB of all bodies of the store. The store delays a reader by at most 50 ms in total. If the store needs more time, the
/// response is not stored.
///
/// **Accounts:** a response to a request with credentials is stored only for the account of the credentials:
/// ``/ErrandCore/RequestOptions/credentialIdentity``. `authenticate` and `cookies` set this account. If a request has no identity, and has
/// `Authorization`, `Cookie` or another field that is sensitive by ``/ErrandCore/RequestOptions/sensitivity``, the cache is not used. If a
/// layer inside the cache adds such a field, and the request has no identity, the response is not stored. To remove an account's responses,
/// sign out with `tokens.signOut(clearing: [cache])`. A cache with the policy ``CachePolicy/shared`` has no accounts, and follows [RFC
/// 9111, section 3.5](https://www.rfc-editor.org/rfc/rfc9111#section-3.5).
///
/// **Failures:** if the store fails, or needs more than a second for a result, the call continues without the store. The middleware does
/// not use the store for 1 second after the first failure. If the first use after this pause fails too, the next pause is twice as long,
/// up to 60 seconds. After a success, the next pause has 1 second again. If only the writing of a body has failed, the store is still read.
/// If a server responds to the conditions of the cache with 400 or 431, for example because the head is too long, the request is sent once
/// more without conditions.
///
/// The first failure of each kind is a warning in `metadata.warnings` of the next response from the server. `log` writes the warning. If an
/// outer layer sends the request again, the final response has the warning. If the call fails, the warning is lost. The event
/// ``/ErrandCore/ExchangeEvent/Kind/cacheDecision`` reports each failure. Each store counts its own kinds, and reports a kind again after
/// 32 other kinds.
///
/// The status of the cache is in `metadata.cacheStatus`, and the event ``/ErrandCore/ExchangeEvent/Kind/cacheDecision`` reports the status.
/// If a response is not stored, ``/ErrandCore/CacheStatus/refusal`` says why. A hit has no exchange.
///
/// **Two caches:** a stack may have two caches, such as a small store in memory around a store on the disk. The outer cache treats the
/// inner cache as a part of the server. `metadata.cacheStatus` describes the cache whose stored response was used. If neither cache has
/// used a stored response, `metadata.cacheStatus` describes the inner cache. If a request allows only stored responses, only the outer
/// cache is asked.
///
/// **Place:** inside `server`, `redirect`, `authenticate`, `cookies` and `decompress`; outside all layers that limit, share or measure
/// exchanges.
///
/// **Per request:** `request.options.cache` sets the mode, such as `.use(.reload)`. With `.off`, nothing is looked up or stored. The
/// response to an unsafe method, and a response with `Clear-Site-Data: "cache"`, still remove stored responses.
public struct CacheMiddleware: HTTPMiddleware {
    /// The owner of the background revalidations. The revalidations are cancelled when the last stack with the middleware is released.
    private final class Owner: Sendable {
        private let work: CacheWork
        private let number: Int

        init(_ work: CacheWork) { (self.work, number) = (work, work.nextNumber()) }

        deinit { work.revalidations.cancelAll { [number] in $0.cache == number } }

        /// Returns the key of a background revalidation.
        func revalidation(of key: CacheKey) -> CacheWork.Revalidation { .init(cache: number, key: key) }
    }

    /// The timeout of a background revalidation.
    static let revalidationLimit: Duration = .seconds(30)

    private let runtime: CacheRuntime
    private let owner: Owner

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - store: the store. Several stacks may share a store. A stack whose transport decodes bodies does not use stored bytes with a
    ///     content coding.
    ///   - policy: the rules. Default: a private cache.
    ///   - transportDecodes: whether the transport decodes bodies: ``/ErrandCore/TransportCapabilities/decodesContent``. Default: false.
    ///   - clock: the clock that measures waits.
    ///   - now: the time by which the age of a response is computed, for tests. If this time goes back, a stored response gets no older.
    ///     The pauses after a failure of the store are measured by this time, too. `nil`, the default: the clocks of the system, and a
    ///     change of the wall clock has no effect on the age.
    public init(
        in store: some CacheStore, policy: CachePolicy = .standard, transportDecodes: Bool = false,
        clock: any Clock<Duration> = ContinuousClock(), now: (@Sendable () -> Date)? = nil
    ) {
        self.init(in: store, policy: policy, transportDecodes: transportDecodes, clock: clock, instant: CacheInstant.clock(now))
    }

    init(
        in store: some CacheStore, policy: CachePolicy, transportDecodes: Bool = false, clock: any Clock<Duration> = ContinuousClock(),
        instant: @escaping @Sendable () -> CacheInstant
    ) {
        runtime = CacheRuntime(store, policy, isDecoded: transportDecodes, clock: clock, now: instant)
        owner = Owner(store.work)
    }

    public var place: MiddlewarePlace { .cache }
    public var appliesToPreparedRequests: Bool { false }
    public var label: String { "cache(in: \(runtime.store.label), \(runtime.engine.policy))" }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .outside(.hedge, because: "a hit would be read twice"),
            .outside(.circuitBreaker, because: "a hit would fail while the origin is failing"),
            .outside(.waitForNetwork, because: "a hit would wait for a network"),
            .outside(.concurrencyLimit, because: "a hit would wait for other exchanges"),
            .outside(.delay, because: "a hit would be delayed"),
        ]
    }

    /// Returns a stored response if the rules allow its use. If no stored response can be used, sends the request and stores the response.
    ///
    /// - Throws: the errors of `next`, unless `stale-if-error` applies; `CancellationError`.
    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard request.options.upgrade == nil else { return try await next.send(request) }
        guard let mode = request.options.cache.resolved(.standard) else { return try await sendUncached(request, to: next) }
        guard let cached = runtime.cacheRequest(request, mode: mode) else {
            // The request has no absolute URL. A request that allows only a stored response is never sent.
            let isOnlyIfCached = mode == .storedOnly || CacheControl(request.headers).contains(.onlyIfCached)
            return isOnlyIfCached ? .notStored(request, for: .bypass) : try await next.send(request)
        }
        var lookup: CacheLookup?
        if cached.isStorable { lookup = try await runtime.lookUp(cached, for: request) }
        while true {
            let entries = lookup?.entries ?? []
            switch runtime.engine.decide(cached, among: entries, at: runtime.now()) {
            case .serve(let serving):
                if let response = try await response(serving, to: request) { return response }
            case .serveAndRevalidate(let serving, let forward):
                if let response = try await response(serving, to: request) {
                    revalidate(serving.entry, CacheCall(request: request, cached: cached, lookup: lookup), forward, next)
                    return response
                }
            case .send(let forward):
                request.report(.cacheDecision, decision: .init(continues: true, "fwd=\(forward.reason.rawValue)"))
                let call = CacheCall(request: request, cached: cached, lookup: lookup)
                return try await CacheExchange(runtime, call).send(forward, to: next)
            case .unavailable(let reason):
                return .notStored(request, for: reason)
            }
            // The entry has disappeared since the look-up.
            lookup = lookup.map { CacheLookup(entries: [], generation: $0.generation, noVarySearch: $0.noVarySearch) }
        }
    }

    /// Returns a stored response; `nil` if its body has disappeared.
    private func response(_ serving: CacheServing, to request: Request) async throws -> Response? {
        guard let body = try await runtime.body(of: serving, for: request) else { return nil }
        request.report(.cacheDecision, decision: .init(continues: false, serving.status.description))
        return Response(serving, body: body, request: request)
    }

    /// Sends a request that does not use the cache. However, the response to an unsafe method, and a response with `Clear-Site-Data`, still
    /// remove stored responses.
    private func sendUncached(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard !request.method.isSafe else {
            let response = try await next.send(request)
            // Most responses clear nothing, and need no parts of the request.
            if response.headers.contains(.clearSiteData), let cached = runtime.cacheRequest(request, mode: .standard) {
                try await runtime.clear(by: response, to: cached)
            }
            return response
        }
        guard let cached = runtime.cacheRequest(request, mode: .standard) else { return try await next.send(request) }
        let call = CacheCall(request: request, cached: cached, lookup: nil)
        return try await CacheExchange(runtime, call).send(CacheForward(reason: .bypass, mayStore: false), to: next)
    }

    /// Confirms a stored response in the background, unless another call is confirming it.
    private func revalidate(_ entry: CacheEntry, _ call: CacheCall, _ forward: CacheForward, _ next: some HTTPSender) {
        guard let key = call.cached.key(of: entry.head, by: runtime.engine.policy) else { return }
        // The work must not keep a reference to the owner, because the release of the owner ends the work.
        runtime.store.work.revalidations.begin(owner.revalidation(of: key)) { [runtime] in
            var call = call
            (call.request, call.takesWarnings) = (call.request.asInnerCall(), false)
            call.request.deadline = Deadline(after: Self.revalidationLimit, clock: runtime.clock)
            let response = try await CacheExchange(runtime, call).send(forward, to: next)
            defer { response.discard() }
            for try await _ in response.body {}
        }
    }
}

extension Response {
    /// The response if no stored response can be used, and no request may be sent ([RFC 9111, section
    /// 5.2.1.7](https://www.rfc-editor.org/rfc/rfc9111#section-5.2.1.7)).
    fileprivate static func notStored(_ request: Request, for reason: CacheStatus.ForwardReason) -> Response {
        let status = CacheStatus(.unavailable(reason))
        var response = Response(head: HTTPResponse(status: .gatewayTimeout), request: request)
        response.metadata.cacheStatus = status
        response.metadata.statusNote = "the request allows only a stored response, and \(reason.words)"
        request.report(.cacheDecision, decision: .init(continues: false, "\(status): \(reason.words), and nothing was sent"))
        return response
    }
}

private enum CacheOptionKey: OptionKey {
    static var defaultValue: OptionOverride<CachePolicy.Mode> { .inherited }
    static var requiredMiddleware: MiddlewarePlace { .cache }
    static var crossesOrigins: Bool { true }
}

extension RequestOptions {
    /// The way in which this request uses the cache. `.off`: nothing is looked up or stored. Default: `.inherited`, the rules of HTTP.
    ///
    /// ```swift
    /// request.options.cache = .use(.reload)          // from the server, for example after "pull to refresh"
    /// request.options.cache = .use(.storedElseLoad)  // a stored response of any age, if there is one
    /// ```
    public var cache: OptionOverride<CachePolicy.Mode> {
        get { self[CacheOptionKey.self] }
        set { self[CacheOptionKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Stores responses, and returns stored responses without a request ([RFC 9111](https://www.rfc-editor.org/rfc/rfc9111)). See
    /// ``CacheMiddleware``.
    ///
    /// ```swift
    /// let stack = HTTPStack.default.cache(in: .memory(bytes: 50_000_000))
    ///
    /// var refresh = try Request(.get, url: "https://api.example/news")
    /// refresh.options.cache = .use(.reload)
    /// let news = try await stack.send(refresh)
    /// ```
    ///
    /// - Parameters:
    ///   - store: the store. Several stacks may share a store.
    ///   - policy: the rules. Default: a private cache, by the rules of HTTP.
    ///   - now: the time by which the age of a response is computed, for tests. `nil`, the default: the clocks of the system.
    public func cache(
        in store: some CacheStore, policy: CachePolicy = .standard, now: (@Sendable () -> Date)? = nil
    ) -> HTTPStack {
        let stack = HTTPStack(self)
        return stack.wrapped(
            by: CacheMiddleware(
                in: store, policy: policy, transportDecodes: stack.capabilities.contains(.decodesContent), now: now))
    }
}
