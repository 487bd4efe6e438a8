/// Information from the transport and the middleware about a response, such as attempts, redirects and timings.
///
/// ```swift
/// print(response.metadata)        // HTTP/2, request 7, 2 earlier attempts, 1 redirect, body was gzip
/// ```
public struct ResponseMetadata: Sendable {
    private var values = MetadataValues()
    /// Whether a `validateStatus` middleware has accepted the response.
    package var isStatusAccepted = false
    /// The object that notifies the observers of the call when reading the response has ended; `nil` if the call has no observers.
    var callEnd: CallEnd?

    /// The HTTP version of the exchange; `nil` if the transport does not report it.
    public var httpVersion: HTTPVersion?

    /// Creates metadata without values.
    public init() {}

    private var count: Int { values.count + (httpVersion == nil ? 0 : 1) }

    /// The value of a key, or its default value. Declare a property for each of your own keys: see ``MetadataKey``.
    public subscript<Key: MetadataKey>(_ key: Key.Type) -> Key.Value {
        get { values[key] }
        set { values[key] = newValue }
    }
}

extension ResponseMetadata: CustomStringConvertible, HidesStorage {
    /// The values that the library knows, in words, without secrets: `HTTP/2, request 7, 2 earlier attempts, 1 redirect, body was gzip`.
    ///
    /// Values of your own keys are not shown.
    public var description: String {
        func shown(_ count: Int, _ noun: String) -> String? { count == 0 ? nil : count.counted(noun) }
        let parts = [
            httpVersion?.description, requestNumber.map { "request \($0)" }, shown(attempts.count, "earlier attempt"),
            shown(redirects.count, "redirect"), cacheStatus.map { "cache \($0)" }, coalescedInto.map { _ in "shared exchange" },
            contentCoding.map { "body was \($0)" },
        ].compactMap { $0 }
        return parts.isEmpty ? "no metadata" : parts.joined(separator: ", ")
    }

    /// The number of values, and the attempts. The values are not shown, because they may be secret.
    package var shownFields: KeyValuePairs<String, Any> { ["values": count, "attempts": attempts.map(\.description)] }
}

private enum WarningsKey: MetadataKey { static var defaultValue: [String] { [] } }
private enum ServerIsUnverifiedKey: MetadataKey { static var defaultValue: Bool { false } }
private enum ContentCodingKey: MetadataKey { static var defaultValue: String? { nil } }
private enum EncodedFieldsKey: MetadataKey { static var defaultValue: HTTPFields { [:] } }

extension ResponseMetadata {
    /// Whether the response comes from a server whose certificate is not trusted. The server was accepted by
    /// ``TLSSettings/uncheckedHostsForTesting``, or by the closure of the request (``RequestOptions/onServerTrust``). A transport that
    /// accepts an untrusted certificate must set this property. An unverified server can't change the list of `hsts`.
    public var serverIsUnverified: Bool {
        get { self[ServerIsUnverifiedKey.self] }
        set { self[ServerIsUnverifiedKey.self] = newValue }
    }

    /// Problems of layers that have not failed the call, such as a store of the cache that can't be written: sentences without secrets.
    /// `log` writes each sentence as a warning. A layer reports each problem once, and not for each call. Empty without problems.
    ///
    /// If a layer sends a request again, such as `retry` or `authenticate`, the final response also has the warnings of the earlier
    /// responses: see ``CallAttempts``. If the call fails, or returns a response that has no such attempt, such as the response of
    /// `fallback`, its warnings are lost.
    public var warnings: [String] {
        get { self[WarningsKey.self] }
        set { self[WarningsKey.self] = newValue }
    }

    /// The content coding, such as `gzip`, from which the body was decoded. `nil` if the body was not decoded.
    public var contentCoding: String? {
        get { self[ContentCodingKey.self] }
        set { self[ContentCodingKey.self] = newValue }
    }

    /// The fields of the encoded body that decoding removed from the head, as the server sent them: `Content-Encoding` and
    /// `Content-Length`. Empty if the body was not decoded.
    public var encodedFields: HTTPFields {
        get { self[EncodedFieldsKey.self] }
        set { self[EncodedFieldsKey.self] = newValue }
    }

    /// Whether a transport or a layer has decoded the body. The bytes of a decoded body are not the bytes that the server sent.
    package var isDecoded: Bool { contentCoding != nil || !encodedFields.isEmpty }

    /// The number of bytes of the encoded body, from the server's `Content-Length`. `nil` if the server declared no length, or if the body
    /// was not decoded. The number of received bytes may differ.
    public var encodedLength: Int64? { encodedFields[.contentLength].flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil } }
}
