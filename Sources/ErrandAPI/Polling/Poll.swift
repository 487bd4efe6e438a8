internal import ErrandCore
internal import ErrandFormats

/// The state of a poll: the next request and the responses so far. The type is a pure value, without a clock and without a task.
struct Poll: Sendable {
    /// The number of requests made so far.
    private(set) var count = 0
    /// The request that got the last response; `nil` before the first response.
    private(set) var sent: Request?
    /// The head of the last response; `nil` before the first response.
    private(set) var head: HTTPResponse?
    /// The tolerated failure of the last request.
    private(set) var failure: (any Error)?
    private var failures = 0
    private let method: HTTPRequest.Method
    /// The URL of the last `Location`, which shows the state of the work.
    private var statusURL: HTTPURL?
    /// The origin of the call, which is the only origin that gets the credentials of the call; `nil` if a redirect of the first request
    /// led to another origin.
    private var originOfCall: Origin?
    /// The `ETag` of the last response that had this field.
    private var tag: EntityTag?
    /// Whether a response was received, which means that the work has begun.
    private var hasBegun = false

    init(method: HTTPRequest.Method) { self.method = method }

    /// Whether the polling has added `If-None-Match` to the last request.
    private(set) var isConditional = false

    /// Returns the next request.
    ///
    /// - Parameter call: the request of the call. Pass a newly created request at each use of this function.
    mutating func request(from call: Request) throws(InvalidURLError) -> Request {
        var request = call
        if let statusURL {
            request.changeToGET()
            request.removeConditions()
            request.options.urlTemplate = nil
            try request.move(to: statusURL, from: originOfCall)
        }
        isConditional = tag != nil && request.head.headerFields[.ifNoneMatch] == nil
        if isConditional { request.head.headerFields[.ifNoneMatch] = tag?.description }
        return request
    }

    /// Records a response that does not end the polling.
    ///
    /// - Throws: ``PollingError`` if there is no URL to poll.
    mutating func recordResponse(_ head: HTTPResponse, request sent: Request, _ policy: PollingPolicy) throws {
        originOfCall = sent.trustedOrigin(ofCall: statusURL != nil ? originOfCall : sent.originOfCall, allowing: policy.allowedOrigins)
        self.head = head
        self.sent = sent
        failure = nil
        failures = 0
        hasBegun = true
        count += 1
        if head.status == .accepted, let location = try location(of: head, sent) {
            statusURL = try url(of: location, from: sent, head, policy)
            tag = nil
        } else if statusURL == nil, ![.get, .head].contains(method) {
            let reason = head.status == .accepted ? "has no Location" : "does not end the polling, and only a GET or HEAD can be repeated"
            throw PollingError(.noLocation, "the response with the status \(head.status.code) \(reason)", request: sent, head)
        }
        // Only a valid entity tag may be sent in `If-None-Match`: `*` would match any response.
        if head.status == .ok { tag = head.headerFields.single(.eTag).flatMap { EntityTag($0) } }
    }

    /// Records that the response is unchanged (304).
    mutating func recordUnchanged(_ head: HTTPResponse) {
        (self.head, failure, failures) = (head, nil, 0)
        count += 1
    }

    /// Records a failure, and returns whether polling continues after the failure. If polling ends, nothing is recorded.
    ///
    /// - Parameter isLate: whether the timeout of the policy has passed, so that this failure is the last.
    mutating func recordFailure(_ error: any Error, _ policy: PollingPolicy, isLate: Bool) -> Bool {
        guard TemporaryFailure(error) != nil else { return false }
        let mayBeMadeAgain = hasBegun || method.isIdempotent || !error.mayHaveBeenProcessed
        guard isLate || (mayBeMadeAgain && failures < policy.maxFailures) else { return false }
        (failure, failures) = (error, failures + 1)
        head = (error as? StatusError)?.head ?? head
        count += 1
        return true
    }

    private func location(of head: HTTPResponse, _ sent: Request) throws -> String? {
        do throws(RepeatedFieldError) {
            return try head.headerFields.checkedSingle(.location)
        } catch {
            throw PollingError(.invalidLocation, error.description, request: sent, head)
        }
    }

    private func url(of location: String, from sent: Request, _ head: HTTPResponse, _ policy: PollingPolicy) throws -> HTTPURL {
        do {
            return try sent.resolvedURL(of: location, originOfCall: originOfCall, allowing: policy.allowedOrigins)
        } catch .invalid(let reason) {
            throw PollingError(.invalidLocation, reason.description, request: sent, head)
        } catch .foreign(let origin) {
            throw PollingError(.foreignOrigin, "allowedOrigins of the policy does not list \(origin)", request: sent, head)
        }
    }
}
