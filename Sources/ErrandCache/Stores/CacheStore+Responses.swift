public import ErrandCore

/// Functions that read and fill a store without a request to a server.
///
/// The request must have the form that a stack passes to its cache. The URL must be absolute. For the responses of an account, the request
/// must have the account's identity in ``/ErrandCore/RequestOptions/credentialIdentity``. `policy` must be the policy of the stack's cache.
/// A store does not know the layer `server` of a stack. Therefore, for a relative URL, all functions throw an
/// ``/ErrandCore/InvalidURLError``.
///
/// Several stacks may share the store. A response whose body has no content coding, or was decoded, serves every stack. A response with
/// `Content-Encoding` serves only the stacks whose transport does not decode bodies.
extension CacheStore {
    /// Returns whether the store has a response to a request, fresh or stale.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - policy: the policy of the cache. Default: a private cache.
    ///   - now: the time by which the age of the response is computed, for tests. `nil`, the default: the clocks of the system.
    /// - Throws: the errors of the store; `InvalidURLError` for a relative URL.
    public func contains(
        _ request: Request, policy: CachePolicy = .standard, now: (@Sendable () -> Date)? = nil
    ) async throws -> Bool {
        try await serving(request, policy, now) != nil
    }

    /// Returns the stored response to a request, fresh or stale; `nil` if there is no such response. `metadata.cacheStatus` says whether
    /// the response is stale.
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
    ///   - now: the time by which the age of the response is computed, for tests. `nil`, the default: the clocks of the system.
    /// - Throws: the errors of the store; `InvalidURLError` for a relative URL.
    public func response(
        for request: Request, policy: CachePolicy = .standard, now: (@Sendable () -> Date)? = nil
    ) async throws -> Response? {
        guard let serving = try await serving(request, policy, now) else { return nil }
        guard let source = try await body(of: serving.entry.id, offsets: serving.offsets) else { return nil }
        let body = ResponseBody(source, expectedLength: serving.offsets.byteCount, request: request)
        return Response(serving, body: body, request: request)
    }

    /// Stores a response, as if the server had sent it just now in response to a request.
    ///
    /// - Parameters:
    ///   - response: the response, whose body is read into memory.
    ///   - request: the request.
    ///   - policy: the policy of the cache. Default: a private cache.
    ///   - now: the time by which the age of the response is computed, for tests. `nil`, the default: the clocks of the system.
    /// - Returns: whether the response was stored. False if the rules of HTTP forbid the storage, or the store does not keep the response.
    /// - Throws: the errors of the store, and of the body; `InvalidURLError` for a relative URL. If the function throws, the body is
    ///   released.
    @discardableResult
    public func store(
        _ response: Response, for request: Request, policy: CachePolicy = .standard, now: (@Sendable () -> Date)? = nil
    ) async throws -> Bool {
        let runtime = CacheRuntime(
            self, policy, isDecoded: response.metadata.isDecoded, clock: ContinuousClock(), now: CacheInstant.clock(now))
        let cached: CacheRequest
        do {
            cached = try runtime.wholeRequest(request, mode: .reload)
        } catch {
            response.discard()
            throw error
        }
        let bytes = try await response.body.collect()
        guard runtime.engine.refusal(of: response, to: cached) == nil else { return false }
        guard let lookup = try await cached.lookUp(by: policy, { try await lookUp($0) }) else { return false }
        let now = runtime.now()
        let reception = runtime.engine.receive(
            response.head, to: cached, after: CacheForward(reason: .uriMiss), among: lookup.entries, sentAt: now, at: now)
        let changed = try await runtime.change(reception, of: cached, after: lookup, for: request) ?? lookup
        guard case .pass(let write?) = reception.outcome, write.before == nil, write.after == nil,
            let (head, _) = write.finished(receivedBytes: Int64(bytes.count), isComplete: true), let key = cached.key(of: head, by: policy)
        else { return false }
        do {
            let writer = try await makeWriter(for: key, head: head, expectedBytes: Int64(bytes.count), since: changed.generation)
            if !bytes.isEmpty { try await writer.write(bytes) }
            if let pointer = SearchRule.pointer(to: head, of: key, after: changed) { try await self.write(pointer) }
            _ = try await writer.publish(head, replacing: write.replaces)
            return true
        } catch is CacheStatus.Refusal {
            return false
        }
    }

    /// Stores a pointer, unless the store refuses the pointer.
    func write(_ pointer: SearchRule.Pointer) async throws {
        do {
            let writer = try await makeWriter(for: pointer.key, head: pointer.head, expectedBytes: 0, since: pointer.generation)
            _ = try await writer.publish(pointer.head, replacing: [])
        } catch is CacheStatus.Refusal {}
    }

    private func serving(_ request: Request, _ policy: CachePolicy, _ now: (@Sendable () -> Date)?) async throws -> CacheServing? {
        let runtime = CacheRuntime(self, policy, isDecoded: false, clock: ContinuousClock(), now: CacheInstant.clock(now))
        let cached = try runtime.wholeRequest(request, mode: .storedOnly)
        guard let entries = try await cached.lookUp(by: policy, { try await lookUp($0) })?.entries else { return nil }
        switch runtime.engine.decide(cached, among: entries, at: runtime.now()) {
        case .serve(let serving), .serveAndRevalidate(let serving, _): return serving
        case .send, .unavailable: return nil
        }
    }
}

extension CacheRuntime {
    /// Returns the parts of a request with an absolute URL.
    ///
    /// - Throws: `InvalidURLError` for a relative URL.
    fileprivate func wholeRequest(_ request: Request, mode: CachePolicy.Mode) throws -> CacheRequest {
        guard let cached = cacheRequest(request, mode: mode) else {
            throw InvalidURLError(request.options.urlTemplate ?? request.head.path ?? "", .missingHost)
        }
        return cached
    }
}
