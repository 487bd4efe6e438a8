extension FormURLEncoded {
    /// The members of `value` as a form sends them, in the order in which `value` encodes them.
    ///
    /// ```swift
    /// struct Login: Encodable { var user: String; var remember: Bool; var scopes: [String] }
    /// try FormURLEncoded.encode(Login(user: "joe b", remember: true, scopes: ["a", "b"]))
    /// // user=joe+b&remember=true&scopes=a&scopes=b
    /// ```
    ///
    /// A member that is `nil` is left out. The members of a dictionary are sorted by name.
    ///
    /// - Parameters:
    ///   - value: a structure or a dictionary whose members are plain values, or arrays of them.
    ///   - arrays: how an array is written; by default its name comes once for each element.
    ///   - coding: how names of properties, dates and data are written. By default, names stay as they are, dates are texts as in ISO 8601
    ///     (`2026-11-21T12:36:00Z`), and data is Base64.
    /// - Throws: `EncodingError` if a member is nested, or if `value` has no named members; also what `value` throws.
    public static func encode(
        _ value: some Encodable, arrays: URLQuery.ArrayStyle = .repeated, coding: JSONCoding = .standard
    ) throws -> String {
        encode(
            try EncodedPair.pairs(of: value, coding: coding).flatMap { pair in
                guard pair.isArray else { return pair.texts.map { (name: pair.name, value: $0) } }
                return arrays.pairs(pair.name, pair.texts)
            })
    }
}
