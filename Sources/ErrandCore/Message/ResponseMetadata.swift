/// What the transport and the middleware report about an exchange, beside the head and the body: attempts, number, timings.
public struct ResponseMetadata: Sendable {
    private var values = TypedValues()
    /// Whether a `validateStatus` has let the response pass.
    package var isStatusAccepted = false
    /// What the observers of a typed call wait for; nil where nobody does.
    package var callEnd: CallEnd?

    /// The version that was spoken: `1.1`, `2`; nil where the transport does not say.
    public var httpVersion: String?

    public init() {}

    private var count: Int { values.count + (httpVersion == nil ? 0 : 1) }

    public subscript<Key: MetadataKey>(_ key: Key.Type) -> Key.Value {
        get { values[key] }
        set { values[key] = newValue }
    }
}

extension ResponseMetadata: CustomStringConvertible, CustomReflectable {
    /// How many values there are, and the attempts: the values may hold anything.
    public var description: String { "metadata (\(count) values)" }

    public var customMirror: Mirror {
        Mirror(self, children: ["values": count, "attempts": attempts.map(\.description)] as KeyValuePairs<String, Any>)
    }
}

private enum ContentCodingKey: MetadataKey { static var defaultValue: String? { nil } }

extension ResponseMetadata {
    /// The coding that the body had on the wire and was decoded from (`gzip`); nil where it came as it is.
    public var contentCoding: String? {
        get { self[ContentCodingKey.self] }
        set { self[ContentCodingKey.self] = newValue }
    }
}
