public import ErrandCore

#if canImport(FoundationNetworking)
internal import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// A protocol class that serves stubs to code with `URLSession`, such as another library, or a screen without Errand.
///
/// ```swift
/// let stub = StubTransport(Stub(.get, "/users/{id}").responds(.json(User(id: 7))))
/// let configuration = URLSessionConfiguration.ephemeral
/// StubURLProtocol.serve(stub, to: configuration)
/// let session = URLSession(configuration: configuration)
/// let (data, _) = try await session.data(from: URL(string: "https://api.example/users/7")!)
/// ```
///
/// The stub gets all `http` and `https` requests of the sessions that are created with the configuration. No other session sees the stub,
/// so tests can run concurrently. All responses of ``/ErrandTesting/StubResponse`` work, with delays, rates and failures. Only `raw(_:)`
/// does not work, because that response needs a socket.
///
/// - A failure of the stub is a `URLError`: `.offline` is `notConnectedToInternet`, `.timedOut` is `timedOut`, and so on. The error of this
///   library is in the `userInfo` of the `URLError`, under `NSUnderlyingErrorKey`. `localizedDescription` is the English text of Apple's
///   platforms. An error of the app in `.failure(_:)` stays unchanged.
/// - If a task is cancelled, the work of the stub ends.
/// - A redirect is the response of the task. `URLSession` does not follow the redirect of a stub.
/// - Content is not decoded. Trailer fields and informational responses are dropped. The stub sees no timeout of the session.
///
/// On Linux, `URLSession` has more limits:
/// - The body arrives in one piece, at the end of the response. A task with a completion handler, or with `await`, would get only the last
///   of several pieces. See ``deliversPieces``.
/// - The stub sees neither the body of an upload task nor the configuration's `httpAdditionalHeaders`. The stub sees the body of a data
///   task.
/// - A download task fails with `URLError.unsupportedURL`.
/// - A response with the status 401 has no `WWW-Authenticate`. With this field, the session would wait for credentials forever.
/// - Suspending a task does not stop its stub.
/// - `URLSession` can end or block the process if a task is cancelled while its response ends. For tests of cancellation, use a response
///   that does not end, such as `.never`.
public class StubURLProtocol: URLProtocol {
    /// Whether a body arrives in the pieces of the stub: true on Apple's platforms, and false on Linux. On Linux, only a delegate gets all
    /// pieces.
    public static var deliversPieces: Bool { WakeUp.deliversPieces }

    /// Serves a stub to the sessions that are created with a configuration. Call this function before you create a session, because the
    /// session copies the configuration.
    ///
    /// - Parameters:
    ///   - sender: the sender of the requests, which is usually a ``/ErrandTesting/StubTransport``. The sender can also be a stack or a
    ///     `ReplayTransport`. The sender is kept until the process ends.
    ///   - configuration: the settings of a session. Other protocol classes of the configuration stay, after the class of the stub.
    ///   - inPieces: whether a body arrives in the pieces of the stub. Default: ``deliversPieces``. On Linux, pass `true` only for tasks
    ///     with a delegate.
    public static func serve(
        _ sender: any HTTPSender, to configuration: URLSessionConfiguration, inPieces: Bool = StubURLProtocol.deliversPieces
    ) {
        let added = StubClasses.add(StubClasses.Registration(sender: sender, deliversPieces: inPieces))
        configuration.protocolClasses = [added] + (configuration.protocolClasses ?? [])
    }

    private var load: StubLoad?

    /// Returns true for `http` and `https`.
    public override class func canInit(with request: URLRequest) -> Bool {
        ["http", "https"].contains(request.url?.scheme?.lowercased())
    }

    /// Returns the request unchanged.
    public override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    /// Sends the request to the stub. Only `URLSession` calls this method.
    public override func startLoading() {
        guard load == nil else { return deliver() }
        guard !WakeUp.isUnsupported(task), let registration = StubClasses.registration(of: type(of: self)) else {
            client?.urlProtocol(self, didFailWithError: URLError(.unsupportedURL))
            return
        }
        let load = StubLoad(WakeUp(self))
        self.load = load
        load.start(request, by: registration)
    }

    /// Ends the work of the stub. Only `URLSession` calls this method.
    public override func stopLoading() {
        if !WakeUp.isSuspension(of: task) { load?.stop() }
    }

    /// Reports to the session the events since the last report.
    func deliver() {
        for event in load?.take() ?? [] {
            switch event {
            case .head(let head): client?.urlProtocol(self, didReceive: head, cacheStoragePolicy: .notAllowed)
            case .chunk(let chunk): client?.urlProtocol(self, didLoad: chunk)
            case .end(let failure?): client?.urlProtocol(self, didFailWithError: failure)
            case .end(nil): client?.urlProtocolDidFinishLoading(self)
            }
        }
    }

    deinit { load?.stop() }
}
