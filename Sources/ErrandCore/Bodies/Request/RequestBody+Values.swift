public import ErrandFormats

// This file has the bodies that encode a value. If the request has no `Content-Type`, the body sets the field.

extension RequestBody {
    /// Returns a body with JSON that is written as a literal: `.json(["name": "Ada", "age": 36, "tags": ["x"]])`.
    ///
    /// In a literal with values of several types, write ``/ErrandFormats/JSONValue`` around each variable:
    /// `.json(["name": JSONValue(name), "age": 36])`.
    ///
    /// - Parameters:
    ///   - value: any JSON.
    ///   - coding: the rules for encoding. Default: ``JSONCoding/standard``.
    ///   - contentType: the value of the field `Content-Type`. Default: `application/json`.
    /// - Throws: `EncodingError`.
    public static func json(
        _ value: JSONValue, coding: JSONCoding = .standard, contentType: String = "application/json"
    ) throws -> RequestBody {
        .data(try coding.encode(value), contentType: contentType)
    }

    /// Returns a body with a value as JSON.
    ///
    /// ```swift
    /// let request = try Request(.post, url: "https://api.example/users", body: .json(user))
    /// ```
    ///
    /// - Parameters:
    ///   - value: the value.
    ///   - coding: the rules for encoding. Default: ``JSONCoding/standard``.
    ///   - contentType: the value of the field `Content-Type`. Default: `application/json`.
    /// - Throws: `EncodingError`.
    public static func json(
        _ value: some Encodable, coding: JSONCoding = .standard, contentType: String = "application/json"
    ) throws -> RequestBody {
        .data(try coding.encode(value), contentType: contentType)
    }

    /// Returns a form of names and values (`application/x-www-form-urlencoded`), in the order of the literal:
    /// `.form(["a": "1", "b": "2"])`.
    public static func form(_ pairs: KeyValuePairs<String, String>) -> RequestBody {
        form(encoded: FormURLEncoded.encode(pairs.map { (name: $0.key, value: $0.value) }))
    }

    /// Returns a form of names and values (`application/x-www-form-urlencoded`), sorted by name.
    @_disfavoredOverload
    public static func form(_ fields: [String: String]) -> RequestBody { form(encoded: FormURLEncoded.encode(fields)) }

    /// Returns a form of the members of a value (`application/x-www-form-urlencoded`), in the order of their encoding.
    ///
    /// - Parameters:
    ///   - value: a structure or a dictionary whose members are plain values or arrays of plain values.
    ///   - arrays: the style of arrays. Default: the name is repeated for each element.
    ///   - bools: the style of Boolean values. Default: `true` or `false`.
    ///   - nils: the style of members that are `nil`. Default: they are omitted.
    ///   - coding: the form of property names, dates and data. Default: ``JSONCoding/standard``.
    /// - Throws: `EncodingError` if a member is nested, or if `value` has no named members; any error that the encoding of
    ///   `value` throws.
    @_disfavoredOverload
    public static func form(
        _ value: some Encodable, arrays: URLQuery.ArrayStyle = .repeated, bools: FormURLEncoded.BoolStyle = .words,
        nils: FormURLEncoded.NilStyle = .omitted, coding: JSONCoding = .standard
    ) throws -> RequestBody {
        form(encoded: try FormURLEncoded.encode(value, arrays: arrays, bools: bools, nils: nils, coding: coding))
    }

    private static func form(encoded text: String) -> RequestBody { .text(text, contentType: FormURLEncoded.mediaType) }
}

extension RequestBody {
    /// Not available: in a JSON literal with values of several types, each variable needs `JSONValue(_:)`.
    @available(
        *, unavailable,
        message: "write JSONValue(x) around each variable of a JSON literal with values of several types, or declare a struct"
    )
    @_disfavoredOverload
    public static func json(_ value: [String: any Encodable & Sendable]) throws -> RequestBody { .empty }
}
