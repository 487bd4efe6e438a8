import Errand
import Foundation

/// Formats JSON for people: with indentation, and names and values in color. Numbers and strings keep their form. Text that is not
/// JSON stays unchanged.
enum JSONColoring {
    /// The deepest indentation. Deeper levels are not indented further, so that the text does not become many times longer.
    private static let deepestIndent = 16

    /// Returns the bytes to show: `data` itself if the library can't read it as JSON in UTF-8.
    ///
    /// - Parameters:
    ///   - isColored: `false` for indentation without color.
    ///   - isForTerminal: whether characters that could steer a terminal are escaped, as JSON escapes them.
    ///   - limitBytes: the longest formatted text. After this length, the rest is not formatted; 8 MiB by default.
    static func shown(_ data: Data, isColored: Bool, isForTerminal: Bool, limitBytes: Int = 8 * 1024 * 1024) -> Data {
        text(ofJSON: data, isColored: isColored, isForTerminal: isForTerminal, limitBytes: limitBytes).map { Data($0.utf8) } ?? data
    }

    /// Returns the text to show. Octets that are not UTF-8 are replaced.
    static func text(of data: Data, isColored: Bool = true, limitBytes: Int = 8 * 1024 * 1024) -> String {
        text(ofJSON: data, isColored: isColored, isForTerminal: false, limitBytes: limitBytes) ?? String(decoding: data, as: UTF8.self)
    }

    /// Returns the formatted text; `nil` for text that is not JSON. The library's parser checks the text first, so the coloring code
    /// gets only valid JSON.
    private static func text(ofJSON data: Data, isColored: Bool, isForTerminal: Bool, limitBytes: Int) -> String? {
        guard (try? JSONValue(parsing: data)) != nil else { return nil }
        let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let json = data.starts(with: byteOrderMark) ? data.dropFirst(byteOrderMark.count) : data
        let plain = String(decoding: json, as: UTF8.self)
        var text = ""
        var depth = 0
        var scalars = plain.unicodeScalars[...]
        func colored(_ token: String, _ color: Int) -> String { isColored ? "\u{1b}[\(color)m\(token)\u{1b}[0m" : token }
        func newline() { text += "\n" + String(repeating: "  ", count: max(0, min(depth, deepestIndent))) }
        while let scalar = scalars.first {
            if text.utf8.count > limitBytes {
                text += isForTerminal ? escaped(scalars) : String(scalars)
                break
            }
            switch scalar {
            case " ", "\n", "\r", "\t": scalars.removeFirst()
            case "{", "[":
                scalars.removeFirst()
                text.unicodeScalars.append(scalar)
                let rest = scalars.drop(while: isBlank)
                if let end = rest.first, end == "}" || end == "]" {  // octets: a scalar
                    text.unicodeScalars.append(end)
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
                let isName = scalars.first { !isBlank($0) } == ":"  // octets: a scalar
                text += colored(isForTerminal ? escaped(token) : String(token), isName ? 94 : 32)
            default:
                let token = scalars.prefix { !",]} \n\r\t".unicodeScalars.contains($0) }
                scalars = scalars.dropFirst(token.count)
                text += colored(String(token), 33)
            }
        }
        return text + "\n"
    }

    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool { scalar == " " || scalar == "\n" || scalar == "\r" || scalar == "\t" }

    /// Replaces characters that could steer a terminal by escapes of JSON. Outside strings, valid JSON has no such characters except
    /// white space.
    private static func escaped(_ scalars: Substring.UnicodeScalarView) -> String {
        guard scalars.contains(where: \.steersTerminal) else { return String(scalars) }
        var text = String.UnicodeScalarView()
        for scalar in scalars {
            if scalar.steersTerminal, !isBlank(scalar) {
                let digits = String(scalar.value, radix: 16)
                text.append(contentsOf: ("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).unicodeScalars)
            } else {
                text.append(scalar)
            }
        }
        return String(text)
    }

    /// Takes a string with its quotation marks, unchanged.
    private static func string(_ scalars: inout Substring.UnicodeScalarView) -> Substring.UnicodeScalarView {
        let start = scalars.startIndex
        var isEscaped = false
        var index = scalars.index(after: start)
        while index < scalars.endIndex {
            let scalar = scalars[index]
            index = scalars.index(after: index)
            if isEscaped {
                isEscaped = false
            } else if scalar == "\\" {
                isEscaped = true
            } else if scalar == "\"" {
                break
            }
        }
        defer { scalars = scalars[index...] }
        return scalars[..<index]
    }
}
