public import ErrandCore

/// Looking at a store, and filling it, without a request to a server.
///
/// The request must be as it reaches the cache: with an absolute URL, and, for the responses of an account, with the account's identity in
/// ``/ErrandCore/RequestOptions/credentialIdentity``. `policy` must be the policy of the stack's cache.
extension CacheStore {
    /// Returns whether the store has a response to a request, fresh or stale.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - policy: the policy of the cache. Default: a private cache.
    /// - Throws: the errors of the store.
    public func contains(_ request: Request, policy: CachePolicy = .standard) async throws -> Bool {
        try await serving(request, policy) != nil
    }

    /// Returns the stored response to a request, fresh or stale; `nil` if there is none. `metadata.cacheStatus` says whether the response
    /// is stale.
    ///
    /// ```swift
    /// if let response = try await cache.response(for: request) {
    ///     show(try await response.body.collect(), isStale: response.metadata.cacheStatus?.isStale == true)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - policy: the policy of the cache. Default: a private cache.
    /// - Throws: the errors of the store.
    public func response(for request: Request, policy: CachePolicy = .standard) async throws -> Response? {
        guard let serving = try await serving(request, policy) else { return nil }
        let offsets: Range<Int64>
        switch serving.body {
        case .none: offsets = 0..<0
        case .whole: offsets = 0..<serving.entry.head.extent.storedBytes
        case .part(let part): offsets = part
        }
        guard let source = try await body(of: serving.entry.id, offsets: offsets) else { return nil }
        let body = ResponseBody(source, expectedLength: offsets.upperBound - offsets.lowerBound, request: request)
        var response = Response(head: serving.head, body: body, request: request, exchange: ExchangeLifetime(outcome: .complete))
        response.metadata.cacheStatus = serving.status
        return response
    }

    /// Stores a response, as if the server had sent it just now in response to a request.
    ///
    /// - Parameters:
    ///   - response: the response. Its body is read, in memory.
    ///   - request: the request.
    ///   - policy: the policy of the cache. Default: a private cache.
    /// - Returns: whether the response was stored. The rules of HTTP may forbid it, or the store may have no room.
    /// - Throws: the errors of the store, and of the body.
    @discardableResult
    public func store(_ response: Response, for request: Request, policy: CachePolicy = .standard) async throws -> Bool {
        let runtime = CacheRuntime(self, policy, isDecoded: false, clock: ContinuousClock(), now: CacheInstant.current)
        guard let cached = runtime.cacheRequest(request, mode: .reload) else { return false }
        let bytes = try await response.body.collect()
        guard let lookup = try await cached.lookUp(by: policy, { try await lookUp($0) }) else { return false }
        let now = runtime.now()
        let reception = runtime.engine.receive(
            response.head, to: cached, after: CacheForward(reason: .uriMiss), among: lookup.entries, sentAt: now, at: now)
        try await runtime.change(reception, of: cached.url.origin, for: request)
        guard case .pass(let write?) = reception.answer, write.before == nil, write.after == nil,
            let (head, _) = write.finished(receivedBytes: Int64(bytes.count), isComplete: true), let key = cached.key(of: head, by: policy),
            let writer = try await writer(for: key, head: head, expectedBytes: Int64(bytes.count), since: lookup.generation)
        else { return false }
        if !bytes.isEmpty { try await writer.write(bytes) }
        runtime.writePointer(to: head, of: key, after: lookup, for: request)
        let isStored = try await writer.publish(head, replacing: write.replaces) != nil
        try await runtime.writes.waitUntilIdle()
        return isStored
    }

    private func serving(_ request: Request, _ policy: CachePolicy) async throws -> CacheServing? {
        // Entries with decoded bytes have keys of their own.
        for isDecoded in [false, true] {
            let runtime = CacheRuntime(self, policy, isDecoded: isDecoded, clock: ContinuousClock(), now: CacheInstant.current)
            guard let cached = runtime.cacheRequest(request, mode: .storedOnly),
                let entries = try await cached.lookUp(by: policy, { try await lookUp($0) })?.entries
            else { return nil }
            switch runtime.engine.decide(cached, among: entries, at: runtime.now()) {
            case .serve(let serving), .serveAndRevalidate(let serving, _): return serving
            case .send, .unavailable: continue
            }
        }
        return nil
    }
}
