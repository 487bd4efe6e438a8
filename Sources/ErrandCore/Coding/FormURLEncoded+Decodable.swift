internal import ErrandFormats

extension FormURLEncoded {
    /// The most members of a form that is read: 10,000.
    static let memberLimit = 10_000

    /// How the description of an error begins whose cause is the body as a whole.
    package static let problem = "the body is not a form"

    /// The problem of a member that should be there once.
    package static let repeatedName = "the name comes more than once"

    /// The value that a form holds.
    ///
    /// ```swift
    /// struct Token: Decodable { var access_token: String; var expires_in: Int?; var scope: [String]? }
    /// let token = try FormURLEncoded.decode(Token.self, from: Data("access_token=a1&expires_in=60&scope=read&scope=write".utf8))
    /// ```
    ///
    /// Whole numbers and decimal numbers are read from their texts, and a `Bool` from `true`, `false`, `1` or `0`. An array has an element for each time that its
    /// name comes. A member that is optional is `nil` if its name is missing, or if its text is empty. A dictionary has a member for each name.
    ///
    /// - Parameters:
    ///   - type: a structure or a dictionary whose members are plain values, or arrays of them.
    ///   - data: the form, in UTF-8. A plus sign is a space. A broken escape is kept as it is.
    ///   - coding: how names of properties, dates and data are read. By default, names stay as they are, dates are texts as in ISO 8601, and data is Base64.
    /// - Throws: `DecodingError`, also for a plain value whose name comes more than once; for more than 10,000 members; for a name that is longer than
    ///   256 bytes and not ASCII, as it is slow to compare. It contains nothing of the texts. The error of an enumeration has the text that is not a case.
    public static func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, from data: Data, coding: JSONCoding = .standard
    ) throws -> Value {
        func corrupted(_ why: String) -> DecodingError { .dataCorrupted(.init(codingPath: [], debugDescription: "\(problem)\(why)")) }
        guard data.count(where: { $0 == UInt8(ascii: "&") }) < memberLimit else {
            throw corrupted(" that is read: it has more than \(memberLimit) members")
        }
        guard let text = String(validating: data, as: UTF8.self) else { throw corrupted(" in UTF-8") }
        return try Value(from: FormDecoder(decode(text), coding: coding))
    }
}
