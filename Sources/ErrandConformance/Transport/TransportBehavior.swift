public import ErrandCore
public import ErrandTesting
public import Testing

/// A requirement for every transport, with the server's responses that show it, and a check.
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
/// The server is a list of stubs: a mock server serves them over a real socket, and a `StubTransport` is its own server. A transport
/// without a socket, such as one that wraps another, is checked over such a stub. The behaviors that need a socket are then left out:
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
/// Content codings, redirects, cookies and caching are here the work of middleware. If neither the transport nor a given middleware does
/// such work, leave its behaviors out as well, by name.
public struct TransportBehavior: Sendable, CustomStringConvertible, CustomTestStringConvertible {
    /// One check of a behavior: the server's responses, and the check.
    public struct Check: Sendable {
        /// The stubs with the server's responses.
        public let stubs: [Stub]
        fileprivate var name = ""
        let run: @Sendable (TransportUnderTest) async throws -> Void

        init(_ stubs: [Stub], _ run: @escaping @Sendable (TransportUnderTest) async throws -> Void) {
            (self.stubs, self.run) = (stubs, run)
        }

        /// Sends requests to `subject`, and records an issue for each violation.
        ///
        /// - Throws: an error that the transport throws where it must not.
        public func callAsFunction(_ subject: TransportUnderTest) async throws {
            try await callAsFunction(subject, patience: .seconds(20))
        }

        /// Sends requests to `subject`, and records an issue for each violation, with another timeout.
        ///
        /// - Parameter patience: the timeout of a single wait, such as for the end of a cancelled task: more than zero, 20 seconds by
        ///   default. The whole check may take twice as long. Work that does not end by then is an issue, and no longer waited for. Some
        ///   behaviors take half a second: with less than one second, correct transports may fail.
        public func callAsFunction(_ subject: TransportUnderTest, patience: Duration) async throws {
            try await Patience.bounded(name, patience) { [run] in try await run(subject) }
        }
    }

    /// The name of the behavior.
    public let name: String
    /// The requirement, as a sentence.
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

    /// Returns the stubs and the check, for one run.
    public func prepared() -> Check {
        var check = prepare()
        check.name = name
        return check
    }

    public var description: String { "\(name): \(summary)" }
    /// The name, in test results.
    public var testDescription: String { name }

    /// All behaviors, in the order of an exchange.
    public static let all: [TransportBehavior] =
        messages + fields + bodies + contentCodings + followed + interleaved + given + sentOnce + asTheyAre + toTheEnd

    /// The behaviors whose server sends bytes that only a socket can carry, because they break the rules of HTTP/1.1 or end with the
    /// connection. The value is the reason.
    ///
    /// Use it with ``all(excluding:)`` for a transport without a socket, or for a server without HTTP/1.1. To leave out more:
    /// `needsWire.merging(["Gzip": "this transport decodes nothing"]) { $1 }`.
    public static let needsWire: [String: String] = Dictionary(
        uniqueKeysWithValues: [
            "NotHTTP", "BadHTTPCase", "NoReason", "204WithContentLength", "304WithContentLength", "IncompleteBody", "NoLengthHint",
            "ConflictingContentLength",
        ].map { ($0, "the server's bytes need a socket, and HTTP/1.1") })

    /// Returns all behaviors but the named ones, each with the reason why it is left out.
    ///
    /// - Precondition: each name is that of a behavior, and no reason is empty.
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

/// A transport to check, its server, and the middleware for behaviors that are the work of middleware here.
public struct TransportUnderTest: Sendable {
    /// The transport.
    public let transport: any HTTPTransport
    /// The scheme and the authority of the server, without a slash at the end.
    public let origin: String
    /// The middleware by place: `redirect`, `cookies`, `cache`, `decompress`. A behavior without its middleware records an issue.
    public let middleware: [MiddlewarePlace: @Sendable (HTTPStack) -> HTTPStack]

    /// Describes a transport to check. For each parameter, see the property of the same name.
    public init(
        _ transport: any HTTPTransport, at origin: String,
        middleware: [MiddlewarePlace: @Sendable (HTTPStack) -> HTTPStack] = [:]
    ) {
        self.transport = transport
        self.origin = origin.hasSuffix("/") ? String(origin.dropLast()) : origin
        self.middleware = middleware
    }

    /// The transport without middleware, but with its boundary.
    var stack: HTTPStack {
        func made(_ transport: some HTTPTransport) -> HTTPStack { HTTPStack(transport) }
        return made(transport)
    }

    /// Returns the transport with the middleware for `place`; without middleware if the transport does that work itself.
    func stack(with place: MiddlewarePlace) -> HTTPStack { middleware[place].map { $0(stack) } ?? stack }

    /// Returns the reason in the issue of a behavior that may fail because there is no middleware for `place`.
    func reason(without place: MiddlewarePlace) -> String {
        middleware[place] == nil ? ": no middleware for `\(place)` was given, and the transport does not do it by itself" : ""
    }

    /// Returns a request with a deadline of ten seconds.
    func request(
        _ method: HTTPRequest.Method = .get, _ target: String = "/", headers: HTTPFields = HTTPFields(), body: RequestBody = .empty,
        within limit: Duration = .seconds(10)
    ) throws -> Request {
        var request = try Request(method, url: origin + target, headers: headers, body: body)
        request.deadline = Deadline(after: limit)
        return request
    }

    /// Returns `request` with and without its deadline: a race against the deadline would hide what a transport throws when it is
    /// cancelled.
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

    /// Returns the status and the whole body.
    func exchange(
        _ method: HTTPRequest.Method = .get, _ target: String = "/", headers: HTTPFields = HTTPFields(), body: RequestBody = .empty
    ) async throws -> (response: Response, body: Data) {
        let response = try await send(method, target, headers: headers, body: body)
        return (response, try await response.body.collect())
    }

    /// Returns the failure with which sending or reading must end, and which must not be a cancellation.
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
