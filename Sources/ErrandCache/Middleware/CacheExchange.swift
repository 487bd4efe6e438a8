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
            guard response.upgrade == nil, response.head.status.kind != .informational else { return response }
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
            guard resends < 2 else { return await storing(response, nil, reception.status) }
            resends += 1
            if again == nil {
                entries = []
                guard case .send(let unconditional) = runtime.engine.decide(call.cached, among: [], at: runtime.now()) else {
                    return await storing(response, nil, reception.status)
                }
                again = unconditional
            }
            if let again { forward = again }
            var attempts = CallAttempts()
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
        stored.metadata.cacheStatus = status
        report(status)
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
        if let tee = tee(for: response, write, after: lookup) {
            (response.body, status.isStored) = await tee.attached(to: response.body)
        } else {
            status.isStored = false
        }
        // The status of the inner cache stays if this cache has used no stored response.
        if let inner = response.metadata.cacheStatus {
            (status, status.isStored) = (inner, inner.isStored || status.isStored)
        }
        response.metadata.cacheStatus = status
        report(status)
        return response
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
        var rest = response.body
        status.isStored = false
        if let tee = tee(for: response, completion.write, after: call.lookup) { (rest, status.isStored) = await tee.attached(to: rest) }
        // The length follows from the range of the response, because `Content-Length` may be wrong.
        let length = completion.length
        response.head = completion.head
        response.body = ResponseBody(FollowedBodySource(beginning, then: rest.asSource()), expectedLength: length, request: request)
        response.metadata.cacheStatus = status
        report(status)
        return response
    }

    /// Returns a tee that stores the body; `nil` if the response is not stored.
    private func tee(for response: Response, _ write: CacheWrite?, after lookup: CacheLookup?) -> CacheTee? {
        guard let write, let lookup, let key = call.cached.key(of: write.head, by: runtime.engine.policy), runtime.mayWrite,
            // A call that shares the exchange of another call does not store the response.
            response.metadata.coalescedInto == nil,
            // If the transport has decoded the body, and does not declare `decodesContent`, the body is not stored.
            runtime.isDecoded || response.metadata.encodedFields.isEmpty && response.metadata.contentCoding == nil
        else { return nil }
        runtime.writePointer(to: write.head, of: key, after: lookup, for: request)
        return CacheTee(runtime, request: request, key: key, write: write, since: lookup.generation)
    }

    private func report(_ status: CacheStatus) {
        request.report(.cacheDecision, decision: .init(continues: false, status.description))
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
