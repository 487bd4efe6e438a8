/// A source of a response's body. If a deadline or a timer ends before a read returns, the read fails.
struct RacedBodySource: BodySource {
    private let base: any BodySource
    private let ready: (any ReadyBodySource)?
    private let exchange: ExchangeLifetime
    private let deadline: Deadline?
    private let expiry: @Sendable () async throws -> TransportError

    /// - Parameters:
    ///   - exchange: the exchange of the response. If `expiry` returns an error before a read returns, the exchange ends with that error.
    ///     Without the error of `expiry`, the transport would report only a cancellation.
    ///   - deadline: the deadline for which `expiry` waits; `nil` if each read has its own timeout.
    init(
        _ base: any BodySource, of exchange: ExchangeLifetime, deadline: Deadline? = nil,
        expiry: @escaping @Sendable () async throws -> TransportError
    ) {
        self.base = base
        self.exchange = exchange
        self.deadline = deadline
        self.expiry = expiry
        ready = base as? any ReadyBodySource
    }

    var trailers: HTTPFields? { base.trailers }

    func next() async throws -> Data? {
        // Taking a ready chunk costs less than running a read and a timer at the same time.
        if let ready, deadline?.hasPassed != true, let chunk = ready.takeReadyChunk() { return chunk }
        return try await withExpiry(
            expiry, onExpiry: { exchange.end(.failed($0)) }, discard: { _ in }, operation: { try await base.next() })
    }

    func abandon() { base.abandon() }
    func fail(with error: any Error) { base.fail(with: error) }
}
