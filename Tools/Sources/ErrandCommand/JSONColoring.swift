import Foundation

/// JSON for people: indented, names and values in color; numbers and texts exactly as they came. Text that is not JSON stays as it is.
enum JSONColoring {
    /// Deeper levels are not indented further, so that no text becomes many times its length.
    private static let deepestIndent = 16

    /// - Parameters:
    ///   - isColored: false for the indentation alone.
    ///   - limitBytes: where the text becomes longer, the rest stays as it came; 8 MiB by default.
    static func text(of data: Data, isColored: Bool = true, limitBytes: Int = 8 * 1024 * 1024) -> String {
        let plain = String(decoding: data, as: UTF8.self)
        guard (try? JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)) != nil else { return plain }
        var text = ""
        var depth = 0
        var scalars = plain.unicodeScalars[...]
        func colored(_ token: String, _ color: Int) -> String { isColored ? "\u{1b}[\(color)m\(token)\u{1b}[0m" : token }
        func newline() { text += "\n" + String(repeating: "  ", count: min(depth, deepestIndent)) }
        while let scalar = scalars.first {
            if text.utf8.count > limitBytes {
                text.unicodeScalars += scalars
                break
            }
            switch scalar {
            case " ", "\n", "\r", "\t": scalars.removeFirst()
            case "{", "[":
                scalars.removeFirst()
                text.unicodeScalars.append(scalar)
                let rest = scalars.drop { $0.properties.isWhitespace }
                if rest.first == "}" || rest.first == "]" {
                    text.unicodeScalars.append(rest.first ?? "]")
                    scalars = rest.dropFirst()
                } else {
                    depth += 1
                    newline()
                }
            case "}", "]":
                scalars.removeFirst()
                depth -= 1
                newline()
                text.unicodeScalars.append(scalar)
            case ",":
                scalars.removeFirst()
                text += ","
                newline()
            case ":":
                scalars.removeFirst()
                text += ": "
            case "\"":
                let token = string(&scalars)
                let isName = scalars.first { !$0.properties.isWhitespace } == ":"
                text += colored(token, isName ? 94 : 32)
            default:
                let token = scalars.prefix { !",]} \n\r\t".unicodeScalars.contains($0) }
                scalars = scalars.dropFirst(token.count)
                text += colored(String(String.UnicodeScalarView(token)), 33)
            }
        }
        return text + "\n"
    }

    /// A text with its quotes, as it came.
    private static func string(_ scalars: inout Substring.UnicodeScalarView) -> String {
        var token = String.UnicodeScalarView()
        var isEscaped = false
        while let scalar = scalars.popFirst() {
            token.append(scalar)
            if isEscaped {
                isEscaped = false
            } else if scalar == "\\" {
                isEscaped = true
            } else if scalar == "\"" && token.count > 1 {
                break
            }
        }
        return String(token)
    }
}
