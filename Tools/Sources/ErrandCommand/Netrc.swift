import Foundation

/// A file of passwords by hosts, as ftp and curl read it.
///
/// Tokens are separated by white space. `"…"` is one token, in which `\"`, `\\`, `\n`, `\r` and `\t` are escapes. A `#` in place
/// of a word begins a comment. In a value, `#` is an ordinary character. A macro (`macdef`) ends at an empty line, and is
/// skipped. Unknown words are skipped.
///
/// A problem in an entry affects only that entry: ``Entry/problem``. Bytes that are not UTF-8 are a problem only in values.
struct Netrc: Equatable {
    struct Entry: Equatable {
        /// The host; `nil` for `default`, which is for all other hosts.
        var host: String?
        var user: String?
        var password: String?
        /// The first problem in the text of the entry. It matters if the entry has no user or no password.
        var problem: Failure?

        /// - Throws: ``problem``, if the entry is incomplete because of it.
        func checked() throws -> Entry {
            if let problem, user == nil || password == nil { throw problem }
            return self
        }
    }

    enum Failure: Error, CustomStringConvertible, Equatable {
        case tooLarge
        case noFile
        case notText(line: Int)
        case missingValue(after: String, line: Int)
        case unknownWord(line: Int)
        case unendedQuotation(line: Int)

        /// The problem, without text of the file, which has secrets.
        var description: String {
            switch self {
            case .tooLarge: "the file has more than 1 MiB"
            case .noFile: "it is not a readable file"
            case .notText(let line): "line \(line): a value is not text in UTF-8"
            case .missingValue(let word, let line): "line \(line): there is no value after '\(word)'"
            case .unknownWord(let line): "line \(line): there is an unknown word"
            case .unendedQuotation(let line): "line \(line): a quotation has no end"
            }
        }
    }

    private(set) var entries: [Entry] = []

    /// Reads a file of at most 1 MiB.
    init(atPath path: String) throws {
        guard let file = FileHandle(forReadingAtPath: path), let data = try? file.read(upToCount: (1 << 20) + 1) ?? Data() else {
            throw Failure.noFile
        }
        guard data.count <= 1 << 20 else { throw Failure.tooLarge }
        self.init(octets: Array(data))
    }

    init(_ text: String) { self.init(octets: Array(text.utf8)) }

    private init(octets: [UInt8]) {
        var scanner = Scanner(octets)
        while let word = scanner.next(isValue: false) {
            switch Self.words.first(where: { word.text?.isExactly($0) == true }) {
            case "machine":
                entries.append(Entry())
                // An entry without a name matches no host.
                entries[entries.count - 1].host = value(after: word, &scanner) ?? ""
            case "default": entries.append(Entry())
            case "login": if let text = value(after: word, &scanner) { change { $0.user = text } }
            case "password": if let text = value(after: word, &scanner) { change { $0.password = text } }
            case "account": _ = value(after: word, &scanner)
            case "macdef":
                _ = value(after: word, &scanner)
                scanner.skipMacro()
            default: note(word.isUnended ? .unendedQuotation(line: word.line) : .unknownWord(line: word.line))
            }
        }
    }

    /// Changes the last entry, if there is one.
    private mutating func change(_ body: (inout Entry) -> Void) {
        if !entries.isEmpty { body(&entries[entries.count - 1]) }
    }

    private mutating func note(_ problem: Failure) { change { $0.problem = $0.problem ?? problem } }

    private mutating func value(after word: Token, _ scanner: inout Scanner) -> String? {
        let before = scanner
        guard let token = scanner.next(isValue: true) else {
            note(.missingValue(after: word.text ?? "", line: word.line))
            return nil
        }
        // On another line, the next word is not meant to be the value.
        if token.line != word.line, !token.isQuoted, Self.words.contains(where: { token.text?.isExactly($0) == true }) {
            scanner = before
            note(.missingValue(after: word.text ?? "", line: word.line))
            return nil
        }
        if token.isUnended {
            note(.unendedQuotation(line: token.line))
            return nil
        }
        guard let text = token.text else {
            note(.notText(line: token.line))
            return nil
        }
        return text
    }

    private static let words = ["machine", "default", "login", "password", "account", "macdef"]

    /// The first entry for a host, in upper or lower case, or else the entry `default`. An IPv6 address may be in brackets or not.
    ///
    /// - Parameter user: the user whose entry is wanted; `nil` for any user.
    func entry(for host: String, user: String?) -> Entry? {
        func fits(_ entry: Entry) -> Bool { user.flatMap { user in entry.user.map { $0.isExactly(user) } } ?? true }
        let names = host.utf8.first == UInt8(ascii: "[") ? [host, String(host.dropFirst().dropLast())] : [host]
        return entries.first { entry in names.contains { entry.host?.isExactlyIgnoringCase($0) == true } && fits(entry) }
            ?? entries.first { $0.host == nil && fits($0) }
    }

    private struct Token {
        /// The token as text; `nil` if it is not UTF-8.
        var text: String?
        var line: Int
        var isQuoted = false
        var isUnended = false
    }

    private struct Scanner {
        private let octets: [UInt8]
        private var index = 0
        private var line = 1

        init(_ octets: [UInt8]) {
            self.octets = octets
            if octets.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 }
        }

        private static func isBlank(_ octet: UInt8) -> Bool { octet == 0x20 || (0x09...0x0D).contains(octet) }

        private var current: UInt8? { index < octets.count ? octets[index] : nil }

        private mutating func skip(while condition: (UInt8) -> Bool) {
            while let octet = current, condition(octet) {
                if octet == UInt8(ascii: "\n") { line += 1 }
                index += 1
            }
        }

        /// The next token. A quotation ends with its line.
        mutating func next(isValue: Bool) -> Token? {
            skip(while: Self.isBlank)
            while !isValue, current == UInt8(ascii: "#") {
                skip { $0 != UInt8(ascii: "\n") }
                skip(while: Self.isBlank)
            }
            guard let first = current else { return nil }
            guard first == UInt8(ascii: "\"") else {
                let start = index
                skip { !Self.isBlank($0) }
                return Token(text: String(validating: octets[start..<index], as: UTF8.self), line: line)
            }
            index += 1
            var token: [UInt8] = []
            while let octet = current, octet != UInt8(ascii: "\n"), octet != UInt8(ascii: "\r") {
                index += 1
                if octet == UInt8(ascii: "\"") {
                    return Token(text: String(validating: token, as: UTF8.self), line: line, isQuoted: true)
                }
                guard octet == UInt8(ascii: "\\"), let escaped = current, !"\r\n".utf8.contains(escaped) else {
                    token.append(octet)
                    continue
                }
                index += 1
                switch escaped {
                case UInt8(ascii: "n"): token.append(0x0A)
                case UInt8(ascii: "r"): token.append(0x0D)
                case UInt8(ascii: "t"): token.append(0x09)
                default: token.append(escaped)
                }
            }
            return Token(text: nil, line: line, isQuoted: true, isUnended: true)
        }

        /// Skips the text up to the next empty line, and that line.
        mutating func skipMacro() {
            var isEmpty = false
            while let octet = current {
                index += 1
                if octet == UInt8(ascii: "\n") {
                    line += 1
                    if isEmpty { return }
                    isEmpty = true
                } else if !Self.isBlank(octet) {
                    isEmpty = false
                }
            }
        }
    }
}
