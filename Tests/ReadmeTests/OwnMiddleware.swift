import Errand
import ErrandConformance
import ErrandTesting
import Foundation
import Testing

// The samples of the article "Write your own middleware", unchanged: `ReadmeTests` compares each sample with this file.

struct TenantMiddleware: HTTPMiddleware {
    let tenant: String

    var label: String { "tenant(\(tenant))" }

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard let tenant = request.options.tenant.resolved(tenant) else { return try await next.send(request) }
        var request = request
        request.headers[.tenant] = tenant
        return try await next.send(request)
    }
}

nonisolated extension HTTPField.Name {
    static let tenant = HTTPField.Name.custom("X-Tenant")
}

private enum TenantOptionKey: OptionKey { static var defaultValue: OptionOverride<String> { .inherited } }

nonisolated extension RequestOptions {
    /// Another tenant for this request, or `.off`.
    var tenant: OptionOverride<String> {
        get { self[TenantOptionKey.self] }
        set { self[TenantOptionKey.self] = newValue }
    }
}

nonisolated extension HTTPSender {
    func tenant(_ name: String) -> HTTPStack { wrapped(by: TenantMiddleware(tenant: name)) }
}

nonisolated struct MaintenancePolicy: Sendable {
    var longest: Duration = .seconds(10)

    /// How long to wait before the second attempt; nil if there is none.
    func wait(status: HTTPResponse.Status, isMarked: Bool, remaining: Duration?) -> Duration? {
        guard status == .serviceUnavailable, isMarked else { return nil }
        if let remaining, longest >= remaining { return nil }
        return longest
    }
}

// swift-format-ignore
struct MaintenanceMiddleware: HTTPMiddleware {
    var policy = MaintenancePolicy()
    var clock: any Clock<Duration> = ContinuousClock()

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        let response = try await next.send(request)
        let isMarked = response.headers[.retryAfter] != nil
        guard request.body.canBeSent,
            let wait = policy.wait(status: response.status, isMarked: isMarked, remaining: request.deadline?.remaining)
        else { return response }
        response.discard()                   // a response that is dropped must be released
        try await clock.sleep(for: wait)     // throws CancellationError: let it through
        return try await next.send(request)
    }
}

struct TryAgainMiddleware: HTTPMiddleware {
    var wait: Duration = .seconds(1)
    var clock: any Clock<Duration> = ContinuousClock()

    var place: MiddlewarePlace { .tryAgain }
    var neighbors: [MiddlewareNeighbor] {
        [
            .inside(.validateStatus, because: "it would get an error instead of the status"),
            .inside(.fallback, because: "it would never see the failures"),
        ]
    }

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard !request.options.followUps.isOff else { return try await next.send(request) }
        var request = request
        var attempts = CallAttempts()
        while true {
            let result = try await next.attempt(request)
            guard attempts.count < 2, result.isTransient, request.body.canBeSent, request.mayBeSentAgain(after: result),
                request.deadline.map({ $0.remaining > wait }) ?? true
            else { return try attempts.adding(to: result) }
            request = try await attempts.followUp(with: request, after: result, waiting: wait, on: clock)
        }
    }
}

/// Sends a request to the mirror that a busy server names.
struct MirrorMiddleware: HTTPMiddleware {
    var neighbors: [MiddlewareNeighbor] { [.outside(.authenticate, because: "the mirror would get no credentials of its own")] }

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard !request.options.followUps.isOff else { return try await next.send(request) }
        let response = try await next.send(request)
        guard response.status == .serviceUnavailable, request.method.isSafe, let field = response.headers[.mirror],
            let mirror = try? HTTPURL(field)
        else { return response }
        var other = request
        try other.move(to: mirror, from: request.origin)
        var attempts = CallAttempts()
        other = try await attempts.followUp(with: other, after: .success(response))
        return try attempts.adding(to: await next.attempt(other))
    }
}

// swift-format-ignore
/// Sends the key of a session, and gets a new key when the server refuses the old one.
struct SessionMiddleware: HTTPMiddleware {
    let session: Session

    var neighbors: [MiddlewareNeighbor] {
        [
            .inside(.redirect, because: "the next origin would get the key"),
            .outside(.coalesce, because: "the keys would not be compared"),
        ]
    }

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard !request.options.followUps.isOff else { return try await next.send(request) }
        let key = try await session.key(insteadOf: nil)
        var response = try await next.send(request.carrying(key))
        guard response.status == .unauthorized, request.body.canBeSent else { return response }
        try await response.bufferBody()    // the refresh may need its connection
        let newKey: String
        do {
            newKey = try await session.key(insteadOf: key)
        } catch {
            response.discard()
            throw error
        }
        var attempts = CallAttempts()
        let second = try await attempts.followUp(with: request.carrying(newKey), after: .success(response))
        return try attempts.adding(to: await next.attempt(second))
    }
}

private enum FollowUpsOptionKey: OptionKey { static var defaultValue: OptionOverride<Never> { .inherited } }

nonisolated extension RequestOptions {
    /// `.off`: this request is sent once.
    var followUps: OptionOverride<Never> {
        get { self[FollowUpsOptionKey.self] }
        set { self[FollowUpsOptionKey.self] = newValue }
    }
}

nonisolated extension MiddlewarePlace {
    static let tryAgain = MiddlewarePlace("com.example.tryAgain")
}

nonisolated extension HTTPField.Name {
    static let mirror = HTTPField.Name.custom("X-Mirror")
    static let sessionKey = HTTPField.Name.custom("X-Session-Key")
}

nonisolated extension Request {
    fileprivate func carrying(_ key: String) -> Request {
        var request = self
        request.headers[.sessionKey] = key
        request.options.sensitivity.formUnion(Sensitivity(fields: [.sessionKey]))
        return request
    }
}

/// One refresh at a time, for all requests that were refused with the same key.
actor Session {
    private var key: String?
    private var refresh: Task<String, any Error>?
    private let signIn: @Sendable () async throws -> String

    init(signIn: @escaping @Sendable () async throws -> String) { self.signIn = signIn }

    func key(insteadOf refused: String?) async throws -> String {
        if let key, key != refused { return key }
        if let refresh { return try await refresh.value }
        let task = Task {
            defer { refresh = nil }
            let new = try await signIn()
            key = new
            return new
        }
        refresh = task
        return try await task.value
    }
}

// swift-format-ignore
struct OpenCallsMiddleware: HTTPMiddleware {
    let changed: @Sendable (_ by: Int) -> Void

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        changed(1)
        do {
            let response = try await next.send(request)
            response.exchange.onEnd { [changed] _ in changed(-1) }    // after the last byte
            return response
        } catch {
            changed(-1)
            throw error
        }
    }
}

/// Writes an entry for each call, when the call is over.
struct AuditMiddleware: HTTPMiddleware {
    let write: @Sendable (AuditEntry) -> Void

    /// A request that is prepared is no call.
    var appliesToPreparedRequests: Bool { false }

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        try await next.send(request, observedBy: AuditedCall(start: .now, write: write))
    }
}

// swift-format-ignore
struct AuditedCall: CallObserver {
    let start: ContinuousClock.Instant
    let write: @Sendable (AuditEntry) -> Void

    func mark() -> ContinuousClock.Instant { .now }

    func end(_ outcome: CallOutcome, at end: ContinuousClock.Instant) {
        var entry = AuditEntry(duration: end - start)
        entry.status = outcome.response?.status ?? outcome.refusal?.head.status
        let failure: (any Error)? = outcome.refusal?.serviceError ?? outcome.failure
        if outcome.isCancelled {
            entry.problem = "cancelled"
        } else if let failure {
            entry.problem = "\(type(of: failure))"    // the text of an error may have secrets
        } else if outcome.refusal != nil {
            entry.problem = "refused"
        }
        write(entry)
    }
}

nonisolated struct AuditEntry: Sendable {
    var duration: Duration
    var status: HTTPResponse.Status?
    var problem: String?
}

struct MaintenanceErrorMiddleware: HTTPMiddleware {
    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        let response = try await next.send(request)
        guard response.status == .serviceUnavailable else { return response }
        response.discard()
        let error = MaintenanceError()
        request.reportRefusal(of: response.head, with: error)
        throw error
    }
}

nonisolated struct MaintenanceError: Error {}

// swift-format-ignore
func composed(_ transport: some HTTPSender, isVerbose: Bool) -> HTTPStack {
    let stack = transport
        .wrapped(by: TenantMiddleware(tenant: "blue"), when: .host("*.example.com") && !.path("/public/**"))
        .wrapped {
            if isVerbose { NumberMiddleware() }
            RetryMiddleware()
            TimeoutMiddleware(.seconds(30))    // the last is the outermost
        }
    return stack
}

nonisolated extension MiddlewarePlace {
    static let signature = MiddlewarePlace("com.example.signature")
}

struct SignatureMiddleware: HTTPMiddleware {
    let sign: @Sendable (Request) -> String

    var place: MiddlewarePlace { .signature }

    var neighbors: [MiddlewareNeighbor] {
        [
            .inside(.retry, because: "all attempts would have the same timestamp"),
            .inside(.redirect, because: "the next origin would get a signature for the first"),
            .inside(.hedge, because: "the second request would carry the signature of the first"),
        ]
    }

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        var request = request
        request.head.headerFields[.authorization] = sign(request)
        return try await next.send(request)
    }
}

struct OrderLogMiddleware: OrderProblemReporter {
    let write: @Sendable (String) -> Void

    func reportOrderProblems(_ problems: [String]) {
        for problem in problems { write("order: \(problem)") }
    }

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response { try await next.send(request) }
}

struct ClosedMiddleware: HTTPMiddleware {
    let isClosed: @Sendable () -> Bool

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard isClosed() else { return try await next.send(request) }
        let head = HTTPResponse(status: .serviceUnavailable, headerFields: [.retryAfter: "60"])
        return Response(head: head, data: Data("closed".utf8), request: request)
    }
}

struct BodySignatureMiddleware: HTTPMiddleware {
    let sign: @Sendable (Data) -> String

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        var request = request
        let data = try await bytes(of: &request)
        request.headers[.bodySignature] = sign(data)
        return try await next.send(request)
    }

    private func bytes(of request: inout Request) async throws -> Data {
        if let data = request.body.bufferedData { return data }
        let source = try await request.body.open()
        defer { source.abandon() }
        var data = Data()
        while let chunk = try await source.next() { data += chunk }
        request.body = .data(data)  // a stream may be readable only once
        return data
    }
}

nonisolated extension HTTPField.Name {
    static let bodySignature = HTTPField.Name.custom("X-Body-Signature")
}

struct MeterMiddleware: HTTPMiddleware {
    let add: @Sendable (Int) -> Void

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        var response = try await next.send(request)
        response.body = response.body.observed { event in
            if case .chunk(let chunk) = event { add(chunk.count) }
        }
        return response
    }
}

struct BodyTextMiddleware: HTTPMiddleware {
    let write: @Sendable (String) -> Void

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        var response = try await next.send(request)
        let data = try await response.data()
        response.body = .data(data)  // the next reader gets the same bytes
        write(String(decoding: data, as: UTF8.self))
        return response
    }
}

/// Ends each line with a line feed, whether it ended in CR, LF or both.
struct UnixLines: BodyTransform {
    mutating func next(_ input: inout Data) -> Data? {
        // A CR at the end may be the first half of CR LF.
        let count = input.last == UInt8(ascii: "\r") ? input.count - 1 : input.count
        defer { input = Data(input.dropFirst(count)) }
        return count == 0 ? nil : converted(input.prefix(count))
    }

    mutating func finish(_ input: inout Data) -> Data? {
        defer { input = Data() }
        return input.isEmpty ? nil : converted(input)
    }

    private func converted(_ text: Data) -> Data {
        var lines = Data()
        for (index, byte) in text.enumerated() where !(byte == 10 && index > 0 && text[text.startIndex + index - 1] == 13) {
            lines.append(byte == 13 ? 10 : byte)
        }
        return lines
    }
}

struct TenantMiddlewareTests {
    static let middleware = MiddlewareUnderTest(
        "tenant", changes: .addedFields, switchOff: { $0.options.tenant = .off }
    ) { $0.tenant("blue") }

    @Test(arguments: MiddlewareBehavior.all)
    func conforms(to behavior: MiddlewareBehavior) async throws { try await behavior.check(Self.middleware) }

    @Test func theRequestNamesTheTenant() async throws {
        let stub = StubTransport(Stub().header(.tenant, "blue").responds(.status(.ok)))
        let response = try await stub.tenant("blue").send(Request(.get, url: "https://a.example/x"))
        #expect(response.status == .ok)
    }

    @Test func cancellingIsSafeAtAnyMoment() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        _ = try await CancellationTorture().run {
            try await stub.tenant("blue").send(Request(.get, url: "https://a.example/x")).status
        } accepts: { status in
            status == .ok
        }
    }
}
