/// The effect of an option's value on the sharing of exchanges between requests.
public enum OptionIdentity: Sendable {
    /// The value is ignored: requests with different values may share an exchange.
    case ignored
    /// The request does not share its exchange with any other request.
    case unique
    /// Requests must have equal values to share an exchange.
    case value(any Hashable & Sendable)
}

extension OptionIdentity {
    /// Returns the identity of an option whose middleware is an outer layer of `coalesce`. If the value replaces the stack's setting,
    /// the value is ignored. If requests switch the middleware off, these requests share exchanges only with one another.
    public static func ofSwitch<Value>(_ override: OptionOverride<Value>) -> OptionIdentity {
        override.isOff ? .value(OffIdentity()) : .ignored
    }
}

/// The identity of an option that is switched off. All identities of this type are equal.
struct OffIdentity: Hashable, Sendable {}

extension RequestOptions {
    /// The parts of the options that must be equal in requests that share an exchange. The parts may contain secrets. The
    /// description shows no secrets.
    public struct Identity: Hashable, Sendable, CustomStringConvertible, HidesStorage {
        struct Part: Hashable, Sendable {
            let value: any Hashable & Sendable

            static func == (first: Part, second: Part) -> Bool { AnyHashable(first.value) == AnyHashable(second.value) }
            func hash(into hasher: inout Hasher) { hasher.combine(AnyHashable(value)) }
        }

        var values: [ObjectIdentifier: Part] = [:]

        public var description: String { values.count.counted("option") }
    }
}
