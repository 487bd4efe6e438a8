/// A parameter of a field's value: `; name=value` or `; name="value"`.
struct FieldParameter: Sendable, Hashable {
    /// The largest number of parameters that are read from one value.
    static let countLimit = 32

    /// The name in lower case.
    let name: String
    /// The value without quotation marks; `nil` if the parameter is only a name.
    let value: String?
}

extension [FieldParameter] {
    /// The value of the first parameter with this name; the name must be in lower case.
    subscript(name: String) -> String? { first { $0.name == name }?.value }

    /// Returns the value of `name*` if this value is valid; otherwise the value of `name`.
    func extendedValue(of name: String) -> String? { self[name + "*"].flatMap { ExtendedValue.decode($0) } ?? self[name] }
}

extension FieldReader {
    /// Reads parameters. A semicolon must be before each parameter. Stops before the first text that is not a parameter.
    ///
    /// - Parameters:
    ///   - keepingBackslashes: see `quoted(keepingBackslashes:)`.
    ///   - keepingSpaces: whether spaces within a value without quotation marks belong to the value, as in RFC 8288, appendix B.3:
    ///     `rel=next last`.
    /// - Returns: the first 32 parameters. The parameters after the first 32 are also read, but the result does not contain them.
    mutating func semicolonParameters(keepingBackslashes: Bool = false, keepingSpaces: Bool = false) -> [FieldParameter] {
        var parameters: [FieldParameter] = []
        var end = position
        while true {
            skip(\.isOptionalSpace)
            guard take(";") else { break }
            skip(\.isOptionalSpace)
            end = position
            // A semicolon without a parameter after it is ignored.
            guard let name = token() else { continue }
            skip(\.isOptionalSpace)
            var value: String?
            if take("=") {
                skip(\.isOptionalSpace)
                if next == UInt8(ascii: "\"") {
                    value = quoted(keepingBackslashes: keepingBackslashes)
                    if value == nil { break }
                } else {
                    // This code accepts more characters than a token has, because many senders leave out the quotation marks.
                    let start = position
                    if keepingSpaces {
                        skip { !";,\"".utf8.contains($0) }
                        value = text(start..<position).trimmingOptionalWhitespace()
                    } else {
                        skip { !";,\" \t".utf8.contains($0) }
                        value = text(start..<position)
                    }
                }
            }
            end = position
            if parameters.count < FieldParameter.countLimit { parameters.append(FieldParameter(name: name.lowercased(), value: value)) }
        }
        position = end
        return parameters
    }
}
