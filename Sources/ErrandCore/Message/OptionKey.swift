/// A key of ``RequestOptions``: the type of its value, what holds where none is set, and what the library has to know of it.
///
/// ```swift
/// enum TenantKey: OptionKey { static var defaultValue: String? { nil } }
///
/// extension RequestOptions {
///     var tenant: String? {
///         get { self[TenantKey.self] }
///         set { self[TenantKey.self] = newValue }
///     }
/// }
/// ```
///
/// The defaults are the safe ones. Requests with different tenants never share an exchange, a redirect to another origin drops the tenant, and
/// no middleware is required for it.
public protocol OptionKey: SendableMetatype {
    associatedtype Value: Sendable
    /// What a reader gets where nothing was set.
    static var defaultValue: Value { get }

    /// What of `value` requests must have in common to share an exchange (`coalesce`).
    ///
    /// By default a `Hashable` value identifies the exchange, unless it is the default value; an ``OptionOverride`` of a `Hashable` value is `Hashable`. A
    /// value that is not `Hashable` shares with no other: its request is ``OptionIdentity/unique``. The exceptions are the ``OptionOverride`` of such a
    /// value that inherits, which counts as not set, and `.off`, which is equal to `.off`. An option that acts outside coalescing, or on no exchange
    /// at all, returns ``OptionIdentity/none``.
    static func identity(of value: Value) -> OptionIdentity

    /// Whether the value goes along when a redirect leads to another origin (scheme, host and port); false by default.
    static var crossesOrigins: Bool { get }

    /// The middleware without which the option does nothing; nil (the default) if it needs none.
    ///
    /// A request that sets the option fails with ``UnservedOptionError`` where the outermost stack has no such middleware. An ``OptionOverride`` that
    /// inherits or is `.off`, nil, an empty collection and the default value need nobody.
    ///
    /// Declare it with its type, `MiddlewarePlace?`: a constant of the type `MiddlewarePlace` is another member, which nobody reads.
    static var servedBy: MiddlewarePlace? { get }
}

extension OptionKey {
    public static func identity(of value: Value) -> OptionIdentity {
        guard let override = value as? any AnyOptionOverride else { return isNil(value) && isNil(defaultValue) ? .none : .unique }
        return override.isInherited ? .none : override.isOff ? .value(OffIdentity()) : .unique
    }

    public static var crossesOrigins: Bool { false }
    public static var servedBy: MiddlewarePlace? { nil }
}

extension OptionKey where Value: Hashable {
    /// A value that is not equal to itself, such as a floating-point NaN, could never be found again: it shares with no other.
    public static func identity(of value: Value) -> OptionIdentity {
        value == defaultValue ? .none : value == value ? .value(value) : .unique
    }
}
