/// How an option's value distinguishes exchanges that requests could share.
public enum OptionIdentity: Sendable {
    /// Not at all: requests with different values may share an exchange.
    case none
    /// The request does not share its exchange with any other.
    case unique
    /// Requests must have an equal value to share an exchange.
    case value(any Hashable & Sendable)
}

extension OptionIdentity {
    /// Returns the identity of an option whose middleware is outside coalescing. A replaced value does not count. A request that switches
    /// the middleware off shares only with requests that do the same.
    public static func ofSwitch<Value>(_ override: OptionOverride<Value>) -> OptionIdentity {
        override.isOff ? .value(OffIdentity()) : .none
    }
}

/// The identity of two options that are both switched off.
struct OffIdentity: Hashable, Sendable {}

extension RequestOptions {
    /// The parts of requests' options that must be equal for them to share an exchange. It may contain secrets, and its description shows
    /// none.
    public struct Identity: Hashable, Sendable, CustomStringConvertible, HidesStorage {
        struct Part: Hashable, Sendable {
            let value: any Hashable & Sendable

            static func == (first: Part, second: Part) -> Bool { AnyHashable(first.value) == AnyHashable(second.value) }
            func hash(into hasher: inout Hasher) { hasher.combine(AnyHashable(value)) }
        }

        var values: [ObjectIdentifier: Part] = [:]

        public var description: String { "\(values.count) options" }
    }
}
