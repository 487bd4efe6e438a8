/// A parameter of a field's value: `; name=value` or `; name="value"`.
struct FieldParameter: Sendable, Hashable {
    /// The most parameters of one value that are read.
    static let countLimit = 32

    /// The name in lower case.
    let name: String
    /// The value without quotation marks; `nil` for a name alone.
    let value: String?
}

extension [FieldParameter] {
    /// The value of the first parameter with this name, which is in lower case.
    subscript(name: String) -> String? { first { $0.name == name }?.value }

    /// The value of `name*`, if it is valid, and otherwise that of `name`.
    func extendedValue(of name: String) -> String? { self[name + "*"].flatMap { ExtendedValue.decode($0) } ?? self[name] }
}

extension FieldReader {
    /// Reads parameters, each after its semicolon. It stops before the first thing that is not one.
    ///
    /// - Parameters:
    ///   - keepingBackslashes: as for `quoted(keepingBackslashes:)`.
    ///   - keepingSpaces: whether spaces within a value without quotation marks belong to it, as in RFC 8288, appendix B.3: `rel=next last`.
    /// - Returns: the first 32; others are read, and left out.
    mutating func semicolonParameters(keepingBackslashes: Bool = false, keepingSpaces: Bool = false) -> [FieldParameter] {
        var parameters: [FieldParameter] = []
        var end = position
        while true {
            skip(\.isOptionalSpace)
            guard take(";") else { break }
            skip(\.isOptionalSpace)
            end = position
            // A semicolon alone is harmless.
            guard let name = token() else { continue }
            skip(\.isOptionalSpace)
            var value: String?
            if take("=") {
                skip(\.isOptionalSpace)
                if next == UInt8(ascii: "\"") {
                    value = quoted(keepingBackslashes: keepingBackslashes)
                    if value == nil { break }
                } else {
                    // More than a token: many senders leave the quotation marks out.
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
