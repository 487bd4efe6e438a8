public import ErrandCore

/// The way in which the body of a response becomes a value.
///
/// A `DecodingError` that it throws becomes a ``ResponseDecodingError``. Any other error, such as one of the app's own, reaches the caller
/// as it is:
///
/// ```swift
/// struct ServerError: Error { let code: Int }
///
/// extension ResponseDecoding where Output: Decodable {
///     /// The value in `data` of an envelope, or the server's own error.
///     static var envelope: Self {
///         ResponseDecoding(accept: "application/json") { data, _, json in
///             let envelope = try json.decode(Envelope<Output>.self, from: data)
///             guard envelope.code == 0, let value = envelope.data else { throw ServerError(code: envelope.code) }
///             return value
///         }
///     }
/// }
///
/// do {
///     let user = try await client.value(Endpoint<User>(.get, "/users/7", decoding: .envelope))
/// } catch let error as ServerError {
///     …
/// }
/// ```
public struct ResponseDecoding<Output: Sendable>: Sendable {
    /// The value of `Accept` for requests that have none; `nil` adds no field.
    public let accept: String?
    /// Whether the body is needed. Of one that is not, at most 64 KiB are read.
    let wantsBody: Bool
    private let make: @Sendable (Data, HTTPResponse, JSONCoding) throws -> Output
    /// Makes the value of a body in the client's envelope; `nil` for a decoding that has none.
    private var unwrap: (@Sendable (Data, HTTPResponse, JSONCoding, any ResponseEnvelope.Type) throws -> Output)?

    /// Whether the body, also that of a refused response, has no envelope although the client has one.
    private(set) var ignoresEnvelope = false

    /// A decoding of your own, such as XML.
    ///
    /// - Parameters:
    ///   - accept: the value of `Accept` for requests that have none; `nil` (the default) adds no field.
    ///   - decode: makes the value of the body, the head of the response and the client's coders. A `DecodingError` becomes a
    ///     ``ResponseDecodingError``; any other error reaches the caller as it is.
    public init(accept: String? = nil, _ decode: @escaping @Sendable (Data, HTTPResponse, JSONCoding) throws -> Output) {
        self.init(accept: accept, wantsBody: true, decode)
    }

    init(
        accept: String?, wantsBody: Bool, _ make: @escaping @Sendable (Data, HTTPResponse, JSONCoding) throws -> Output,
        unwrap: (@Sendable (Data, HTTPResponse, JSONCoding, any ResponseEnvelope.Type) throws -> Output)? = nil
    ) {
        (self.accept, self.wantsBody, self.make, self.unwrap) = (accept, wantsBody, make, unwrap)
    }

    /// Whether the body is read: with an envelope, also that of a call without an output, which may have failed.
    func wantsBody(in envelope: (any ResponseEnvelope.Type)?) -> Bool { wantsBody || (envelope != nil && unwrap != nil) }

    func value(from data: Data, head: HTTPResponse, json: JSONCoding, in envelope: (any ResponseEnvelope.Type)? = nil) throws -> Output {
        guard let envelope, let unwrap else { return try make(data, head, json) }
        return try unwrap(data, head, json, envelope)
    }

    /// This decoding, for bodies without the client's ``ResponseEnvelope``, also those of refused responses: of a health check, or of another server.
    ///
    /// ```swift
    /// let health = Endpoint<Health>(.get, "/health", decoding: .json.withoutEnvelope)
    /// ```
    public var withoutEnvelope: ResponseDecoding {
        var copy = self
        copy.unwrap = nil
        copy.ignoresEnvelope = true
        return copy
    }

    /// This decoding, followed by a conversion of its value, with and without an envelope.
    func converted<Value: Sendable>(_ transform: @escaping @Sendable (Output) throws -> Value) -> ResponseDecoding<Value> {
        let (make, unwrap) = (make, unwrap)
        var copy = ResponseDecoding<Value>(accept: accept, wantsBody: wantsBody) { data, head, json in
            try transform(try make(data, head, json))
        }
        copy.ignoresEnvelope = ignoresEnvelope
        if let unwrap {
            copy.unwrap = { data, head, json, envelope in try transform(try unwrap(data, head, json, envelope)) }
        }
        return copy
    }
}

extension ResponseDecoding where Output: Decodable {
    /// JSON, by the client's ``/ErrandCore/JSONCoding``. An optional output is `nil` if the body is empty, as with 204 and 205. `Data` and
    /// `String` are the body itself.
    public static var json: Self {
        // `Data` and `String` are `Decodable` too, but nobody who asks for them means base64 or a quoted text.
        if Output.self == Data.self { return Self(accept: nil) { data, _, _ in try cast(data) } }
        if Output.self == String.self { return Self(accept: nil) { data, _, _ in try cast(String(decoding: data, as: UTF8.self)) } }
        return Self(
            accept: "application/json", wantsBody: true,
            { data, _, json in try empty(data) ?? json.decode(Output.self, from: data) },
            unwrap: { data, _, json, envelope in try empty(data) ?? envelope.unwrapped(Output.self, from: data, json) })
    }

    /// A property list, in XML or binary, as Foundation's `PropertyListDecoder` reads it. An optional output is `nil` if the body is empty. The client's
    /// ``ResponseEnvelope`` does not concern it.
    public static var propertyList: Self {
        Self(accept: PropertyListCoding.mediaType) { data, _, _ in try empty(data) ?? PropertyListCoding.decode(Output.self, from: data) }
    }

    /// The value of an empty body; `nil` if the body is not empty, or the output is not optional.
    private static func empty(_ data: Data) throws -> Output? {
        guard data.isEmpty, let optional = Output.self as? any ExpressibleByNilLiteral.Type else { return nil }
        let none: Output = try cast(optional.init(nilLiteral: ()))
        return .some(none)
    }

    private static func cast(_ value: Any) throws -> Output {
        guard let output = value as? Output else {
            throw DecodingError.typeMismatch(Output.self, .init(codingPath: [], debugDescription: "a \(type(of: value)) was made"))
        }
        return output
    }
}

extension ResponseDecoding where Output == Void {
    /// No value: the body is not needed.
    public static var none: Self {
        Self(
            accept: nil, wantsBody: false, { _, _, _ in },
            unwrap: { data, _, json, envelope in
                // No body is no failure; what is no envelope may be one.
                if !data.isEmpty, let failure = try json.decode(envelope, from: data).failure { throw failure }
            })
    }
}
