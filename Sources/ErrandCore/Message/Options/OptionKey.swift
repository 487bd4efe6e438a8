/// A key of ``RequestOptions``, with its value type, its default value, and the rules for its use.
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
/// The default rules are safe. Requests with different tenants never share an exchange, a redirect to another origin removes the
/// tenant, and no middleware is required.
public protocol OptionKey: SendableMetatype {
    /// The type of the value.
    associatedtype Value: Sendable
    /// The value of an option that is not set.
    static var defaultValue: Value { get }

    /// Returns the part of `value` that must be equal in requests that share an exchange (`coalesce`).
    ///
    /// The default depends on the value:
    /// - The default value, if it is `Hashable` or `nil`: ``OptionIdentity/ignored``.
    /// - Any other `Hashable` value: the value itself. An ``OptionOverride`` of a `Hashable` value is `Hashable`.
    /// - Any other value: ``OptionIdentity/unique``. There are two exceptions. An ``OptionOverride`` that is `.inherited` is
    ///   treated as not set, and `.off` equals `.off`.
    ///
    /// If the option's middleware is an outer layer of `coalesce`, or the option does not affect the exchange, return
    /// ``OptionIdentity/ignored``.
    static func identity(of value: Value) -> OptionIdentity

    /// Whether the value stays when a redirect leads to another origin (scheme, host and port); false by default.
    static var crossesOrigins: Bool { get }

    /// The middleware that the option requires. Default: ``MiddlewarePlace/unplaced``, no middleware.
    ///
    /// A request that sets the option fails with ``UnsupportedOptionError`` if the outermost stack has no such middleware. No
    /// middleware is required for `nil`, an empty collection, the default value, and an ``OptionOverride`` that is `.inherited`
    /// or `.off`.
    static var requiredMiddleware: MiddlewarePlace { get }

    /// The capabilities of the transport that the option requires; no capabilities by default.
    ///
    /// A request that sets the option fails with ``UnsupportedOptionError`` if the transport of the outermost stack lacks one of
    /// these capabilities. If a value requires no middleware (see ``requiredMiddleware``), the value requires no capability either.
    static var requiredCapabilities: TransportCapabilities { get }
}

extension OptionKey {
    /// Returns the identity of a value that is not `Hashable`. If the option is set and not switched off, the request is unique.
    public static func identity(of value: Value) -> OptionIdentity {
        guard let override = value as? any AnyOptionOverride else { return isNil(value) && isNil(defaultValue) ? .ignored : .unique }
        return override.isInherited ? .ignored : override.isOff ? .value(OffIdentity()) : .unique
    }

    /// False: a redirect to another origin removes the value.
    public static var crossesOrigins: Bool { false }
    /// ``MiddlewarePlace/unplaced``: no middleware is required.
    public static var requiredMiddleware: MiddlewarePlace { .unplaced }
    /// No capability is required.
    public static var requiredCapabilities: TransportCapabilities { [] }
}

extension OptionKey where Value: Hashable {
    /// Returns the value itself, or ``OptionIdentity/ignored`` for the default value. A value that is not equal to itself, such as a
    /// floating-point NaN, makes the request unique.
    public static func identity(of value: Value) -> OptionIdentity {
        value == defaultValue ? .ignored : value == value ? .value(value) : .unique
    }
}

/// The key of an option that also applies at another origin.
package protocol CrossOriginOptionKey: OptionKey {}

extension CrossOriginOptionKey {
    package static var crossesOrigins: Bool { true }
}

/// The key of an option that only switches a middleware off.
package protocol SwitchOptionKey: CrossOriginOptionKey where Value == OptionOverride<Never> {}

extension SwitchOptionKey {
    @inlinable package static var defaultValue: OptionOverride<Never> { .inherited }
}
