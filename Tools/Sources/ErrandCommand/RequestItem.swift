import ArgumentParser
import Errand
import Foundation

/// A part of the request after the URL, as httpie has it: `name=text`, `name:=json`, `name==value` or `Name:value`.
///
/// A backslash takes the meaning from a separator: `a\=b=c` is the member `a=b`.
struct RequestItem: Equatable {
    /// The separator between the name and the value. The longest separator counts.
    enum Separator: String, CaseIterable {
        case header = ":"
        case headerOfFile = ":@"
        case emptyHeader = ";"
        case query = "=="
        case queryOfFile = "==@"
        case text = "="
        case textOfFile = "=@"
        case json = ":="
        case jsonOfFile = ":=@"
        case file = "@"
    }

    let name: String
    let separator: Separator
    /// The value, or the path of its file.
    let value: String
    /// The item without its value, which may be secret.
    var label: String { "\(name.shownSafely())\(separator.rawValue)…" }

    /// - Parameter position: the position among the arguments after the URL, from 1.
    /// - Throws: `ValidationError` for a text that is not an item, and for a file of a form.
    init(_ text: String, position: Int = 1) throws {
        let (name, rest) = Self.parts(of: text)
        guard let (separator, value) = rest else {
            // The text may be a secret.
            let length = SafeText.counted(text.count, "character")
            throw ValidationError(
                "argument \(position) after the URL, of \(length), has no '=' and no ':'. What follows the URL is name=text, name:=json, "
                    + "name==value or Name:value. If the argument is a part of the URL, quote the URL")
        }
        guard !name.isEmpty, !Self.isURL(name, separator, value) else {
            let shown = name.isEmpty && separator != .header ? "\(separator.rawValue)…" : Self.shown(text)
            let hint = separator == .header ? "-H 'Name: value'" : "-q or -j"
            throw ValidationError(
                "unexpected argument '\(shown)' after the URL: a request has one URL. For a part of the request, use \(hint)")
        }
        (self.name, self.separator, self.value) = (name, separator, value)
        try check()
    }

    private func check() throws {
        let name = name.shownSafely()
        if separator == .file {
            throw ValidationError("'\(label)' names a file for a form. Write -F \(name)=@…, and -F for each other field")
        }
        if separator == .emptyHeader, !value.isEmpty {
            throw ValidationError("'\(label)' is not an item. '\(name);' sends a header field without a value")
        }
        if isMember, let bracket = name.utf8.firstIndex(of: UInt8(ascii: "[")) {
            throw ValidationError(
                "nested names are not supported ('\(name)'). Write the whole value as JSON: \(name[..<bracket]):='{…}'")
        }
    }

    /// Whether the item is a member of a JSON body.
    var isMember: Bool { [.text, .textOfFile, .json, .jsonOfFile].contains(separator) }
    /// Whether the item is a query item.
    var isQuery: Bool { separator == .query || separator == .queryOfFile }

    /// The value, or the text of its file.
    ///
    /// - Throws: `ValidationError` for a file that can't be read, or is not text in UTF-8.
    func content() throws -> String {
        guard [.headerOfFile, .queryOfFile, .textOfFile, .jsonOfFile].contains(separator) else { return value }
        guard var text = String(validating: try CommandFile.read(value), as: UTF8.self) else {
            throw ValidationError("'\(value.shownSafely())' is not text in UTF-8")
        }
        // As httpie has it: a text in a body is sent unchanged.
        if !isMember { while text.utf8.last == UInt8(ascii: "\n") { text.unicodeScalars.removeLast() } }
        return text
    }

    /// The header field in the form of `-H`; `nil` for another item.
    ///
    /// - Throws: `ValidationError` for a file that can't be read.
    func headerLine() throws -> String? {
        switch separator {
        case .emptyHeader: "\(name);"
        case .header, .headerOfFile: "\(name):\(try content())"
        default: nil
        }
    }

    /// The value of a member of a JSON body.
    ///
    /// - Throws: `ValidationError` for text that is not JSON, and for a file that can't be read.
    func member() throws -> JSONValue {
        let text = try content()
        guard separator == .json || separator == .jsonOfFile else { return .string(text) }
        guard let value = try? JSONValue(parsing: text.utf8) else {
            throw ValidationError("'\(label)': the value is not JSON. For a text, write \(name.shownSafely())=…")
        }
        return value
    }

    // MARK: - Parsing

    /// The name, and the first separator with the text after it. Without a separator, the name is the whole text.
    private static func parts(of text: String) -> (name: String, rest: (Separator, value: String)?) {
        var (octets, found) = ([] as [UInt8], nil as (Separator, nameLength: Int)?)
        var rest = Array(text.utf8)[...]
        while let octet = rest.first {
            if octet == UInt8(ascii: "\\"), let next = rest.dropFirst().first, ":;=@".utf8.contains(next) {
                octets.append(next)
                rest = rest.dropFirst(2)
            } else if found == nil, let separator = separator(at: rest) {
                found = (separator, octets.count)
                rest = rest.dropFirst(separator.rawValue.utf8.count)
            } else {
                octets.append(octet)
                rest = rest.dropFirst()
            }
        }
        guard let (separator, length) = found else { return (text, nil) }
        return (
            String(decoding: octets[..<length], as: UTF8.self), (separator, String(decoding: octets[length...], as: UTF8.self))
        )
    }

    private static func separator(at rest: ArraySlice<UInt8>) -> Separator? {
        Separator.allCases.filter { rest.starts(with: $0.rawValue.utf8) }.max { $0.rawValue.utf8.count < $1.rawValue.utf8.count }
    }

    /// Whether a text is a second URL rather than a header field: `http://a.example`, `a.example:8080/x`.
    private static func isURL(_ name: String, _ separator: Separator, _ value: String) -> Bool {
        guard separator == .header else { return name.containsOctet(UInt8(ascii: "/")) }
        return value.hasOctetPrefix("//") || name.containsOctet(UInt8(ascii: ".")) || name.isExactlyIgnoringCase("localhost")
            || name.containsOctet(UInt8(ascii: "/"))
    }

    /// The text without the password and the secret query items that a URL may have.
    private static func shown(_ text: String) -> String {
        text.containsOctet(UInt8(ascii: "@")) ? "…" : Sensitivity.standard.redactedURL(text).shownSafely()
    }

    /// Whether a text is an item and can't be a URL, because no host has an equals sign: `name=text`, `name:=json`, `name==value`.
    static func isNoURL(_ text: String) -> Bool {
        let octets = text.utf8
        guard let first = octets.first, isNameOctet(first), let end = octets.firstIndex(where: { !isNameOctet($0) }) else { return false }
        return octets[end...].starts(with: "=".utf8) || octets[end...].starts(with: ":=".utf8)
    }

    private static func isNameOctet(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: octet >= 0x80
        }
    }
}
