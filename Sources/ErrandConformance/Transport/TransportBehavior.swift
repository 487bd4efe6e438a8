public import ErrandCore
public import ErrandTesting
public import Testing

/// One thing that every transport must do, with the server side that shows it and a check.
///
/// ```swift
/// @Test(arguments: TransportBehavior.all(excluding: ["Brotli": "this transport decodes gzip alone"]))
/// func conforms(to behavior: TransportBehavior) async throws {
///     let check = behavior.prepared()
///     try await withMockServer(serving: check.stubs) { server in
///         try await withTransport(MyTransport()) { transport in
///             try await check(TransportUnderTest(transport, at: server.url("")))
///         }
///     }
/// }
/// ```
///
/// The server side is a list of stubs: a mock server serves them over a real socket, and a `StubTransport` is its own server. A transport
/// without a socket, such as one that wraps another, is checked over such a stub; the behaviors that need a socket are left out:
///
/// ```swift
/// @Test(arguments: TransportBehavior.all(excluding: TransportBehavior.needsWire))
/// func conforms(to behavior: TransportBehavior) async throws {
///     let check = behavior.prepared()
///     let transport = MyTransport(over: StubTransport(check.stubs))
///     try await check(TransportUnderTest(transport, at: "http://stub.example", middleware: [.redirect: { $0.redirect() }]))
/// }
/// ```
///
/// Content codings, redirects, cookies and caching are a middleware's work here: what neither the transport nor one that is given does is
/// left out as well, by its name.
public struct TransportBehavior: Sendable, CustomStringConvertible, CustomTestStringConvertible {
    /// A behavior that is about to be checked once: what the server answers, and the check.
    public struct Check: Sendable {
        public let stubs: [Stub]
        fileprivate var name = ""
        let run: @Sendable (TransportUnderTest) async throws -> Void

        init(_ stubs: [Stub], _ run: @escaping @Sendable (TransportUnderTest) async throws -> Void) {
            (self.stubs, self.run) = (stubs, run)
        }

        /// Sends requests to `subject`, and records an issue for all that is not as it must be.
        ///
        /// - Throws: what the transport throws where it must not.
        public func callAsFunction(_ subject: TransportUnderTest) async throws {
            try await callAsFunction(subject, patience: .seconds(20))
        }

        /// The same, with another limit for what must come.
        ///
        /// - Parameter patience: how long to wait for one thing, such as the end of what was cancelled; the whole check may take twice as
        ///   long. What does not end by then is an issue, and is left to itself. 20 seconds by default; more than zero. Some behaviors
        ///   take half a second by themselves: with a patience below one second, they may fail transports that are right.
        public func callAsFunction(_ subject: TransportUnderTest, patience: Duration) async throws {
            try await Patience.bounded(name, patience) { [run] in try await run(subject) }
        }
    }

    public let name: String
    /// What it shows, in a sentence.
    public let summary: String
    private let prepare: @Sendable () -> Check

    init(_ name: String, _ summary: String, _ prepare: @escaping @Sendable () -> Check) {
        (self.name, self.summary, self.prepare) = (name, summary, prepare)
    }

    init(
        _ name: String, _ summary: String, _ stubs: [Stub], _ run: @escaping @Sendable (TransportUnderTest) async throws -> Void
    ) {
        self.init(name, summary) { Check(stubs, run) }
    }

    /// The stubs and the check, for one run.
    public func prepared() -> Check {
        var check = prepare()
        check.name = name
        return check
    }

    public var description: String { "\(name): \(summary)" }
    public var testDescription: String { name }

    /// All of them, in the order of an exchange.
    public static let all: [TransportBehavior] =
        messages + fields + bodies + contentCodings + followed + interleaved + given + sentOnce + asTheyAre + toTheEnd

    /// The behaviors whose server sends bytes that only a socket can carry, since they break the rules of HTTP/1.1 or end with the
    /// connection. The value is the reason.
    ///
    /// For ``all(excluding:)``, where a transport has no socket or its server no HTTP/1.1. To leave out more:
    /// `needsWire.merging(["Gzip": "this transport decodes nothing"]) { $1 }`.
    public static let needsWire: [String: String] = Dictionary(
        uniqueKeysWithValues: [
            "NotHTTP", "BadHTTPCase", "NoReason", "204WithContentLength", "304WithContentLength", "IncompleteBody", "NoLengthHint",
            "ConflictingContentLength",
        ].map { ($0, "the server's bytes need a socket, and HTTP/1.1") })

    /// All but the ones named here. Each needs a reason, which must not be empty.
    ///
    /// - Precondition: each name is one of a behavior, and no reason is empty.
    public static func all(excluding reasons: [String: String]) -> [TransportBehavior] {
        let names = all.map(\.name)
        for (name, reason) in reasons {
            precondition(
                names.contains(name),
                "excluding must name behaviors (is '\(name)'; the nearest is '\(nearest(to: name, among: names) ?? "")')")
            precondition(!reason.isEmpty, "excluding must give a reason for '\(name)' (is empty)")
        }
        return all.filter { reasons[$0.name] == nil }
    }
}

/// A transport, where its server is, and what stands around it for behaviors that are a middleware's here.
public struct TransportUnderTest: Sendable {
    public let transport: any HTTPTransport
    /// Scheme and authority, without a slash at the end.
    public let origin: String
    /// By place: `redirect`, `cookies`, `cache`, `decompress`. A behavior whose middleware is missing records an issue.
    public let middleware: [MiddlewarePlace: @Sendable (HTTPStack) -> HTTPStack]

    public init(
        _ transport: any HTTPTransport, at origin: String,
        middleware: [MiddlewarePlace: @Sendable (HTTPStack) -> HTTPStack] = [:]
    ) {
        self.transport = transport
        self.origin = origin.hasSuffix("/") ? String(origin.dropLast()) : origin
        self.middleware = middleware
    }

    /// The bare transport, behind its boundary.
    var stack: HTTPStack {
        func made(_ transport: some HTTPTransport) -> HTTPStack { HTTPStack(transport) }
        return made(transport)
    }

    /// The transport with the middleware for `place` around it; the bare one where the transport does that work by itself.
    func stack(with place: MiddlewarePlace) -> HTTPStack { middleware[place].map { $0(stack) } ?? stack }

    /// For the issue of a behavior that may fail as there is no middleware for `place`.
    func reason(without place: MiddlewarePlace) -> String {
        middleware[place] == nil ? ": no middleware for `\(place)` was given, and the transport does not do it by itself" : ""
    }

    /// A request that ends in ten seconds at the latest, whatever the transport does.
    func request(
        _ method: HTTPRequest.Method = .get, _ target: String = "/", headers: HTTPFields = HTTPFields(), body: RequestBody = .empty,
        within limit: Duration = .seconds(10)
    ) throws -> Request {
        var request = try Request(method, url: origin + target, headers: headers, body: body)
        request.deadline = Deadline(after: limit)
        return request
    }

    /// `request` with its deadline, and without: a race for the deadline hides what a transport throws when it is cancelled.
    static func withAndWithoutDeadline(_ request: Request) -> [Request] {
        var unbounded = request
        unbounded.deadline = nil
        return [request, unbounded]
    }

    func send(
        _ method: HTTPRequest.Method = .get, _ target: String = "/", headers: HTTPFields = HTTPFields(), body: RequestBody = .empty
    ) async throws -> Response {
        try await stack.send(request(method, target, headers: headers, body: body))
    }

    /// Status and whole body.
    func exchange(
        _ method: HTTPRequest.Method = .get, _ target: String = "/", headers: HTTPFields = HTTPFields(), body: RequestBody = .empty
    ) async throws -> (response: Response, body: Data) {
        let response = try await send(method, target, headers: headers, body: body)
        return (response, try await response.body.collect())
    }

    /// The failure that sending and reading must end in, which is never a cancellation.
    func failure(
        _ method: HTTPRequest.Method = .get, _ target: String = "/", body: RequestBody = .empty,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> TransportError? {
        await #expect(throws: TransportError.self, sourceLocation: sourceLocation) { () async throws -> Void in
            let (response, body) = try await exchange(method, target, body: body)
            _ = (response, body)
        }
    }
}
