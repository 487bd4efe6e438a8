import ArgumentParser

/// Rewrites the arguments into forms that the parser understands, as curl and httpie accept them.
///
/// - Short options with their values, and several short options in one argument: `-XPOST` and `-sSofile` become `-X POST` and
///   `-s -S -o file`. A letter that is not an option leaves the argument unchanged.
/// - Values that begin with a dash: `-r -5` becomes `-r=-5`. A long option of this command is not taken for a value.
/// - Options before the subcommand: `-v post URL` becomes `post -v URL`.
/// - Items before the URL: `post -j a=1 b=2 URL` becomes `post -j a=1 URL b=2`.
///
/// Arguments after `--` are never options.
enum ArgumentRewriter {
    /// - Throws: `ValidationError` for the name of a long option after one dash: `-data` could mean `--data` or `-d ata`.
    static func rewritten(_ arguments: [String]) throws -> [String] {
        // A shell asks for completions.
        guard arguments.first?.hasOctetPrefix("---") != true else { return arguments }
        var pieces = try pieces(of: arguments)
        guard moveSubcommand(in: &pieces) else { return arguments }
        moveItems(in: &pieces)
        return pieces.flatMap(\.words)
    }

    /// Consecutive words of the result.
    private struct Piece {
        /// The words of an option with its value, one word that is not an option, or `--`.
        let words: [String]
        /// Whether the piece is the URL, an item or the name of a subcommand.
        let isPositional: Bool

        static func option(_ words: [String]) -> Piece { Piece(words: words, isPositional: false) }
        static func positional(_ word: String) -> Piece { Piece(words: [word], isPositional: true) }
    }

    private static let terminator = "--"

    // MARK: - Options

    private static func pieces(of arguments: [String]) throws -> [Piece] {
        var pieces: [Piece] = []
        var rest = arguments[...]
        while let word = rest.popFirst() {
            if word.isExactly(terminator) {
                pieces.append(.option([terminator]))
                break
            } else if word.hasOctetPrefix("--") {
                let takesNext = OptionTable.longOptionsWithValues.contains(String(word.dropFirst(2)))
                pieces.append(.option(takesNext ? option(word, value: nextValue(&rest)) : [word]))
            } else if word.hasOctetPrefix("-"), word.utf8.count > 1 {
                pieces.append(.option(try shortOptions(word, &rest) ?? [word]))
            } else {
                pieces.append(.positional(word))
            }
        }
        return pieces + rest.map { .positional($0) }
    }

    /// Removes the next argument, if the argument can be a value.
    private static func nextValue(_ rest: inout ArraySlice<String>) -> String? {
        guard let next = rest.first, !isLongOption(next) else { return nil }
        return rest.popFirst()
    }

    /// Whether a word is a long option of this command, with or without a value.
    private static func isLongOption(_ word: String) -> Bool {
        guard word.hasOctetPrefix("--"), word.utf8.count > 2 else { return false }
        return OptionTable.isLongName(String(word.cut(atOctet: UInt8(ascii: "=")).0.dropFirst(2)))
    }

    /// The words for an option. A value that begins with a dash is joined, because the parser would take the value for an option.
    private static func option(_ name: String, value: String?) -> [String] {
        guard let value else { return [name] }
        return value.hasOctetPrefix("-") && !value.isExactly("-") ? ["\(name)=\(value)"] : [name, value]
    }

    /// The words for an argument of short options; `nil` for an argument that has a letter of no option.
    private static func shortOptions(_ word: String, _ rest: inout ArraySlice<String>) throws -> [String]? {
        let letters = word.utf8.dropFirst()
        let name = String(word.cut(atOctet: UInt8(ascii: "=")).0.dropFirst())
        guard letters.count == 1 || !OptionTable.isLongName(name) else {
            throw ValidationError("Unknown option '-\(name)'. Did you mean '--\(name)'?")
        }
        var words: [String] = []
        var index = letters.startIndex
        while index < letters.endIndex {
            let letter = Character(Unicode.Scalar(letters[index]))
            index = letters.index(after: index)
            if OptionTable.shortOptionsWithValues.contains(letter) {
                let joined = String(word.utf8[index...]) ?? ""
                return words + option("-\(letter)", value: joined.isEmpty ? nextValue(&rest) : joined)
            }
            guard OptionTable.shortFlags.contains(letter) else { return nil }
            // The parser knows letters and digits alone. A repeated flag means nothing more, and the parser takes quadratic time.
            let flag = letter == "#" ? "--progress-bar" : "-\(letter)"
            if !words.contains(flag) { words.append(flag) }
        }
        return words
    }

    // MARK: - Positions

    /// Moves the subcommand, and the subcommand of a subcommand, to the front.
    ///
    /// - Returns: whether options of the arguments may be rewritten: `help` has none.
    private static func moveSubcommand(in pieces: inout [Piece]) -> Bool {
        var group = Misspelling.subcommands
        var front = 0
        while let index = pieces.firstIndex(where: { $0.isPositional && !isItem($0) }), let name = pieces[index].words.first,
            group.contains(front == 0 ? methodName(name) : name), !pieces[..<index].contains(where: { $0.words == [terminator] })
        {
            if name == "help" { return false }
            pieces.remove(at: index)
            pieces.insert(.option([front == 0 ? methodName(name) : name]), at: front)
            front += 1
            group = Misspelling.groups[name] ?? []
        }
        return true
    }

    /// The subcommand of a method in capitals, as httpie has it: `POST` is `post`. Any other word is returned unchanged.
    private static func methodName(_ word: String) -> String {
        Misspelling.methods.first { $0.uppercased().isExactly(word) } ?? word
    }

    /// Moves the items before the URL to the end.
    private static func moveItems(in pieces: inout [Piece]) {
        guard let url = pieces.firstIndex(where: { $0.isPositional && !isItem($0) }) else { return }
        let items = pieces[..<url].filter(\.isPositional)
        pieces = pieces[..<url].filter { !$0.isPositional } + pieces[url...] + items
    }

    /// Whether a word is an item that can't be a URL.
    private static func isItem(_ piece: Piece) -> Bool { piece.words.first.map(RequestItem.isNoURL) ?? false }
}

/// The options of all subcommands by name, for ``ArgumentRewriter``. A test compares them with the options of the parser.
enum OptionTable {
    static let shortFlags: Set<Character> = ["#", "G", "I", "L", "N", "O", "S", "f", "g", "h", "i", "k", "n", "s", "v"]
    static let shortOptionsWithValues: Set<Character> = [
        "A", "C", "D", "F", "H", "T", "U", "X", "b", "c", "d", "e", "j", "m", "o", "p", "q", "r", "u", "w", "x",
    ]
    static let longFlags: Set<String> = [
        "allow-downgrade", "anyauth", "basic", "client-credentials", "compress-body", "compressed", "continue", "curl", "data-only",
        "device",
        "digest", "fail", "force", "get", "globoff", "head", "help", "http1.1", "http2", "http2-prior-knowledge", "ignore-stdin", "include",
        "insecure", "location", "netrc", "netrc-optional", "no-buffer", "no-fail", "path-as-is", "profile", "progress-bar", "proxy-anyauth",
        "proxy-basic", "proxy-digest", "remote-name", "resumable", "show-error", "silent", "tus", "verbose", "version",
    ]
    static let longOptionsWithValues: Set<String> = [
        "auth", "authorization-url", "aws-sigv4", "browser", "cacert", "cache", "cert", "client-auth", "client-id", "client-secret",
        "color", "connect-timeout", "continue-at", "cookie", "cookie-jar", "count", "data", "data-ascii", "data-binary", "data-raw",
        "data-urlencode", "device-url", "dump-header", "form", "har", "header", "hsts", "issuer", "json", "json-field", "key",
        "last-event-id", "max-header-bytes", "max-header-count", "max-reconnects", "max-redirs", "max-time", "netrc-file", "noproxy",
        "oauth2-bearer", "output", "output-dir", "port", "proxy", "proxy-user", "query", "range", "redirect-port", "referer", "request",
        "resolve",
        "retry", "retry-delay", "scope", "silence", "timeout", "token-url", "unix-socket", "upload-file", "user", "user-agent", "wait",
        "wait-for-network", "write-out",
    ]

    static func isLongName(_ name: String) -> Bool { longFlags.contains(name) || longOptionsWithValues.contains(name) }
}
