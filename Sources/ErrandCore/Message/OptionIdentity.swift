/// What of an option's value tells one exchange from another.
public enum OptionIdentity: Sendable {
    /// Nothing: requests with different values may share an exchange.
    case none
    /// The request shares its exchange with no other.
    case unique
    /// Requests must have an equal value to share an exchange.
    case value(any Hashable & Sendable)
}

extension OptionIdentity {
    /// Of an option whose middleware acts outside coalescing: what a request replaces there is its own, and one that switches the middleware off
    /// shares with its like only.
    package static func ofSwitch<Value>(_ override: OptionOverride<Value>) -> OptionIdentity {
        override.isOff ? .value(OffIdentity()) : .none
    }
}

/// What is equal of two options that are switched off.
struct OffIdentity: Hashable, Sendable {}

extension RequestOptions {
    /// What requests must have in common in their options to share an exchange. It may hold secrets, and shows none.
    public struct Identity: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
        struct Part: Hashable, Sendable {
            let value: any Hashable & Sendable

            static func == (first: Part, second: Part) -> Bool { AnyHashable(first.value) == AnyHashable(second.value) }
            func hash(into hasher: inout Hasher) { hasher.combine(AnyHashable(value)) }
        }

        var values: [ObjectIdentifier: Part] = [:]

        public var description: String { "\(values.count) options" }
        public var customMirror: Mirror { Mirror(self, children: ["count": values.count]) }
    }
}
