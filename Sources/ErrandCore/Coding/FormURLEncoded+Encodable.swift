extension FormURLEncoded {
    /// How a Boolean value of an `Encodable` value is written.
    public struct BoolStyle: Sendable, Hashable, CustomStringConvertible {
        /// `true` and `false`. The default.
        public static let words = BoolStyle(description: "words")
        /// `1` and `0`.
        public static let numbers = BoolStyle(description: "numbers")

        /// The name of the style.
        public let description: String

        func text(_ value: Bool) -> String { self == .numbers ? (value ? "1" : "0") : (value ? "true" : "false") }
    }

    /// How a member of an `Encodable` value that is `nil` is written.
    public struct NilStyle: Sendable, Hashable, CustomStringConvertible {
        /// Not at all. The default.
        public static let omitted = NilStyle(description: "omitted", text: nil)
        /// The name with an empty value: `note=`.
        public static let empty = NilStyle(description: "empty", text: "")
        /// The name with the word `null`: `note=null`.
        public static let null = NilStyle(description: "null", text: "null")

        /// The name of the style.
        public let description: String
        let text: String?
    }

    /// The members of `value` as a form sends them, in the order in which `value` encodes them.
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
    ///   - value: a structure or a dictionary whose members are plain values, or arrays of them.
    ///   - arrays: how an array is written; by default its name comes once for each element.
    ///   - bools: how a Boolean value is written; by default `true` or `false`.
    ///   - nils: how a member is written that is `nil`; by default it is left out. Members count that the value encodes, also by `encodeIfPresent`, as
    ///     the compiler's own code does.
    ///   - coding: how names of properties, dates and data are written. By default, names stay as they are, dates are texts as in ISO 8601
    ///     (`2026-11-21T12:36:00Z`), and data is Base64.
    /// - Throws: `EncodingError` if a member is nested, or if `value` has no named members; also what `value` throws.
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
