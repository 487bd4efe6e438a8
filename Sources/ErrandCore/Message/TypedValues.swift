/// A key of ``RequestOptions`` or ``ResponseMetadata``, with the type of its value and what holds where none is set.
///
/// ```swift
/// enum TenantKey: TypedKey { static var defaultValue: String? { nil } }
///
/// extension RequestOptions {
///     var tenant: String? {
///         get { self[TenantKey.self] }
///         set { self[TenantKey.self] = newValue }
///     }
/// }
/// ```
public protocol TypedKey {
    associatedtype Value: Sendable
    /// What a reader gets where nothing was set.
    static var defaultValue: Value { get }
}

/// Values by the type of their key; nothing is allocated while none is set.
struct TypedValues: Sendable {
    private var storage: [ObjectIdentifier: any Sendable]?

    subscript<Key: TypedKey>(_ key: Key.Type) -> Key.Value {
        get { storage == nil ? Key.defaultValue : stored(key) }
        set {
            if storage == nil { storage = [:] }
            storage?.updateValue(newValue, forKey: ObjectIdentifier(key))
        }
    }

    /// By itself, as it needs to know more of the type: most requests have no values, and every layer asks.
    private func stored<Key: TypedKey>(_ key: Key.Type) -> Key.Value {
        // Unwrapped first: no value at all would pass for the nil of an optional `Value`.
        guard let value = storage?[ObjectIdentifier(key)] else { return Key.defaultValue }
        return value as? Key.Value ?? Key.defaultValue
    }

    /// True if nothing was ever set.
    var isEmpty: Bool { storage == nil }

    var count: Int { storage?.count ?? 0 }
}

extension TypedValues: CustomStringConvertible, CustomReflectable {
    /// The count only: values may be secret.
    var description: String { "\(count) values" }
    var customMirror: Mirror { Mirror(self, children: ["count": count]) }
}

/// What one request asks of the middleware and the transport that it passes: typed keys, as SwiftUI's environment has them.
///
/// Every middleware of this library reads an option by its own name, so that a single request can tune it or switch it off:
///
/// ```swift
/// var request = try Request(.get, "/reports")
/// request.options.retry = .off
/// request.options.timeout = .use(.seconds(2))
/// ```
public struct RequestOptions: Sendable {
    private var values = TypedValues()
    /// Where the request is in the profile of its call; nil, as a rule. Every layer looks, so it is no typed key.
    package var profilePosition: ProfilePosition?
    /// Who is told of this exchange's events; nil (the default) costs nothing.
    public var eventSink: (any EventSink)?

    public init() {}

    public subscript<Key: TypedKey>(_ key: Key.Type) -> Key.Value {
        get { values[key] }
        set { values[key] = newValue }
    }
}

extension RequestOptions: CustomStringConvertible, CustomReflectable {
    /// The template, the tags and the fallback fields, without secrets, and how many options are set. Their values may hold anything, and are
    /// not shown.
    public var description: String { "options (\(shown.map { "\($0.label): \($0.value)" }.joined(separator: ", ")))" }

    public var customMirror: Mirror { Mirror(self, children: shown.map { ($0.label, $0.value as Any) }) }

    private var shown: [(label: String, value: String)] {
        var shown: [(label: String, value: String)] = []
        if let urlTemplate { shown.append(("urlTemplate", sensitivity.redactedURL(urlTemplate))) }
        if !tags.isEmpty {
            let texts = tags.sorted { $0.key < $1.key }.map { name, value in
                "\(name)=\(sensitivity.isSensitive(memberName: name) ? Sensitivity.placeholder : value)"
            }
            shown.append(("tags", texts.joined(separator: " ")))
        }
        if !fallbackHeaders.isEmpty {
            shown.append(("fallbackHeaders", sensitivity.shown(fallbackHeaders).map { "\($0.name): \($0.value)" }.joined(separator: ", ")))
        }
        if let eventSink { shown.append(("eventSink", "\(type(of: eventSink))")) }
        shown.append(("set", "\(values.count)"))
        return shown
    }
}

extension ResponseMetadata: CustomStringConvertible, CustomReflectable {
    /// How many values there are, and the attempts: the values may hold anything.
    public var description: String { "metadata (\(values.count) values)" }

    public var customMirror: Mirror {
        Mirror(self, children: ["values": values.count, "attempts": attempts.map(\.description)] as KeyValuePairs<String, Any>)
    }
}

/// What the transport and the middleware tell of an exchange, beside the head and the body: attempts, number, timings.
public struct ResponseMetadata: Sendable {
    private var values = TypedValues()

    public init() {}

    public subscript<Key: TypedKey>(_ key: Key.Type) -> Key.Value {
        get { values[key] }
        set { values[key] = newValue }
    }
}

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

extension Override: Equatable where Value: Equatable {}
extension Override: Hashable where Value: Hashable {}

// MARK: - Options that every stack knows

private enum SensitivityKey: TypedKey { static var defaultValue: Sensitivity { .standard } }
private enum URLTemplateKey: TypedKey { static var defaultValue: String? { nil } }
private enum TagsKey: TypedKey { static var defaultValue: [String: String] { [:] } }
private enum FallbackHeadersKey: TypedKey { static var defaultValue: HTTPFields { HTTPFields() } }
private enum UpgradeKey: TypedKey { static var defaultValue: UpgradeRequest? { nil } }

extension RequestOptions {
    /// Names that are secret in this request and its response, beside those that always are.
    public var sensitivity: Sensitivity {
        get { self[SensitivityKey.self] }
        set { self[SensitivityKey.self] = newValue }
    }

    /// The endpoint's path with names in place of values, for logs, spans and metrics; nil where the request has no template.
    public var urlTemplate: String? {
        get { self[URLTemplateKey.self] }
        set { self[URLTemplateKey.self] = newValue }
    }

    /// What the app wants to find this request by, in logs and spans: the tenant, the feature. Metrics don't have them, as each value would
    /// be a series of its own. The value of a name that is secret (``sensitivity``) is not shown.
    public var tags: [String: String] {
        get { self[TagsKey.self] }
        set { self[TagsKey.self] = newValue }
    }

    /// Fields for the transport's boundary to add where nobody on the way has set one of that name, such as the `Accept` of a decoder.
    public var fallbackHeaders: HTTPFields {
        get { self[FallbackHeadersKey.self] }
        set { self[FallbackHeadersKey.self] = newValue }
    }

    /// The protocol to change to; nil (the default) for a plain exchange.
    public var upgrade: UpgradeRequest? {
        get { self[UpgradeKey.self] }
        set { self[UpgradeKey.self] = newValue }
    }
}

private enum HTTPVersionKey: TypedKey { static var defaultValue: String? { nil } }

extension ResponseMetadata {
    /// The version that was spoken: `1.1`, `2`; nil where the transport does not say.
    public var httpVersion: String? {
        get { self[HTTPVersionKey.self] }
        set { self[HTTPVersionKey.self] = newValue }
    }
}

private enum ContentCodingKey: TypedKey { static var defaultValue: String? { nil } }

extension ResponseMetadata {
    /// The coding that the body had on the wire and was decoded from (`gzip`); nil where it came as it is.
    public var contentCoding: String? {
        get { self[ContentCodingKey.self] }
        set { self[ContentCodingKey.self] = newValue }
    }
}
