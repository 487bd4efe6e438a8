import Foundation

/// A file of passwords by hosts, as ftp and curl read it.
///
/// Tokens are separated by white space; `"…"` is one token, in which `\"`, `\\`, `\n`, `\r` and `\t` are escapes. A `#` begins a comment at the
/// beginning of a token. A macro (`macdef`) goes up to an empty line, and is skipped.
struct Netrc: Equatable {
    struct Entry: Equatable {
        /// The host; `nil` for `default`, which is for all others.
        var host: String?
        var user: String?
        var password: String?
    }

    enum Failure: Error, CustomStringConvertible, Equatable {
        case tooLarge
        case notText
        case noFile
        case missingValue(after: String, line: Int)
        case unknownWord(line: Int)
        case unendedQuotation(line: Int)

        /// Without the text of the file, which has secrets.
        var description: String {
            switch self {
            case .tooLarge: "the file has more than 1 MiB"
            case .notText: "the file is not text in UTF-8"
            case .noFile: "it is not a file that can be read"
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
        guard let text = String(data: data, encoding: .utf8) else { throw Failure.notText }
        try self.init(text)
    }

    init(_ text: String) throws {
        var scanner = Scanner(text)
        while let (word, line) = try scanner.next() {
            func value() throws -> String {
                guard let (value, _) = try scanner.next() else { throw Failure.missingValue(after: word, line: line) }
                return value
            }
            switch word {
            case "machine": entries.append(Entry(host: try value()))
            case "default": entries.append(Entry())
            case "login" where !entries.isEmpty: entries[entries.count - 1].user = try value()
            case "password" where !entries.isEmpty: entries[entries.count - 1].password = try value()
            case "account" where !entries.isEmpty: _ = try value()
            case "macdef":
                _ = try value()
                scanner.skipMacro()
            default: throw Failure.unknownWord(line: line)
            }
        }
    }

    /// The first entry for a host, in any case, or else that of `default`.
    ///
    /// - Parameter user: the only user whose entry is wanted; `nil` for any.
    func entry(for host: String, user: String?) -> Entry? {
        func fits(_ entry: Entry) -> Bool { user == nil || entry.user == nil || entry.user == user }
        return entries.first { $0.host?.lowercased() == host.lowercased() && fits($0) } ?? entries.first { $0.host == nil && fits($0) }
    }

    private struct Scanner {
        private var rest: Substring
        private var line = 1

        init(_ text: String) { rest = text.replacing("\r\n", with: "\n")[...] }

        private mutating func pop() -> Character? {
            let character = rest.popFirst()
            if character == "\n" { line += 1 }
            return character
        }

        /// The next token, and its line.
        mutating func next() throws -> (String, Int)? {
            while let first = rest.first {
                if first.isWhitespace {
                    _ = pop()
                } else if first == "#" {
                    while let character = rest.first, character != "\n" { _ = pop() }
                } else {
                    break
                }
            }
            guard let first = rest.first else { return nil }
            let start = line
            var token = ""
            guard first == "\"" else {
                while let character = rest.first, !character.isWhitespace { token.append(character); _ = pop() }
                return (token, start)
            }
            _ = pop()
            while let character = pop() {
                switch character {
                case "\"": return (token, start)
                case "\\":
                    switch pop() {
                    case "n": token.append("\n")
                    case "r": token.append("\r")
                    case "t": token.append("\t")
                    case let other?: token.append(other)
                    case nil: break
                    }
                default: token.append(character)
                }
            }
            throw Failure.unendedQuotation(line: start)
        }

        /// Goes on after the next empty line.
        mutating func skipMacro() {
            var isEmpty = false
            while let character = pop() {
                if character == "\n" {
                    if isEmpty { return }
                    isEmpty = true
                } else if !character.isWhitespace {
                    isEmpty = false
                }
            }
        }
    }
}
