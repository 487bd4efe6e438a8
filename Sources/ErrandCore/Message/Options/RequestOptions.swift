/// The options of one request for the middleware and the transport: values by typed keys, as in SwiftUI's environment.
///
/// Each middleware of this library reads an option with the middleware's name. A single request can adjust the middleware, or switch
/// the middleware off:
///
/// ```swift
/// var request = try Request(.get, "/reports")
/// request.options.retry = .off
/// request.options.timeout = .use(.seconds(2))
/// ```
///
/// If the stack lacks the middleware of an option, the request fails with ``UnsupportedOptionError``. An option that is `.off` requires
/// no middleware, and timeouts apply without a middleware. To define your own option, see ``OptionKey``.
public struct RequestOptions: Sendable {
    private var values = OptionValues()
    /// The state that the layers of the call share.
    package var call = CallState() { didSet { callStamp &+= 1 } }
    /// The receiver of the events of this exchange; `nil` by default.
    public var eventSink: (any EventSink)? { didSet { callStamp &+= 1 } }
    /// The counter of the changes of the call state, the event sink and the deadline.
    var callStamp: UInt32 = 0
    /// Whether ``sensitivity`` was set in a call, and the names were not yet reported to the observers in the outer layers.
    fileprivate(set) var hasUnreportedNames = false

    /// The path of the endpoint with names in place of values, for logs, spans and metrics; `nil` if the request has no template.
    public var urlTemplate: String?
    private var ownFallbackHeaders: HTTPFields?
    /// Header fields that are added just before the request reaches the transport, such as the `Accept` of a decoder. A field is added only
    /// if the request has no field of that name at that time.
    ///
    /// `coalesce` compares these fields like the fields of the request. A redirect to another origin removes sensitive fields.
    public var fallbackHeaders: HTTPFields {
        get { ownFallbackHeaders ?? HTTPFields() }
        set { ownFallbackHeaders = newValue.isEmpty ? nil : newValue }
    }

    /// Creates options with their default values.
    public init() {}

    /// Whether there are fallback fields.
    var hasFallbackHeaders: Bool { ownFallbackHeaders != nil }

    /// The value of an option; the default value if the option was not set.
    public subscript<Key: OptionKey>(_ key: Key.Type) -> Key.Value {
        get { values[key] }
        set { values[key] = newValue }
    }

    /// The part of the options that must be equal in requests that share an exchange. `nil` if an option of this request
    /// forbids sharing.
    ///
    /// The identity is computed on each access. Each key determines the identity of its own value: see
    /// ``OptionKey/identity(of:)``.
    public var identity: Identity? { values.identity }

    /// Removes the options that must not go to another origin (``OptionKey/crossesOrigins``). Call this function in a middleware
    /// that sends a request to another origin.
    public mutating func removeOriginBoundOptions() { values.removeOriginBoundOptions() }

    /// Sets the option to its value in `outer`, or removes the option if `outer` does not set it.
    mutating func restore<Key: OptionKey>(_ key: Key.Type, of outer: RequestOptions) { values.restore(key, of: outer.values) }

    /// Adds an event sink. An existing event sink stays.
    ///
    /// - Parameter sink: the sink to add. The added sink receives each event after the earlier sinks.
    public mutating func addEventSink(_ sink: some EventSink) { eventSink = EventSinks.together(eventSink, sink) }

    /// Restores the call state and the event sink as they are in `outer`.
    mutating func restoreCall(of outer: RequestOptions) {
        call = outer.call
        eventSink = outer.eventSink
        callStamp = outer.callStamp
    }

    /// The keys of the options that were set, in the order in which the options were first set.
    package var keys: [any OptionKey.Type] { values.keys }

    /// Whether no option was ever set.
    var isEmpty: Bool { values.isEmpty }

    /// Returns the first option that the stack does not support. Either `isSupported` returns false for the place of the required
    /// middleware, or `capabilities` lacks a required capability.
    func firstUnsupported(
        by capabilities: TransportCapabilities, _ isSupported: (MiddlewarePlace) -> Bool
    ) -> (key: any OptionKey.Type, missing: UnsupportedOptionError.Missing)? { values.firstUnsupported(by: capabilities, isSupported) }
}

extension RequestOptions: CustomStringConvertible, HidesStorage {
    /// The template, the tags and the fallback fields, without secrets, and the number of options that are set. The values of the
    /// options are not shown, because they may contain any data.
    public var description: String { "options (\(shown.map { "\($0.label): \($0.value)" }.joined(separator: ", ")))" }

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
        shown.append(("set", "\(values.count + (urlTemplate == nil ? 0 : 1) + (hasFallbackHeaders ? 1 : 0))"))
        return shown
    }
}

// MARK: - Options that every stack knows

private enum SensitivityKey: CrossOriginOptionKey {
    static var defaultValue: Sensitivity { .standard }
}

private enum TagsKey: CrossOriginOptionKey {
    static var defaultValue: [String: String] { [:] }
    static func identity(of value: [String: String]) -> OptionIdentity { .ignored }
}

private enum UpgradeKey: CrossOriginOptionKey {
    static var defaultValue: UpgradeRequest? { nil }
    static func identity(of value: UpgradeRequest?) -> OptionIdentity { value == nil ? .ignored : .unique }
    static var requiredCapabilities: TransportCapabilities { .upgrades }
}

extension RequestOptions {
    /// Names that are sensitive in this request and its response, in addition to the names that are always sensitive.
    ///
    /// A layer may set this property, and send the request to its inner layers. Names that a layer sets also apply to the later records of
    /// the outer layers, such as `log`.
    public var sensitivity: Sensitivity {
        get { self[SensitivityKey.self] }
        set {
            self[SensitivityKey.self] = newValue
            hasUnreportedNames = call.observation != nil
        }
    }

    /// Names and values by which the app finds this request in logs and spans, such as the tenant or the feature.
    ///
    /// Metrics do not have the tags, because each value would create a separate time series. The value of a sensitive name
    /// (``sensitivity``) is not shown.
    public var tags: [String: String] {
        get { self[TagsKey.self] }
        set { self[TagsKey.self] = newValue }
    }

    /// The protocol to which the connection changes; `nil`, the default, for a plain exchange.
    package var upgrade: UpgradeRequest? {
        get { self[UpgradeKey.self] }
        set { self[UpgradeKey.self] = newValue }
    }
}

extension Request {
    /// Reports the names of ``RequestOptions/sensitivity`` to the observers in the outer layers. Each name is reported once.
    ///
    /// A stack calls this function when the request enters a layer. If a layer throws an error before it passes the request on, the layer
    /// itself must call this function. Setting ``RequestOptions/sensitivity`` reports nothing, because the request may be a copy that is
    /// never sent.
    package mutating func reportSensitiveNames() {
        guard options.hasUnreportedNames else { return }
        options.hasUnreportedNames = false
        options.call.observation?.recordSensitivity(options.sensitivity)
    }

    /// Returns this request, after ``reportSensitiveNames()`` has reported its names.
    func reportingSensitiveNames() -> Request {
        var request = self
        request.reportSensitiveNames()
        return request
    }
}
