internal import Dispatch
internal import ErrandCore
internal import Foundation
internal import Synchronization

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The sessions of a transport, and the exchanges in progress.
final class Sessions: Sendable {
    /// A session and its delegate.
    private struct Open: Sendable {
        let session: URLSession
        let delegate: SessionDelegate
        let traffic = SessionTraffic()

        init(_ configuration: URLSessionConfiguration, _ tls: SessionTLS, _ exchanges: ExchangeTable) {
            delegate = SessionDelegate(tls, exchanges: exchanges)
            let queue = OperationQueue()
            queue.maxConcurrentOperationCount = 1
            session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
        }
    }

    private struct State {
        var isShutDown = false
        /// The session for requests that fail without a network.
        var shared: Open?
        /// The session for requests that wait for a network.
        var waiting: Open?
    }

    /// The queue that creates the tasks of all transports, and invalidates their sessions. On Linux, all sessions of a process share a
    /// queue of Foundation. The creation of a task waits for Foundation's queue, which waits for the next bytes of a stream that another
    /// task sends. These bytes come from a thread of Swift's concurrency. Therefore, no thread of Swift's concurrency may wait for
    /// Foundation's queue.
    private static let queue = DispatchQueue(label: "errand.url-sessions")

    private let state = Mutex(State())
    private let exchanges = ExchangeTable()
    private let configuration: URLSessionConfiguration
    private let tls: SessionTLS
    private let configure: (@Sendable (inout URLRequest) -> Void)?

    /// The idle timeout of a session for which only deadlines apply: seven days. A session also ends each task after seven days.
    static let longestTimeout: Duration = .seconds(7 * 24 * 60 * 60)

    init(
        _ base: URLSessionConfiguration, tls: SessionTLS = .system, idleTimeout: Duration?,
        configure: (@Sendable (inout URLRequest) -> Void)?
    ) {
        configuration = Self.settings(base, tls: tls, idleTimeout: idleTimeout)
        (self.tls, self.configure) = (tls, configure)
    }

    /// Returns settings that switch some features of the session off. The middleware of this library replaces these features.
    static func settings(_ base: URLSessionConfiguration, tls: SessionTLS = .system, idleTimeout: Duration?) -> URLSessionConfiguration {
        let settings = base.copy() as? URLSessionConfiguration ?? .ephemeral
        settings.urlCache = nil
        settings.requestCachePolicy = .reloadIgnoringLocalCacheData
        settings.httpCookieStorage = nil
        settings.httpCookieAcceptPolicy = .never
        settings.httpShouldSetCookies = false
        settings.urlCredentialStorage = nil
        let seconds = min(idleTimeout ?? longestTimeout, longestTimeout) / .seconds(1)
        settings.timeoutIntervalForRequest = SessionAbilities.current.countsWholeSeconds ? seconds.rounded(.up) : seconds
        settings.timeoutIntervalForResource = longestTimeout / .seconds(1)
        PlatformSettings.require(tls.minimumVersion, in: settings)
        return settings
    }

    /// The number of exchanges in progress.
    var exchangeCount: Int { exchanges.count }

    // MARK: - Sending

    func send(_ request: Request) async throws -> Response {
        var urlRequest = try URLRequest(headOf: request)
        // Each `URLRequest` has its own idle timeout, which is 60 s unless this function sets another timeout.
        urlRequest.timeoutInterval = configuration.timeoutIntervalForRequest
        PlatformSettings.limit(&urlRequest, to: request.options.networkAccess)
        let upload = attachBody(of: request, to: &urlRequest)
        let isChanged = runConfigure(on: &urlRequest)
        let plan = SessionPlan(for: request, sending: urlRequest, hasStream: upload != nil, isChanged: isChanged, tls: tls)
        if let upload { urlRequest.httpBodyStream = upload.open() }
        let created: (Open, URLSessionDataTask)?
        do {
            created = try await task(for: urlRequest, of: request, inOwnSession: plan.ownsSession)
        } catch {
            upload?.stop()
            throw error
        }
        guard let (open, task) = created else {
            upload?.stop()
            throw TransportError(.shutDown, phase: .request, request: request, delivery: .notSent)
        }
        let driver = TaskDriver(task, delegateQueue: open.session.delegateQueue)
        let exchange = SessionExchange(request, rules: plan.rules, upload: upload, traffic: open.traffic) {
            // A session keeps a task that was never started, unless the task is cancelled.
            driver.cancelUnlessStarted()
            open.delegate.remove(task.taskIdentifier)
            if plan.ownsSession { open.session.finishTasksAndInvalidate() }
        }
        if !open.delegate.add(exchange, for: task.taskIdentifier) { exchange.shutDown() }
        upload?.start(for: exchange)
        return try await exchange.run(on: driver)
    }

    /// Attaches the bytes of a body in memory to the request of the session.
    ///
    /// - Returns: the upload of a file or of a stream. `nil` for a body in memory, and for an empty body.
    private func attachBody(of request: Request, to urlRequest: inout URLRequest) -> SessionUpload? {
        if request.body.isEmpty { return nil }
        if let data = request.body.bufferedData {
            urlRequest.httpBody = data
            return nil
        }
        if SessionAbilities.current.declaresStreamLength, let length = request.body.length {
            urlRequest.setValue("\(length)", forHTTPHeaderField: "Content-Length")
        }
        return SessionUpload(request.body)
    }

    /// Runs the app's closure. Returns whether the closure has changed the URL or the credentials.
    private func runConfigure(on urlRequest: inout URLRequest) -> Bool {
        guard let configure else { return false }
        let before = (urlRequest.url, urlRequest.value(forHTTPHeaderField: "Authorization"))
        configure(&urlRequest)
        return before != (urlRequest.url, urlRequest.value(forHTTPHeaderField: "Authorization"))
    }

    // MARK: - The sessions

    /// Returns a new task and its session: the shared session, or a session for this task alone. `nil` after the shutdown.
    ///
    /// - Throws: `CancellationError` if the caller is cancelled. In this case, the task is cancelled as soon as the task has been created.
    private func task(
        for urlRequest: URLRequest, of request: Request, inOwnSession: Bool
    ) async throws -> (Open, URLSessionDataTask)? {
        let (created, isCreated) = (Created(), FirstResult<Void>())
        let options = request.options
        Self.queue.async { [self] in
            // A cancelled caller needs no task.
            guard !isCreated.isDecided else { return }
            created.task.withLock { $0 = makeTask(for: urlRequest, options, inOwnSession: inOwnSession) }
            isCreated.decide(.success(()))
        }
        do {
            try await isCreated.wait()
        } catch {
            Self.queue.async {
                guard let (open, task) = created.task.withLock({ $0.take() }) else { return }
                TaskDriver(task, delegateQueue: open.session.delegateQueue).cancel()
                open.traffic.endUnsent()
                if inOwnSession { open.session.finishTasksAndInvalidate() }
            }
            throw error
        }
        return created.task.withLock { $0.take() }
    }

    /// A task that waits for its caller.
    private final class Created: Sendable {
        let task = Mutex<(Open, URLSessionDataTask)?>(nil)
    }

    /// Creates a task. Only the queue of the sessions calls this function, because a session that was invalidated must not create a task.
    private func makeTask(
        for urlRequest: URLRequest, _ options: RequestOptions, inOwnSession: Bool
    ) -> (Open, URLSessionDataTask)? {
        let session = state.withLock { state -> Open? in
            if state.isShutDown { return nil }
            let kept = options.waitsForConnectivity ? \State.waiting : \State.shared
            let open = (inOwnSession ? nil : state[keyPath: kept]) ?? makeSession(waits: options.waitsForConnectivity)
            if !inOwnSession { state[keyPath: kept] = open }
            return open
        }
        guard let open = session else { return nil }
        open.traffic.begin()
        let task = open.session.dataTask(with: urlRequest)
        task.priority = options.priority.ofTask
        return (open, task)
    }

    private func makeSession(waits: Bool) -> Open {
        guard waits, let settings = configuration.copy() as? URLSessionConfiguration else { return Open(configuration, tls, exchanges) }
        PlatformSettings.waitForConnectivity(settings)
        return Open(settings, tls, exchanges)
    }

    func shutDown() {
        let sessions = state.withLock { state in
            state.isShutDown = true
            return [state.shared.take(), state.waiting.take()]
        }
        for exchange in exchanges.close() { exchange.shutDown() }
        // Each exchange has cancelled its task. On Linux, `invalidateAndCancel()` is unsafe, because the method reads the session's table
        // of tasks while tasks are removed.
        Self.invalidate(sessions)
    }

    private static func invalidate(_ sessions: [Open?]) {
        queue.async { for open in sessions { open?.session.finishTasksAndInvalidate() } }
    }

    // A session keeps its delegate and its threads until it is invalidated. Tasks in progress end first.
    deinit {
        Self.invalidate(state.withLock { [$0.shared, $0.waiting] })
    }
}

extension RequestPriority {
    /// The priority of a task, from 0 to 1. The urgency 3 gives 0.5, the default of `URLSessionTask`.
    var ofTask: Float {
        switch urgency {
        case ..<3: 0.75
        case 3: URLSessionTask.defaultPriority
        default: 0.25
        }
    }
}
