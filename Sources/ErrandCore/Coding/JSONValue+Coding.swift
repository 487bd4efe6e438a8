public import ErrandFormats

// Values without a type of their own, to and from those with one.

extension JSONValue {
    /// The value that an encodable value is in JSON.
    ///
    /// - Parameters:
    ///   - value: any value.
    ///   - coding: how it becomes JSON: pass `client.jsonCoding` for that of a client. ``JSONCoding/standard`` by default.
    /// - Throws: `EncodingError`; ``/ErrandFormats/JSONParsingError`` for a value that nests too deep.
    public init(encoding value: some Encodable, coding: JSONCoding = .standard) throws {
        self = try JSONValue(parsing: try coding.encode(value))
    }

    /// This value as one with a type.
    ///
    /// ```swift
    /// let user = try json.user.decoded(as: User.self)
    /// ```
    ///
    /// - Parameters:
    ///   - type: the type.
    ///   - coding: how JSON becomes the value: pass `client.jsonCoding` for that of a client. ``JSONCoding/standard`` by default.
    /// - Throws: `DecodingError`.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self, coding: JSONCoding = .standard) throws -> Value {
        try coding.decode(type, from: try coding.encode(self))
    }
}
