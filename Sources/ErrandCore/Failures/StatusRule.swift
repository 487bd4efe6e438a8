/// The statuses that a call accepts.
///
/// ```swift
/// stack.validateStatus(.statuses([200, 404]))
/// request.options.validateStatus = .use(StatusRule("below 500") { $0.code < 500 })
/// ```
public struct StatusRule: Sendable, CustomStringConvertible {
    /// One reference, since each request carries the rule that it has passed.
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

    /// - Parameters:
    ///   - description: the rule in words, for the stack's description.
    ///   - accepts: whether a status is accepted.
    public init(_ description: String, accepts: @escaping @Sendable (HTTPResponse.Status) -> Bool) {
        storage = Storage(description, accepts)
    }

    /// Whether `status` is accepted.
    public func accepts(_ status: HTTPResponse.Status) -> Bool { storage.accepts(status) }

    /// 200 to 299.
    public static let successful = StatusRule("2xx") { $0.kind == .successful }
    /// 200 to 399, for callers that handle redirects and 304 themselves.
    public static let successfulOrRedirection = StatusRule("2xx, 3xx") { $0.kind == .successful || $0.kind == .redirection }
    /// The statuses in `codes`, and no others.
    public static func statuses(_ codes: Set<Int>) -> StatusRule {
        StatusRule(codes.sorted().map(String.init).joined(separator: ", ")) { codes.contains($0.code) }
    }
}

private enum ValidateStatusOptionKey: OptionKey {
    static var defaultValue: OptionOverride<StatusRule> { .inherited }
    static func identity(of value: OptionOverride<StatusRule>) -> OptionIdentity { .ofSwitch(value) }
    static var crossesOrigins: Bool { true }
    static var servedBy: MiddlewarePlace { .validateStatus }
}

extension RequestOptions {
    /// Another rule for this request, or `.off`, which accepts every status. `.inherited` (the default) leaves it to the stack.
    ///
    /// The stack must have `validateStatus`; that of a typed client always has.
    public var validateStatus: OptionOverride<StatusRule> {
        get { self[ValidateStatusOptionKey.self] }
        set { self[ValidateStatusOptionKey.self] = newValue }
    }
}

extension Request {
    /// Whether the call's own rule accepts the status of a response to this request, as an observer sees them: by the option, by the
    /// `validateStatus` outside the observer, or because one inside has let the response pass; `nil` if there is no rule.
    ///
    /// A redirect that may be followed is always accepted.
    func accepts(_ response: Response) -> Bool? {
        let rule: StatusRule? =
            switch options.validateStatus {
            case .inherited: options.call.passedStatusRule
            case .off: nil
            case .use(let rule): rule
            }
        guard let rule else { return response.metadata.isStatusAccepted ? true : nil }
        let status = response.head.status
        return rule.accepts(status) || (options.call.mayFollowRedirects && status.kind == .redirection)
    }

    /// Whether the status of a response is a failure: ``accepts(_:)`` says so, or there is no rule and the status code is 400 or more.
    func refuses(_ response: Response) -> Bool { !(accepts(response) ?? (response.head.status.code < 400)) }
}
