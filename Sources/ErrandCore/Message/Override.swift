/// What one request says of a middleware's setting.
public enum Override<Value: Sendable>: Sendable {
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

/// An ``Override`` of any value.
protocol AnyOverride {
    var isInherited: Bool { get }
    var isOff: Bool { get }
}

extension Override: AnyOverride {
    var isInherited: Bool {
        if case .inherited = self { true } else { false }
    }
}

extension Override: Equatable where Value: Equatable {}
extension Override: Hashable where Value: Hashable {}
