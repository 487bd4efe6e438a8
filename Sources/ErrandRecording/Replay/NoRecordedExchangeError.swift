public import ErrandCore

/// The error of a request for which a recording has no matching exchange. The request was not sent.
public struct NoRecordedExchangeError: RequestFailure, NumberedFailure {
    public var request: Request?
    public var attempts: [AttemptRecord] = []
    /// The most similar recorded exchange, with its differences from the request, or with the reason why the exchange can't be
    /// replayed. `nil` if the file has no exchanges. The text contains no secrets.
    public let nearest: String?
    /// The path of the file.
    public let path: String

    public var phase: ExchangePhase { .request }
    public var delivery: Delivery { attempts.delivery }

    init(_ request: Request, path: String, nearest: String?) { (self.request, self.path, self.nearest) = (request, path, nearest) }

    public var description: String {
        "\(shownRequest)no exchange recorded in '\(path)' matches the request; "
            + (nearest.map { "the nearest, \($0)" } ?? "there are none") + shownAttempts
    }

    public var failureNumber: FailureNumber { .unrecordedRequest }
    public var failureReason: String? {
        (nearest.map { "the nearest recorded exchange, \($0)" } ?? "the recording has no exchanges").asSentence
    }
}
