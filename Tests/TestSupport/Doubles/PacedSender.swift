public import ErrandCore
public import ErrandTesting
internal import Synchronization

/// Responds to each request as the test specifies, after a time on the test's clock.
public final class PacedSender: HTTPSender {
    /// How to respond to one request.
    public struct Pace: Sendable {
        var time: Duration
        var status: Int
        var fields: HTTPFields
        var failure: TransportError.Code?
        /// Whether the sender responds although the request was cancelled.
        var isDeaf: Bool

        public init(
            time: Duration, status: Int = 200, fields: HTTPFields = HTTPFields(), failure: TransportError.Code? = nil, isDeaf: Bool = false
        ) {
            (self.time, self.status, self.fields, self.failure, self.isDeaf) = (time, status, fields, failure, isDeaf)
        }
    }

    /// The record of the requests.
    public struct Seen: Sendable {
        public var received = 0
        public var cancelled = 0
        public var abandoned = 0
        public var requests: [Request] = []
    }

    private let state = Mutex(Seen())
    private let clock: ManualClock
    private let pace: @Sendable (Int) -> Pace

    public init(_ clock: ManualClock, _ pace: @escaping @Sendable (_ number: Int) -> Pace) { (self.clock, self.pace) = (clock, pace) }

    public var seen: Seen { state.withLock { $0 } }

    public func send(_ request: Request) async throws -> Response {
        let number = state.withLock { state in
            state.received += 1
            state.requests.append(request)
            return state.received
        }
        let pace = pace(number)
        do {
            try await clock.sleep(for: pace.time)
        } catch {
            state.withLock { $0.cancelled += 1 }
            if !pace.isDeaf { throw error }
        }
        if let code = pace.failure { throw TransportError(code, phase: .connect, request: request, delivery: .unknown) }
        let exchange = ExchangeLifetime()
        exchange.onEnd { [weak self] end in
            if case .abandoned = end { self?.state.withLock { $0.abandoned += 1 } }
        }
        return Response(
            head: HTTPResponse(status: .init(code: pace.status), headerFields: pace.fields),
            body: ResponseBody(NumberSource(number: number, exchange: exchange)), request: request, exchange: exchange)
    }

    /// A body with the number of the request.
    private final class NumberSource: BodySource {
        let text: Mutex<String?>
        let exchange: ExchangeLifetime
        init(number: Int, exchange: ExchangeLifetime) {
            text = Mutex("\(number)")
            self.exchange = exchange
        }
        func next() async throws -> Data? {
            let text = text.withLock { text in
                defer { text = nil }
                return text
            }
            if text == nil { exchange.end(.complete) }
            return text.map { Data($0.utf8) }
        }
        func abandon() { exchange.end(.abandoned) }
        var trailers: HTTPFields? { nil }
    }
}
