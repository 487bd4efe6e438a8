public import ErrandBehaviors
public import ErrandCore
public import ErrandTesting
internal import Testing

/// A rule that every transport must follow, with the server's stubs and the check.
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
/// The server's responses come from a list of stubs. A mock server serves the stubs over a real socket. A `StubTransport` serves
/// its stubs without a socket. To check a transport without a socket, such as a transport that wraps another transport, use a
/// `StubTransport`. Leave out the behaviors that need a socket:
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
/// In this library, middleware handles content codings, redirects, cookies and caching. If neither the transport nor a given
/// middleware handles one of these features, leave out the feature's behaviors by name.
public struct TransportBehavior: ConformanceBehavior {
    /// One run of a behavior: the server's stubs and the check.
    public struct Check: Sendable {
        /// The stubs that the server must serve.
        public let stubs: [Stub]
        fileprivate var name = ""
        let run: @Sendable (TransportUnderTest) async throws -> Void

        init(_ stubs: [Stub], _ run: @escaping @Sendable (TransportUnderTest) async throws -> Void) {
            (self.stubs, self.run) = (stubs, run)
        }

        /// Sends requests to `subject`, and records an issue for each violation. Waits at most 20 s for each expected step.
        ///
        /// - Parameter subject: the transport to check.
        /// - Throws: an unexpected error of the transport.
        public func callAsFunction(_ subject: TransportUnderTest) async throws {
            try await callAsFunction(subject, patience: .seconds(20))
        }

        /// Sends requests to `subject`, and records an issue for each violation.
        ///
        /// - Parameters:
        ///   - subject: the transport to check.
        ///   - patience: the maximum time to wait for each expected step, such as the end of cancelled work; more than zero. The whole
        ///     check may take twice as long. A step that has not ended after its maximum time fails the check, which does not wait for the
        ///     step any longer. Some behaviors take half a second even when they succeed. With a `patience` of less than one second, these
        ///     behaviors may fail for correct transports.
        /// - Throws: an unexpected error of the transport.
        public func callAsFunction(_ subject: TransportUnderTest, patience: Duration) async throws {
            try await Patience.bounded(name, patience) { [run] in try await run(subject) }
        }
    }

    /// The unique name of the behavior.
    public let name: String
    /// The rule, as a sentence.
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

    /// All behaviors, grouped by topic.
    public static let all: [TransportBehavior] =
        messages + fields + bodies + contentCodings + followed + interleaved + given + sentOnce + asTheyAre + toTheEnd

    /// The behaviors that need a socket, because their server sends bytes that violate HTTP/1.1 or end with the connection. Each value is
    /// the reason why the behavior needs a socket.
    ///
    /// If the transport has no socket, or its server doesn't use HTTP/1.1, pass these behaviors to ``all(excluding:)``. To leave
    /// out more behaviors: `needsWire.merging(["Gzip": "this transport decodes nothing"]) { $1 }`.
    public static let needsWire: [String: String] = Dictionary(
        uniqueKeysWithValues: [
            "NotHTTP", "BadHTTPCase", "NoReason", "204WithContentLength", "304WithContentLength", "IncompleteBody", "NoLengthHint",
            "ConflictingContentLength",
        ].map { ($0, "the server must send these bytes over a socket, with HTTP/1.1") })
}

/// A transport to check, with its server's address, and with the middleware for behaviors that need middleware.
public struct TransportUnderTest: Sendable {
    /// The transport to check.
    public let transport: any HTTPTransport
    /// The scheme and authority of the server, without a slash at the end.
    public let origin: String
    /// The middleware by place: `redirect`, `cookies`, `cache`, `decompress`. If the middleware of a behavior is missing, the
    /// behavior records an issue, unless the transport does the work of the middleware.
    public let middleware: [MiddlewarePlace: @Sendable (HTTPStack) -> HTTPStack]

    /// Describes a transport to check.
    ///
    /// - Parameters:
    ///   - transport: the transport.
    ///   - origin: the scheme and authority of the server, such as `http://127.0.0.1:8080`. A slash at the end is removed.
    ///   - middleware: the middleware that behaviors may use. Default: none.
    public init(
        _ transport: any HTTPTransport, at origin: String,
        middleware: [MiddlewarePlace: @Sendable (HTTPStack) -> HTTPStack] = [:]
    ) {
        self.transport = transport
        self.origin = origin.hasSuffix("/") ? String(origin.dropLast()) : origin
        self.middleware = middleware
    }

    /// The transport without middleware.
    var stack: HTTPStack {
        func made(_ transport: some HTTPTransport) -> HTTPStack { HTTPStack(transport) }
        return made(transport)
    }

    /// Returns the transport with the middleware for `place`. If no middleware for `place` was given, returns only the transport.
    func stack(with place: MiddlewarePlace) -> HTTPStack { middleware[place].map { $0(stack) } ?? stack }

    /// Returns the text for the issue of a behavior that may have failed because there is no middleware for `place`.
    func reason(without place: MiddlewarePlace) -> String {
        middleware[place] == nil ? ": no middleware for `\(place)` was given, and the transport does not do this work" : ""
    }

    /// Returns a request with a deadline of 60 s by default, so that a wrong transport can't block the check.
    func request(
        _ method: HTTPRequest.Method = .get, _ target: String = "/", headers: HTTPFields = HTTPFields(), body: RequestBody = .empty,
        within limit: Duration = .seconds(60)
    ) throws -> Request {
        var request = try Request(method, url: origin + target, headers: headers, body: body)
        request.deadline = Deadline(after: limit)
        return request
    }

    /// Returns two requests: `request` with its deadline, and a copy without a deadline. The code that enforces a deadline would hide the
    /// error that a cancelled transport throws.
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

    /// Returns the response and its whole body.
    func exchange(
        _ method: HTTPRequest.Method = .get, _ target: String = "/", headers: HTTPFields = HTTPFields(), body: RequestBody = .empty
    ) async throws -> (response: Response, body: Data) {
        let response = try await send(method, target, headers: headers, body: body)
        return (response, try await response.body.collect())
    }

    /// Returns the error that sending and reading must throw, which is never a cancellation.
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
