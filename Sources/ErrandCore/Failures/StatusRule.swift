/// Which statuses are wanted.
public struct StatusRule: Sendable, CustomStringConvertible {
    private let accepted: @Sendable (HTTPResponse.Status) -> Bool
    public let description: String

    /// - Parameter description: for the stack's description.
    public init(_ description: String, accepts: @escaping @Sendable (HTTPResponse.Status) -> Bool) {
        (self.description, accepted) = (description, accepts)
    }

    public func accepts(_ status: HTTPResponse.Status) -> Bool { accepted(status) }

    /// 200 to 299.
    public static let successful = StatusRule("2xx") { $0.kind == .successful }
    /// 200 to 399, for callers that handle redirects and 304 themselves.
    public static let successfulOrRedirection = StatusRule("2xx, 3xx") { $0.kind == .successful || $0.kind == .redirection }
    /// These and no others.
    public static func statuses(_ codes: Set<Int>) -> StatusRule {
        StatusRule(codes.sorted().map(String.init).joined(separator: ", ")) { codes.contains($0.code) }
    }
}

private enum ValidateStatusOptionKey: OptionKey {
    static var defaultValue: Override<StatusRule> { .inherited }
    static func identity(of value: Override<StatusRule>) -> OptionIdentity { .ofSwitch(value) }
    static var crossesOrigins: Bool { true }
    static var servedBy: MiddlewarePlace? { .validateStatus }
}

extension RequestOptions {
    /// Another rule for this request, or `.off`.
    public var validateStatus: Override<StatusRule> {
        get { self[ValidateStatusOptionKey.self] }
        set { self[ValidateStatusOptionKey.self] = newValue }
    }
}
