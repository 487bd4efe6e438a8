/// The statuses that a call accepts.
///
/// ```swift
/// stack.validateStatus(.statuses([200, 404]))
/// request.options.validateStatus = .use(StatusRule("below 500") { $0.code < 500 })
/// ```
public struct StatusRule: Sendable, CustomStringConvertible {
    /// The storage is a class, which is cheap to copy: each request carries the rule of its stack.
    private final class Storage: Sendable {
        let description: String
        let accepts: @Sendable (HTTPResponse.Status) -> Bool

        init(_ description: String, _ accepts: @escaping @Sendable (HTTPResponse.Status) -> Bool) {
            (self.description, self.accepts) = (description, accepts)
        }
    }

    private let storage: Storage
    /// The rule in words: `2xx`.
    public var description: String { storage.description }

    /// Creates a rule.
    ///
    /// - Parameters:
    ///   - description: the rule in words, for the stack's description.
    ///   - accepts: whether a status is accepted.
    public init(_ description: String, accepts: @escaping @Sendable (HTTPResponse.Status) -> Bool) {
        storage = Storage(description, accepts)
    }

    /// Returns whether `status` is accepted.
    public func accepts(_ status: HTTPResponse.Status) -> Bool { storage.accepts(status) }

    /// The rule that accepts 200 to 299.
    public static let successful = StatusRule("2xx") { $0.kind == .successful }
    /// The rule that accepts 200 to 399, for callers that handle redirects and 304 themselves.
    public static let successfulOrRedirection = StatusRule("2xx, 3xx") { $0.kind == .successful || $0.kind == .redirection }
    /// Returns a rule that accepts the statuses in `codes`, and no others.
    public static func statuses(_ codes: Set<Int>) -> StatusRule {
        StatusRule(codes.sorted().map(String.init).joined(separator: ", ")) { codes.contains($0.code) }
    }
}

private enum ValidateStatusOptionKey: CrossOriginOptionKey {
    static var defaultValue: OptionOverride<StatusRule> { .inherited }
    static func identity(of value: OptionOverride<StatusRule>) -> OptionIdentity { .ofSwitch(value) }
    static var requiredMiddleware: MiddlewarePlace { .validateStatus }
}

extension RequestOptions {
    /// Replaces the stack's status rule for this request. `.off`: every status is accepted. Default: `.inherited`, the stack's
    /// rule.
    ///
    /// The stack must have `validateStatus`. The stack of a typed client always has `validateStatus`.
    public var validateStatus: OptionOverride<StatusRule> {
        get { self[ValidateStatusOptionKey.self] }
        set { self[ValidateStatusOptionKey.self] = newValue }
    }
}

extension Request {
    /// Returns whether the call's rule accepts the status of a response to this request; `nil` if there is no rule.
    ///
    /// Observers call this function. The rule of the request's option applies. Without that rule, the rule of an outer
    /// `validateStatus` applies. Without both rules, a response is accepted if an inner `validateStatus` has accepted the
    /// response. A redirect that may be followed is always accepted.
    func accepts(_ response: Response) -> Bool? {
        let rule: StatusRule? =
            switch options.validateStatus {
            case .inherited: options.call.passedStatusRule
            case .off: nil
            case .use(let rule): rule
            }
        guard let rule else { return response.metadata.isStatusAccepted ? true : nil }
        let status = response.head.status
        return rule.accepts(status) || (options.call.redirectsAreFollowed && status.kind == .redirection)
    }

    /// Returns whether the status of a response is a failure. A status is a failure if the call's rule refuses it. Without a
    /// rule, a status code of at least 400 is a failure.
    func refuses(_ response: Response) -> Bool { !(accepts(response) ?? (response.head.status.code < 400)) }
}
