/// Whether a request that failed reached the server. The order is `notSent`, `unknown`, `sent`.
///
/// ```swift
/// } catch let failure as any RequestFailure where failure.delivery == .notSent {
///     try await order(again: cart)        // safe: no server got it
/// }
/// ```
public enum Delivery: String, Sendable, Hashable, Comparable {
    /// Nothing of it was sent: it can be sent again, whatever its method.
    case notSent
    /// Some of it may have been sent; whether the server processed it is not known.
    case unknown
    /// The server responded.
    case sent

    public static func < (first: Delivery, second: Delivery) -> Bool { first.rank < second.rank }

    private var rank: Int {
        switch self {
        case .notSent: 0
        case .unknown: 1
        case .sent: 2
        }
    }
}

extension Sequence<AttemptRecord> {
    /// Whether a server got the request in any of these attempts: the highest value of all; `notSent` for an empty sequence.
    package var delivery: Delivery { map(\.outcome.delivery).max() ?? .notSent }
}

extension AttemptRecord.Outcome {
    fileprivate var delivery: Delivery {
        switch self {
        case .status: .sent
        case .failure(let error as TransportError) where error.isUnprocessed: error.attempts.delivery
        case .failure(is InvalidURLError): .notSent
        case .failure(let error as any RequestFailure): error.delivery
        case .failure: .unknown
        }
    }
}
