public import ErrandFormats

/// A response whose status was not wanted, with its head and the front of its body.
public struct StatusError: RequestFailure {
    /// How much of an unwanted response's body an error keeps: 64 KiB. The rest is abandoned.
    public static let bodyLimitBytes = 64 * 1024

    public var request: Request?
    /// The head: status and fields.
    public let head: HTTPResponse
    /// At most ``bodyLimitBytes`` bytes of the body; fewer where it broke off.
    public let bodyPrefix: Data
    /// False where the body was longer, or broke off.
    public let bodyIsWhole: Bool
    /// What the server says of the problem, where it sent `application/problem+json` (RFC 9457); nil otherwise.
    public let problem: ProblemDetails?
    public var attempts: [AttemptRecord]
    /// The response without its body, for observers that stand outside `validateStatus`.
    package let refused: Response
    /// Whether its body was a stream.
    package let bodyWasStreamed: Bool

    public var status: HTTPResponse.Status { head.status }
    public var response: HTTPResponse? { head }
    public var phase: ExchangePhase { .response }
    public var delivery: Delivery { .sent }

    /// How long the server asks to be left alone (`Retry-After`); nil where it does not say.
    public var retryAfter: Duration? { head.headerFields.retryAfter }

    /// Reads the front of the body and abandons the rest.
    ///
    /// - Throws: `CancellationError`, and ``TransportError`` where the deadline passes meanwhile. A body that breaks off
    ///   otherwise is kept as far as it came: the status says more than that.
    package init(reading response: Response) async throws {
        request = response.request
        head = response.head
        attempts = response.metadata.attempts
        let limitBytes = Self.bodyLimitBytes
        var (front, isWhole) = (Data(), false)
        do {
            var iterator = response.body.makeAsyncIterator()
            while front.count <= limitBytes, !isWhole {
                if let chunk = try await iterator.next() { front.append(chunk) } else { isWhole = true }
            }
        } catch {
            try Task.checkCancellation()
            if error is CancellationError { throw error }
            if let failure = error as? TransportError, failure.code == .timedOut { throw failure }
        }
        response.discard()
        var refused = response
        refused.body = ResponseBody()
        refused.metadata.callEnd = nil
        (self.refused, bodyWasStreamed) = (refused, response.body.bufferedData == nil)
        (bodyPrefix, bodyIsWhole) = (front.count > limitBytes ? Data(front.prefix(limitBytes)) : front, isWhole)
        let type = head.headerFields[.contentType].flatMap { MediaType($0) }
        problem = type?.essence == ProblemDetails.mediaType ? try? ProblemDetails(parsing: bodyPrefix) : nil
    }

    /// A value of the error's body, such as the API's own error type.
    ///
    /// - Throws: `DecodingError`, also where the body was longer than what was kept, or is what a typed call refuses as well: deeper than 128,
    ///   for instance.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self, with decoder: JSONDecoder = JSONDecoder()) throws -> Value {
        if let problem = bodyPrefix.withUnsafeBytes({ JSONDepth.problem(in: $0) }) {
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: problem))
        }
        return try decoder.decode(type, from: bodyPrefix)
    }

    /// Request, status, the problem's title, `Retry-After` and the earlier attempts: no other field and no body.
    public var description: String {
        var text = request.map { "\($0): " } ?? ""
        text += "status \(head.status.code)"
        if !head.status.reasonPhrase.isEmpty { text += " \(head.status.reasonPhrase)" }
        if let problem, !problem.description.isEmpty { text += " (\(problem.description.shownSafely()))" }
        if let retryAfter { text += "; the server asks to wait for \(retryAfter.formattedSeconds)" }
        return text + shownAttempts
    }
}

extension StatusError: CustomReflectable {
    public var customMirror: Mirror {
        Mirror(self, children: ["failure": description, "body": "\(bodyPrefix.count) bytes"] as KeyValuePairs<String, Any>)
    }
}
