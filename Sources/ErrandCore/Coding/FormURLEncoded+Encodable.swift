extension FormURLEncoded {
    /// The form in which a Boolean value of an `Encodable` value is written.
    public struct BoolStyle: Sendable, Hashable, CustomStringConvertible {
        /// `true` and `false`. The default.
        public static let words = BoolStyle(description: "words")
        /// `1` and `0`.
        public static let numbers = BoolStyle(description: "numbers")

        /// The name of the style.
        public let description: String

        func text(_ value: Bool) -> String { self == .numbers ? (value ? "1" : "0") : (value ? "true" : "false") }
    }

    /// The form in which a `nil` member of an `Encodable` value is written.
    public struct NilStyle: Sendable, Hashable, CustomStringConvertible {
        /// The member is left out. The default.
        public static let omitted = NilStyle(description: "omitted", text: nil)
        /// The name is written with an empty value: `note=`.
        public static let empty = NilStyle(description: "empty", text: "")
        /// The name is written with the word `null`: `note=null`.
        public static let null = NilStyle(description: "null", text: "null")

        /// The name of the style.
        public let description: String
        let text: String?
    }

    /// Returns the members of `value` as the text of a form, in the order in which `value` encodes them.
    ///
    /// ```swift
    /// struct Login: Encodable { var user: String; var remember: Bool; var scopes: [String] }
    /// try FormURLEncoded.encode(Login(user: "joe b", remember: true, scopes: ["a", "b"]))
    /// // user=joe+b&remember=true&scopes=a&scopes=b
    /// ```
    ///
    /// The members of a dictionary are sorted by name.
    ///
    /// - Parameters:
    ///   - value: a structure or a dictionary. Its members must be plain values, or arrays of plain values.
    ///   - arrays: the form in which an array is written. Default: the name of the array occurs once for each element.
    ///   - bools: the form in which a Boolean value is written. Default: `true` or `false`.
    ///   - nils: the form in which a `nil` member is written. Default: the member is left out. The style applies only if the
    ///     value encodes the member with `encode` or `encodeIfPresent`. Code that the compiler generates calls
    ///     `encodeIfPresent`.
    ///   - coding: the form in which property names, dates and data are written. By default, names stay unchanged, dates are in
    ///     ISO 8601 (`2026-11-21T12:36:00Z`), and data is Base64.
    /// - Throws: `EncodingError` if a member is nested, or if `value` has no named members; also any error that `value` throws.
    public static func encode(
        _ value: some Encodable, arrays: URLQuery.ArrayStyle = .repeated, bools: BoolStyle = .words, nils: NilStyle = .omitted,
        coding: JSONCoding = .standard
    ) throws -> String {
        encode(
            try EncodedPair.pairs(of: value, coding: coding, bools: bools, nils: nils).flatMap { pair in
                guard pair.isArray else { return pair.texts.map { (name: pair.name, value: $0) } }
                return arrays.pairs(pair.name, pair.texts)
            })
    }
}
