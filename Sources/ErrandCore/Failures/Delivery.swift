/// Whether a request that failed reached the server. The order is `notSent`, `unknown`, `sent`.
///
/// ```swift
/// } catch let failure as any RequestFailure where failure.delivery == .notSent {
///     try await order(again: cart)        // safe: no server got it
/// }
/// ```
public enum Delivery: String, Sendable, Hashable, Comparable {
    /// No server processed the request: the request can be sent again with any method.
    ///
    /// Either nothing was sent, or the server reported that it did not process the request. Over HTTP/2, a server reports an
    /// unprocessed request by `REFUSED_STREAM`, or by GOAWAY with a lower stream identifier ([RFC 9113, section
    /// 8.7](https://www.rfc-editor.org/rfc/rfc9113#section-8.7)).
    case notSent
    /// A part of the request may have been sent. Whether the server processed the request is not known.
    case unknown
    /// The server responded.
    case sent

    public static func < (first: Delivery, second: Delivery) -> Bool {
        first != second && (first == .notSent || second == .sent)
    }

    /// Creates the delivery of a request that failed with `error`.
    ///
    /// A ``RequestFailure`` has the delivery as a property. For an invalid URL or field, the delivery is `notSent`. For
    /// any other error, the delivery is `unknown`.
    init(of error: any Error) {
        self =
            switch error {
            case is InvalidURLError, is InvalidFieldError: .notSent
            case let error as any RequestFailure: error.delivery
            default: .unknown
            }
    }
}

extension Sequence<AttemptRecord> {
    /// The highest delivery among these attempts: whether a server got the request in any attempt. `notSent` for an empty sequence.
    public var delivery: Delivery { map(\.outcome.delivery).max() ?? .notSent }
}

extension AttemptRecord.Outcome {
    fileprivate var delivery: Delivery {
        switch self {
        case .status: .sent
        case .failure(let error): Delivery(of: error)
        }
    }
}
