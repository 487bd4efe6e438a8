/// The value of a `Content-Type` field ([RFC 9110, section 8.3.1](https://www.rfc-editor.org/rfc/rfc9110#section-8.3.1)).
///
/// ```swift
/// let type = MediaType("application/json; charset=utf-8")
/// type?.essence                 // "application/json"
/// type?[parameter: "charset"]   // "utf-8"
/// ```
public struct MediaType: Sendable, Hashable, CustomStringConvertible {
    /// The type in lower case, such as `application`.
    public let type: String
    /// The subtype in lower case, such as `problem+json`.
    public let subtype: String
    /// The parameters in order. If several parameters have the same name, only the first parameter is kept.
    public let parameters: [Parameter]

    /// A parameter of a media type.
    public struct Parameter: Sendable, Hashable {
        /// The name in lower case.
        public let name: String
        /// The value without quotation marks.
        public let value: String
    }

    /// The largest number of parameters that are read.
    private static let parameterLimit = 32

    /// Reads a field's value; `nil` if the value isn't a media type.
    ///
    /// Invalid parameters are ignored. Parameters after the first 32, and parameters that end after the first 8 KiB, are also
    /// ignored.
    public init?(_ text: some StringProtocol) {
        let parts = Self.splitUnquoted(text)
        guard let essence = parts.first else { return nil }
        // Searches octets, because a combining character after a separator must not hide the separator.
        let names = essence.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard names.count == 2, Self.isToken(names[0]), Self.isToken(names[1]) else { return nil }
        type = Substring(names[0]).lowercased()
        subtype = Substring(names[1]).lowercased()
        var parameters: [Parameter] = []
        for part in parts.dropFirst() {
            guard let equals = part.utf8.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let name = part[..<equals].lowercased()
            guard Self.isToken(name.utf8), !parameters.contains(where: { $0.name == name }),
                let value = Self.unquoted(part[part.utf8.index(after: equals)...])
            else { continue }
            parameters.append(Parameter(name: name, value: value))
        }
        self.parameters = parameters
    }

    /// The value of the parameter with this name; `nil` if there is no such parameter. The case of the name does not matter.
    public subscript(parameter name: String) -> String? {
        let name = name.lowercased()
        return parameters.first { $0.name == name }?.value
    }

    /// The type and the subtype, without parameters.
    public var essence: String { "\(type)/\(subtype)" }

    /// Whether the type is JSON: `application/json`, `text/json`, or a subtype that ends in `+json`
    /// ([RFC 6839, section 3.1](https://www.rfc-editor.org/rfc/rfc6839#section-3.1)).
    public var isJSON: Bool {
        subtype.hasOctetSuffix("+json") || (subtype.isExactly("json") && (type.isExactly("application") || type.isExactly("text")))
    }

    public var description: String {
        parameters.reduce(into: essence) { $0 += "; \($1.name)=\(Self.isToken($1.value.utf8) ? $1.value : $1.value.quotedString)" }
    }

    /// Returns the parts between semicolons, trimmed, up to the limits. A semicolon within quotation marks does not separate parts.
    private static func splitUnquoted(_ text: some StringProtocol) -> [String] {
        var parts: [String] = []
        var current = ""
        var isQuoted = false
        var isEscaped = false
        var length = 0
        for scalar in text.unicodeScalars {
            length += UTF8.width(scalar)
            guard length <= FieldLimits.valueBytes, parts.count <= parameterLimit else {
                return parts.map { $0.trimmingOptionalWhitespace() }
            }
            if scalar == ";" && !isQuoted {
                parts.append(current)
                current = ""
                continue
            }
            if isEscaped {
                isEscaped = false
            } else if scalar == "\\" && isQuoted {
                isEscaped = true
            } else if scalar == "\"" {
                isQuoted.toggle()
            }
            current.unicodeScalars.append(scalar)
        }
        return (parts + [current]).map { $0.trimmingOptionalWhitespace() }
    }

    /// Returns the text without quotation marks; `nil` if the text begins a quoted string that does not end at the end of the
    /// text.
    private static func unquoted(_ text: Substring) -> String? {
        let text = String(text).trimmingOptionalWhitespace()
        guard text.utf8.first == UInt8(ascii: "\"") else { return text }
        var value = ""
        var isEscaped = false
        var isClosed = false
        for scalar in text.unicodeScalars.dropFirst() {
            if isClosed { return nil }
            if scalar == "\\" && !isEscaped {
                isEscaped = true
            } else if scalar == "\"" && !isEscaped {
                isClosed = true
            } else {
                value.unicodeScalars.append(scalar)
                isEscaped = false
            }
        }
        return isClosed ? value : nil
    }

    private static func isToken(_ bytes: some Collection<UInt8>) -> Bool { !bytes.isEmpty && bytes.allSatisfy(\.isTokenOctet) }
}
