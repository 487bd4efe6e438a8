public import ErrandFormats

// Conversion between JSON values and typed values.

extension JSONValue {
    /// Creates the JSON of an encodable value.
    ///
    /// - Parameters:
    ///   - value: any value.
    ///   - coding: the rules for encoding. Default: ``JSONCoding/standard``. For the coding of a client, pass
    ///     `client.jsonCoding`.
    /// - Throws: `EncodingError`; ``/ErrandFormats/JSONParsingError`` for a value that nests too deeply.
    public init(encoding value: some Encodable, coding: JSONCoding = .standard) throws {
        self = try JSONValue(parsing: try coding.encode(value))
    }

    /// Returns this value, decoded as a type.
    ///
    /// ```swift
    /// let user = try json.user.decoded(as: User.self)
    /// ```
    ///
    /// - Parameters:
    ///   - type: the type.
    ///   - coding: the rules for decoding. Default: ``JSONCoding/standard``. For the coding of a client, pass
    ///     `client.jsonCoding`.
    /// - Throws: `DecodingError`.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self, coding: JSONCoding = .standard) throws -> Value {
        try coding.decode(type, from: try coding.encode(self))
    }
}
