/// Whether the server got a request that failed. The order is `no`, `maybe`, `yes`.
public enum WasSent: String, Sendable, Hashable, Comparable {
    /// Nothing of it left: it can be sent again, whatever its method.
    case no
    /// Some of it left; whether the server acted on it is not known.
    case maybe
    /// The server answered.
    case yes

    public static func < (first: WasSent, second: WasSent) -> Bool { first.rank < second.rank }

    private var rank: Int {
        switch self {
        case .no: 0
        case .maybe: 1
        case .yes: 2
        }
    }
}

extension Sequence<AttemptRecord> {
    /// Whether a server got the request in any of these attempts: the highest value of all; `no` for an empty sequence.
    package var wasSent: WasSent { map(\.outcome.wasSent).max() ?? .no }
}

extension AttemptRecord.Outcome {
    fileprivate var wasSent: WasSent {
        switch self {
        case .status: .yes
        case .failure(let error as TransportError) where error.isUnprocessed: error.attempts.wasSent
        case .failure(is InvalidURL): .no
        case .failure(let error as any RequestFailure): error.wasSent
        case .failure: .maybe
        }
    }
}
