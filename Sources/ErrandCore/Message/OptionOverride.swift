/// What one request says of a middleware's setting.
public enum OptionOverride<Value: Sendable>: Sendable {
    /// As the stack has it. The default.
    case inherited
    /// Not for this request: the middleware passes it on untouched.
    case off
    /// This instead.
    case use(Value)

    /// The value to go by; nil where the middleware is switched off.
    public func resolved(_ inherited: Value) -> Value? {
        switch self {
        case .inherited: inherited
        case .off: nil
        case .use(let value): value
        }
    }

    /// True for ``off``.
    public var isOff: Bool {
        if case .off = self { true } else { false }
    }
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
