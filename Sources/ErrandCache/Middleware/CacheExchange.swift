internal import ErrandCore
internal import Synchronization

/// A call that the cache handles.
struct CacheCall: Sendable {
    /// The request, as the outer layers have sent it.
    var request: Request
    /// The parts of the request that decide how the cache handles the request.
    let cached: CacheRequest
    /// The result of the look-up; `nil` if the store was not asked. Nothing is stored without a look-up.
    let lookup: CacheLookup?
    /// Whether the response gets the warnings of the store. False for a revalidation in the background, whose response nobody reads.
    var takesWarnings = true
}

/// Sends the request of a call, and handles the response as the rules decide.
struct CacheExchange: Sendable {
    private let runtime: CacheRuntime
    private let call: CacheCall

    init(_ runtime: CacheRuntime, _ call: CacheCall) { (self.runtime, self.call) = (runtime, call) }

    private var request: Request { call.request }

    /// Sends the request as `forward` says, and returns the response for the caller.
    ///
    /// - Throws: the errors of `next`, unless a stored response replaces a failure; `CancellationError`.
    func send(_ forward: CacheForward, to next: some HTTPSender) async throws -> Response {
        var (forward, entries, outgoing, resends) = (forward, call.lookup?.entries ?? [], request, 0)
        var attempts = CallAttempts()
        while true {
            var sent = outgoing
            forward.apply(to: &sent)
            let sentAt = runtime.now()
            var response: Response
            do {
                response = try await next.send(sent)
            } catch {
                if let stored = try await fallback(forward, after: error) { return stored }
                throw error.restoringFields(of: forward, from: request)
            }
            response.request.restoreFields(of: forward, from: request)
            response = attempts.adding(to: response)
            guard response.upgrade == nil, response.head.status.kind != .informational else { return response }
            if forward.mayStore, let refusal = runtime.engine.refusal(of: response, to: call.cached) {
                (forward.mayStore, forward.innerRefusal) = (false, refusal)
            }
            let reception = runtime.engine.receive(
                response.head, to: call.cached, after: forward, among: entries, sentAt: sentAt, at: runtime.now())
            let lookup: CacheLookup?
            do {
                lookup = try await runtime.change(reception, of: call.cached, after: call.lookup, for: request)
            } catch {
                response.discard()
                throw error
            }
            var again: CacheForward?
            switch reception.outcome {
            case .pass(let write):
                return await storing(response, write, reception.status, after: lookup)
            case .serve(let serving):
                if let stored = try await stored(serving, insteadOf: response, reception.status) { return stored }
            case .complete(let completion):
                if let whole = try await completed(response, completion, reception.status) { return whole }
            case .sendAgain(let next):
                again = next
            }
            // The stored bytes have disappeared, or the response is unusable.
            guard resends < 2 else { return await storing(response, nil, reception.status.refused(.removed)) }
            resends += 1
            if again == nil {
                entries = []
                guard case .send(let unconditional) = runtime.engine.decide(call.cached, among: [], at: runtime.now()) else {
                    return await storing(response, nil, reception.status.refused(.removed))
                }
                again = unconditional
            }
            if let again { forward = again }
            // The response already has the warnings of the earlier responses.
            attempts = CallAttempts()
            outgoing = try await attempts.followUp(with: request, after: .success(response), counting: false, on: runtime.clock)
        }
    }

    // MARK: The responses

    /// Returns the stored response that replaces a failure; `nil` if there is no such response.
    private func fallback(_ forward: CacheForward, after error: any Error) async throws -> Response? {
        if Task.isCancelled || error is CancellationError { throw CancellationError() }
        guard error is TransportError, let serving = runtime.engine.fallback(for: call.cached, after: forward, at: runtime.now()),
            let body = try await runtime.body(of: serving, for: request)
        else { return nil }
        report(serving.status)
        return Response(serving, body: body, request: request)
    }

    /// Returns a stored response, and releases the response of the server; `nil` if the stored bytes have disappeared.
    private func stored(_ serving: CacheServing, insteadOf response: Response, _ status: CacheStatus) async throws -> Response? {
        let body: ResponseBody
        do {
            guard let found = try await runtime.body(of: serving, for: request) else { return nil }
            body = found
            try await response.release(on: runtime.clock)
        } catch {
            response.discard()
            throw error
        }
        var stored = response.replaced(by: serving.head, body: body)
        finish(&stored, status)
        return stored
    }

    /// Returns the response of the server, whose body is stored while it is read.
    ///
    /// - Parameter lookup: the look-up before the exchange; `nil` if nothing is stored.
    private func storing(
        _ response: Response, _ write: CacheWrite?, _ status: CacheStatus, after lookup: CacheLookup? = nil
    ) async -> Response {
        var (response, status) = (response, status)
        status.isCollapsed = response.metadata.coalescedInto != nil
        var storage: CacheStorage?
        if let write { (response.body, storage) = await attach(write, to: response.body, of: response, after: lookup, in: &status) }
        if write == nil { status.isStored = false }
        // The status of the inner cache stays if this cache has used no stored response.
        if let inner = response.metadata.watchedCacheStatus {
            var merged = inner.current
            if status.isStored {
                // An inner cache that has no storage has already stored the response.
                if merged.isStored, inner.storage == nil { storage = nil }
                merged.isStored = true
            } else {
                storage = inner.storage
            }
            status = merged
        }
        finish(&response, status, storage)
        return response
    }

    /// Adds the status and the warnings of the store that no response has yet, and reports the status.
    private func finish(_ response: inout Response, _ status: CacheStatus, _ storage: CacheStorage? = nil) {
        response.metadata.watchedCacheStatus = WatchedCacheStatus(status, storage: storage)
        if call.takesWarnings, let warnings = runtime.store.work.takeWarnings() { response.metadata.warnings += warnings }
        report(status)
    }

    /// Returns a response whose body is the stored beginning, followed by the rest from the server; `nil` if the stored bytes have
    /// disappeared.
    private func completed(_ response: Response, _ completion: CacheCompletion, _ status: CacheStatus) async throws -> Response? {
        var (response, status) = (response, status)
        let beginning: any BodySource
        do {
            let piece = completion.beginning
            guard let found = try await runtime.source(of: piece.entry.id, piece.offsets, for: request) else { return nil }
            beginning = found
        } catch {
            response.discard()
            throw error
        }
        var (rest, storage) = (response.body, nil as CacheStorage?)
        if let write = completion.write { (rest, storage) = await attach(write, to: rest, of: response, after: call.lookup, in: &status) }
        // The length follows from the range of the response, because `Content-Length` may be wrong.
        let length = completion.length
        response.head = completion.head
        response.body = ResponseBody(FollowedBodySource(beginning, then: rest.asSource()), expectedLength: length, request: request)
        finish(&response, status, storage)
        return response
    }

    /// Returns the body that is stored while it is read, and its storage. Without a storage, the response is not stored. The status says
    /// whether the response is stored.
    private func attach(
        _ write: CacheWrite, to body: ResponseBody, of response: Response, after lookup: CacheLookup?, in status: inout CacheStatus
    ) async -> (ResponseBody, CacheStorage?) {
        let tee: CacheTee
        do throws(CacheStatus.Refusal) {
            tee = try makeTee(for: response, write, after: lookup)
        } catch {
            status.refusal = error
            return (body, nil)
        }
        let stored = await tee.attached(to: body)
        status.isStored = true
        if let refusal = tee.storage.ownRefusal { status.refusal = refusal }
        return (stored, status.isStored ? tee.storage : nil)
    }

    /// Returns a tee that stores the body.
    ///
    /// - Throws: why the response is not stored.
    private func makeTee(
        for response: Response, _ write: CacheWrite, after lookup: CacheLookup?
    ) throws(CacheStatus.Refusal) -> CacheTee {
        // If the transport has decoded the body, and does not declare `decodesContent`, the body is not stored.
        guard runtime.isDecoded || !response.metadata.isDecoded else { throw .decodedBody }
        guard let lookup, runtime.mayWrite else { throw .storeFailed }
        guard let key = call.cached.key(of: write.head, by: runtime.engine.policy) else { throw call.cached.refusal ?? .storeRefused }
        runtime.writePointer(to: write.head, of: key, after: lookup, for: request)
        let inner = response.metadata.watchedCacheStatus
        return CacheTee(
            runtime, request: request, key: key, write: write, since: lookup.generation,
            beside: inner?.current.isStored == true ? inner?.storage : nil)
    }

    private func report(_ status: CacheStatus) {
        request.report(.cacheDecision, decision: .init(continues: false, status.description))
    }
}

extension CacheStatus {
    /// Returns the status of a response that is not stored.
    fileprivate func refused(_ refusal: Refusal) -> CacheStatus {
        var status = self
        status.refusal = refusal
        return status
    }
}

extension Request {
    /// Undoes the changes of `forward` to the fields, so that the outer layers see their own fields.
    fileprivate mutating func restoreFields(of forward: CacheForward, from original: Request) {
        for field in forward.fields { headers[fields: field.name] = original.headers[fields: field.name] }
    }
}

extension Error {
    /// Returns the error with the fields of the request as the outer layers have sent them.
    fileprivate func restoringFields(of forward: CacheForward, from original: Request) -> any Error {
        guard !forward.fields.isEmpty, var failure = self as? any RequestFailure, failure.request?.id == original.id else { return self }
        failure.request?.restoreFields(of: forward, from: original)
        return failure
    }
}

/// The bytes of a source, followed by the bytes of another source.
private final class FollowedBodySource: BodySource {
    private let first: any BodySource
    private let second: any BodySource
    private let isSecond = Atomic(false)

    init(_ first: any BodySource, then second: any BodySource) { (self.first, self.second) = (first, second) }

    var trailers: HTTPFields? { second.trailers }

    func next() async throws -> Data? {
        if !isSecond.load(ordering: .relaxed) {
            if let chunk = try await first.next() { return chunk }
            try Task.checkCancellation()
            isSecond.store(true, ordering: .relaxed)
        }
        return try await second.next()
    }

    func abandon() {
        first.abandon()
        second.abandon()
    }

    func fail(with error: any Error) {
        first.abandon()
        second.fail(with: error)
    }
}
