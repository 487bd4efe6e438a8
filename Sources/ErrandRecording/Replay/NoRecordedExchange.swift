public import ErrandCore

/// A request to be answered from a recording, in which nothing answers it.
public struct NoRecordedExchangeError: RequestFailure {
    public var request: Request?
    public var attempts: [AttemptRecord] = []
    /// The recorded exchange that is most like the request, and in what it differs, or why it does not answer; nil where there is none.
    /// Without secrets.
    public let nearest: String?
    /// The file.
    public let path: String

    public var phase: ExchangePhase { .request }
    public var delivery: Delivery { attempts.delivery }

    init(_ request: Request, path: String, nearest: String?) { (self.request, self.path, self.nearest) = (request, path, nearest) }

    public var description: String {
        "\(request.map { "\($0): " } ?? "")no exchange recorded in '\(path)' answers it; "
            + (nearest.map { "the nearest, \($0)" } ?? "there are none")
    }
}

extension NoRecordedExchangeError: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: ["failure": description]) }
}

/// A file is no HTTP archive.
public struct InvalidRecordingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The file.
    public let path: String
    /// What is wrong with it.
    public let reason: String

    init(path: String, reason: String) { (self.path, self.reason) = (path, reason) }

    public var description: String { "'\(path)' is no recording: \(reason)" }
}
