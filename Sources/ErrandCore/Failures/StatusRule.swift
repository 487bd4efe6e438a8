/// A set of statuses: a list of codes, or the statuses that a closure selects. Policies and `validateStatus` take a rule as a parameter.
///
/// ```swift
/// stack.validateStatus([200, 404])
/// stack.retry(RetryPolicy(statuses: .transient.union([409])))
/// request.options.validateStatus = .use(StatusRule("below 500") { $0.code < 500 })
/// ```
public struct StatusRule: Sendable, CustomStringConvertible {
    /// The storage is a class, because each request carries the rule of its stack, and a reference is cheap to copy.
    private final class Storage: Sendable {
        let description: String
        /// The listed codes; `nil` for a rule with a closure.
        let codes: Set<Int>?
        let contains: @Sendable (HTTPResponse.Status) -> Bool

        init(_ description: String, codes: Set<Int>?, _ contains: @escaping @Sendable (HTTPResponse.Status) -> Bool) {
            (self.description, self.codes, self.contains) = (description, codes, contains)
        }
    }

    private let storage: Storage
    /// The rule in words: `2xx`.
    public var description: String { storage.description }

    /// Creates a rule.
    ///
    /// - Parameters:
    ///   - description: the rule in words, for the stack's description.
    ///   - contains: returns whether the rule contains a status.
    public init(_ description: String, contains: @escaping @Sendable (HTTPResponse.Status) -> Bool) {
        storage = Storage(description, codes: nil, contains)
    }

    private init(_ codes: Set<Int>) {
        storage = Storage(codes.sorted().map(String.init).joined(separator: ", "), codes: codes) { codes.contains($0.code) }
    }

    /// Returns whether the rule contains `status`.
    public func contains(_ status: HTTPResponse.Status) -> Bool { storage.contains(status) }

    /// Whether the rule is an empty list. False for a rule with a closure.
    public var isEmpty: Bool { storage.codes?.isEmpty ?? false }

    /// Returns the rule that contains the statuses of both rules.
    public func union(_ other: StatusRule) -> StatusRule {
        if let codes = storage.codes, let others = other.storage.codes { return StatusRule(codes.union(others)) }
        return StatusRule("\(self), \(other)") { self.contains($0) || other.contains($0) }
    }

    /// The rule that contains 200 to 299.
    public static let successful = StatusRule("2xx") { $0.kind == .successful }
    /// The rule that contains 200 to 399, for callers that handle redirects and 304 themselves.
    public static let successfulOrRedirection = StatusRule("2xx, 3xx") { $0.kind == .successful || $0.kind == .redirection }
    /// Returns a rule that contains the statuses in `codes`, and no other statuses.
    public static func statuses(_ codes: Set<Int>) -> StatusRule { StatusRule(codes) }
}

extension StatusRule: ExpressibleByArrayLiteral {
    /// Creates a rule that contains the listed statuses, and no other statuses.
    public init(arrayLiteral codes: Int...) { self.init(Set(codes)) }
}

/// Two lists are equal if they have the same codes. A rule with a closure is equal only to its copies.
extension StatusRule: Hashable {
    public static func == (left: StatusRule, right: StatusRule) -> Bool {
        left.storage === right.storage || (left.storage.codes != nil && left.storage.codes == right.storage.codes)
    }

    public func hash(into hasher: inout Hasher) {
        if let codes = storage.codes { hasher.combine(codes) } else { hasher.combine(ObjectIdentifier(storage)) }
    }
}

private enum ValidateStatusOptionKey: CrossOriginOptionKey {
    static var defaultValue: OptionOverride<StatusRule> { .inherited }
    static func identity(of value: OptionOverride<StatusRule>) -> OptionIdentity { .ofSwitch(value) }
    static var requiredMiddleware: MiddlewarePlace { .validateStatus }
}

extension RequestOptions {
    /// Replaces the stack's status rule for this request. With `.off`, every status is accepted. Default: `.inherited`, the
    /// stack's rule.
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
    /// Observers call this function. The rule of the request's option applies. If the option is `.inherited`, the rule of an outer
    /// `validateStatus` applies. If no rule applies, the result is true for a response that an inner `validateStatus` has accepted. A
    /// redirect that may be followed is always accepted.
    func accepts(_ response: Response) -> Bool? {
        let rule: StatusRule? =
            switch options.validateStatus {
            case .inherited: options.call.passedStatusRule
            case .off: nil
            case .use(let rule): rule
            }
        guard let rule else { return response.metadata.isStatusAccepted ? true : nil }
        let status = response.head.status
        return rule.contains(status) || (options.call.redirectsAreFollowed && status.kind == .redirection)
    }

    /// Returns whether the status of a response is a failure. If the call has a rule, each status that the rule refuses is a failure.
    /// Without a rule, a status code of at least 400 is a failure.
    func refuses(_ response: Response) -> Bool { !(accepts(response) ?? (response.head.status.code < 400)) }
}
