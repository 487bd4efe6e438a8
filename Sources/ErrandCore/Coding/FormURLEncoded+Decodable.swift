internal import ErrandFormats

extension FormURLEncoded {
    /// The largest number of members in a form that is decoded: 10,000.
    static let memberLimit = 10_000

    /// The beginning of an error's description if the cause is the body as a whole.
    package static let problem = "the body is not a form"

    /// The description of the error if a member occurs more than once.
    package static let repeatedName = "the name occurs more than once"

    /// Returns the value that a form contains.
    ///
    /// ```swift
    /// struct Token: Decodable { var access_token: String; var expires_in: Int?; var scope: [String]? }
    /// let token = try FormURLEncoded.decode(Token.self, from: Data("access_token=a1&expires_in=60&scope=read&scope=write".utf8))
    /// ```
    ///
    /// Members are decoded like this:
    /// - Whole numbers and decimal numbers: from their text.
    /// - A `Bool`: from `true`, `false`, `1` or `0`.
    /// - An array: one element for each occurrence of its name.
    /// - An optional: `nil` if its name is missing, or if its text is empty.
    ///
    /// A dictionary has a member for each name.
    ///
    /// - Parameters:
    ///   - type: a structure or a dictionary. Its members must be plain values, or arrays of plain values.
    ///   - data: the form, in UTF-8. A plus sign means a space. A broken escape is kept unchanged.
    ///   - coding: the form in which property names, dates and data are read. By default, names stay unchanged, dates are in ISO
    ///     8601, and data is Base64.
    /// - Throws: `DecodingError`, also for a plain value whose name occurs more than once, and for more than 10,000 members. Two kinds of
    ///   text are refused, because they are slow to compare: a name that has more than 256 bytes and is not ASCII, and a value with more
    ///   than 128 combining marks in a row. The error contains no text of the form, with one exception: the error of an enumeration shows
    ///   a text that is not a case.
    public static func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, from data: Data, coding: JSONCoding = .standard
    ) throws -> Value {
        func corrupted(_ why: String) -> DecodingError { .dataCorrupted(.init(codingPath: [], debugDescription: "\(problem)\(why)")) }
        guard data.count(where: { $0 == UInt8(ascii: "&") }) < memberLimit else {
            throw corrupted(" that can be read: it has more than \(memberLimit) members")
        }
        guard let text = String(validating: data, as: UTF8.self) else { throw corrupted(" in UTF-8") }
        return try Value(from: FormDecoder(decode(text), coding: coding))
    }
}
