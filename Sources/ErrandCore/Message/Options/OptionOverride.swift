/// The setting of one request for a middleware, in place of the stack's setting.
///
/// ```swift
/// request.options.timeout = .seconds(2)                // the same as .use(.seconds(2))
/// request.options.retry = .off
/// ```
public enum OptionOverride<Value: Sendable>: Sendable {
    /// The stack's setting applies. The default.
    case inherited
    /// The middleware does not apply to this request. The middleware passes the request on unchanged.
    case off
    /// This value replaces the stack's setting.
    case use(Value)

    /// Returns the effective value; `nil` if the middleware is switched off.
    ///
    /// - Parameter inherited: the stack's setting.
    public func resolved(_ inherited: Value) -> Value? {
        switch self {
        case .inherited: inherited
        case .off: nil
        case .use(let value): value
        }
    }

    /// Whether this is ``off``.
    public var isOff: Bool {
        if case .off = self { true } else { false }
    }
}

extension OptionOverride where Value == Duration {
    /// Returns an override with a duration in whole seconds: `request.options.timeout = .seconds(5)`.
    public static func seconds(_ seconds: some BinaryInteger) -> Self { .use(.seconds(seconds)) }

    /// Returns an override with a duration in seconds: `request.options.timeout = .seconds(0.5)`.
    ///
    /// - Precondition: `seconds` is finite and in the range of `Int64`.
    public static func seconds(_ seconds: Double) -> Self {
        precondition(
            Int64(exactly: seconds.rounded(.towardZero)) != nil, "seconds must be finite and in the range of Int64 (is \(seconds))")
        return .use(.seconds(seconds))
    }

    /// Returns an override with a duration in milliseconds: `request.options.attemptTimeout = .milliseconds(500)`.
    public static func milliseconds(_ milliseconds: some BinaryInteger) -> Self { .use(.milliseconds(milliseconds)) }
}

/// An ``OptionOverride`` of any value.
protocol AnyOptionOverride {
    var isInherited: Bool { get }
    var isOff: Bool { get }
}

extension OptionOverride: AnyOptionOverride {
    var isInherited: Bool {
        if case .inherited = self { true } else { false }
    }
}

extension OptionOverride: Equatable where Value: Equatable {}
extension OptionOverride: Hashable where Value: Hashable {}
