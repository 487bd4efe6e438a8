/// The value of a `Content-Type` field (RFC 9110, 8.3.1).
public struct MediaType: Sendable, Hashable, CustomStringConvertible {
    /// In lower case, as `application`.
    public let type: String
    /// In lower case, as `problem+json`.
    public let subtype: String
    /// By lower-case name, in order; a name that came twice is kept once, with its first value.
    public let parameters: [Parameter]

    /// A name in lower case and its value, unquoted.
    public struct Parameter: Sendable, Hashable {
        public let name: String
        public let value: String
    }

    /// How many parameters are read, at most.
    private static let parameterLimit = 32

    /// Reads a field's value; nil if it is no media type. Parameters that can't be read are passed over. So are those after the first 32, and
    /// those that end beyond the first 8 KiB.
    public init?(_ text: some StringProtocol) {
        let parts = Self.splitUnquoted(text)
        guard let essence = parts.first else { return nil }
        let names = essence.split(separator: "/", omittingEmptySubsequences: false)
        guard names.count == 2, Self.isToken(names[0].utf8), Self.isToken(names[1].utf8) else { return nil }
        type = names[0].lowercased()
        subtype = names[1].lowercased()
        var parameters: [Parameter] = []
        for part in parts.dropFirst() {
            guard let equals = part.firstIndex(of: "=") else { continue }
            let name = part[..<equals].lowercased()
            guard Self.isToken(name.utf8), !parameters.contains(where: { $0.name == name }),
                let value = Self.unquoted(part[part.index(after: equals)...])
            else { continue }
            parameters.append(Parameter(name: name, value: value))
        }
        self.parameters = parameters
    }

    /// The value of the parameter with this name; nil if there is none. Case of the name does not matter.
    public subscript(parameter name: String) -> String? {
        let name = name.lowercased()
        return parameters.first { $0.name == name }?.value
    }

    /// Type and subtype, without parameters.
    public var essence: String { "\(type)/\(subtype)" }

    /// True for `application/json` and every type that ends in `+json` (RFC 6839, 3.1).
    public var isJSON: Bool { essence == "application/json" || essence == "text/json" || subtype.hasSuffix("+json") }

    public var description: String {
        parameters.reduce(into: essence) { $0 += "; \($1.name)=\(Self.isToken($1.value.utf8) ? $1.value : Self.quoted($1.value))" }
    }

    private static func quoted(_ value: String) -> String {
        "\"" + value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }

    /// Parts between semicolons that stand outside quotes, trimmed: as many as are read.
    private static func splitUnquoted(_ text: some StringProtocol) -> [String] {
        var parts: [String] = []
        var current = ""
        var isQuoted = false
        var isEscaped = false
        var length = 0
        for character in text.unicodeScalars {
            length += UTF8.width(character)
            guard length <= FieldLimits.valueBytes, parts.count <= parameterLimit else {
                return parts.map { $0.trimmingOptionalWhitespace() }
            }
            if character == ";" && !isQuoted {
                parts.append(current)
                current = ""
                continue
            }
            if isEscaped {
                isEscaped = false
            } else if character == "\\" && isQuoted {
                isEscaped = true
            } else if character == "\"" {
                isQuoted.toggle()
            }
            current.unicodeScalars.append(character)
        }
        return (parts + [current]).map { $0.trimmingOptionalWhitespace() }
    }

    /// Nil for a quoted string that does not end where the text ends.
    private static func unquoted(_ text: Substring) -> String? {
        let text = String(text).trimmingOptionalWhitespace()
        guard text.unicodeScalars.first == "\"" else { return text }
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

extension UInt8 {
    /// `tchar` (RFC 9110, 5.6.2).
    var isTokenOctet: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "!#$%&'*+-.^_`|~".utf8.contains(self)
        }
    }
}

extension String {
    /// Without the spaces and tabs at both ends (`OWS`, RFC 9110, 5.6.3).
    func trimmingOptionalWhitespace() -> String {
        var bytes = Substring(self).utf8
        while let first = bytes.first, first == 0x20 || first == 0x09 { bytes.removeFirst() }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
        return String(Substring(bytes))
    }
}
