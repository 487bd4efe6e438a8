/// What the transport and the middleware report about an exchange, besides the head and the body: attempts, number, timings.
public struct ResponseMetadata: Sendable {
    private var values = TypedValues()
    /// Whether a `validateStatus` has accepted the response.
    package var isStatusAccepted = false
    /// The end of a typed call, which its observers wait for; `nil` without observers.
    package var callEnd: CallEnd?

    /// The HTTP version of the exchange: `1.1`, `2`; `nil` if the transport does not report it.
    public var httpVersion: String?

    /// Creates metadata without values.
    public init() {}

    private var count: Int { values.count + (httpVersion == nil ? 0 : 1) }

    /// The value of a key, or its default value. Declare a property for each key of your own: see ``MetadataKey``.
    public subscript<Key: MetadataKey>(_ key: Key.Type) -> Key.Value {
        get { values[key] }
        set { values[key] = newValue }
    }
}

extension ResponseMetadata: CustomStringConvertible, CustomReflectable {
    /// The number of values, and none of them, because they may contain secrets.
    public var description: String { "metadata (\(count) values)" }

    public var customMirror: Mirror {
        Mirror(self, children: ["values": count, "attempts": attempts.map(\.description)] as KeyValuePairs<String, Any>)
    }
}

private enum ContentCodingKey: MetadataKey { static var defaultValue: String? { nil } }

extension ResponseMetadata {
    /// The content coding of the body on the wire, from which it was decoded (`gzip`); `nil` if it was not encoded.
    public var contentCoding: String? {
        get { self[ContentCodingKey.self] }
        set { self[ContentCodingKey.self] = newValue }
    }
}
