/// Reads the challenges of one value, for ``AuthenticationChallenge/parse(_:)``. The work is limited: for each of at most 32
/// challenges, the reader examines every byte a few times.
struct ChallengeReader {
    private static let digest = "Digest"
    private static let unreadableDigest = AuthenticationChallenge(scheme: digest, token68: nil, parameters: [])
    /// The names of Digest parameters whose values are lists.
    private static let lists = ["qop", "algorithm", "domain"]

    private typealias Parameter = AuthenticationChallenge.Parameter

    private var reader: FieldReader
    private var read: [AuthenticationChallenge] = []

    private var bytes: [UInt8] { reader.bytes }

    init(_ value: String) { reader = FieldReader(value) }

    /// Returns the challenges.
    mutating func challenges() -> [AuthenticationChallenge] {
        while read.count < AuthenticationChallenge.countLimit {
            skipCommas()
            guard reader.next != nil else { return read }
            let start = reader.position
            if !readChallenge(), !skipToDigest() {
                reader.position = start
                break
            }
        }
        return unread()
    }

    /// Returns the challenges read so far. If no challenge is a Digest challenge, but the rest of the value has the word Digest,
    /// a Digest challenge without parameters is added.
    mutating func unread() -> [AuthenticationChallenge] {
        guard bytes.indices.dropFirst(reader.position).contains(where: { isWordDigest(at: $0) }),
            !read.contains(where: { $0.isScheme(Self.digest) })
        else { return read }
        if read.count == AuthenticationChallenge.countLimit { read.removeLast() }
        read.append(Self.unreadableDigest)
        return read
    }

    private mutating func add(_ scheme: String, token68: String? = nil, _ parameters: [Parameter] = []) {
        read.append(AuthenticationChallenge(scheme: scheme, token68: token68, parameters: parameters))
    }

    private mutating func skipSpaces() { reader.skip(\.isOptionalSpace) }
    private mutating func skipCommas() { reader.skip { $0.isOptionalSpace || $0 == UInt8(ascii: ",") } }

    // MARK: One challenge

    /// Reads one challenge. Returns false if the value is not valid.
    private mutating func readChallenge() -> Bool {
        guard let scheme = reader.token() else { return false }
        let start = reader.position
        skipSpaces()
        if scheme.isExactlyIgnoringCase(Self.digest) {
            readDigest(scheme, isApart: reader.position > start)
            return true
        }
        guard let first = reader.next, first != UInt8(ascii: ",") else {
            add(scheme)
            return true
        }
        guard reader.position > start else { return false }
        if let text = token68() {
            add(scheme, token68: text)
            return true
        }
        guard let parameters = parameters() else { return false }
        if let parameters = Self.withoutRepeats(parameters) { add(scheme, parameters) }
        return true
    }

    /// Reads the text that some schemes have instead of parameters. Returns `nil` and reads nothing if parameters follow.
    private mutating func token68() -> String? {
        let start = reader.position
        reader.skip { $0.isASCIILetter || $0.isASCIIDigit || "-._~+/".utf8.contains($0) }
        guard reader.position > start else { return nil }
        reader.skip { $0 == UInt8(ascii: "=") }
        let end = reader.position
        skipSpaces()
        guard reader.next == nil || reader.next == UInt8(ascii: ",") else {
            reader.position = start
            return nil
        }
        return reader.text(start..<end)
    }

    /// Reads parameters; `nil` if the parameters are not valid.
    private mutating func parameters() -> [Parameter]? {
        var parameters: [Parameter] = []
        while let name = parameterName() {
            guard parameters.count < AuthenticationChallenge.countLimit,
                let value = reader.next == UInt8(ascii: "\"") ? reader.quoted() : reader.token()
            else { return nil }
            parameters.append(Parameter(name: name, value: value))
            skipSpaces()
            guard let comma = reader.next else { return parameters }
            guard comma == UInt8(ascii: ",") else { return nil }
            skipCommas()
        }
        return parameters.isEmpty ? nil : parameters
    }

    /// Reads the name of a parameter and its equals sign, and returns the name in lower case. Returns `nil` and reads nothing if the
    /// next challenge follows.
    private mutating func parameterName() -> String? {
        let start = reader.position
        if let name = reader.token() {
            skipSpaces()
            if reader.next == UInt8(ascii: "=") {
                reader.position += 1
                skipSpaces()
                return name.lowercased()
            }
        }
        reader.position = start
        return nil
    }

    /// Returns the parameters with each name once; `nil` if a parameter has two different values.
    private static func withoutRepeats(_ parameters: [Parameter]) -> [Parameter]? {
        var kept: [Parameter] = []
        for parameter in parameters {
            guard let same = kept.first(where: { $0.name == parameter.name }) else {
                kept.append(parameter)
                continue
            }
            guard same.value.isExactly(parameter.value) else { return nil }
        }
        return kept
    }

    // MARK: Digest, as servers write it

    /// Reads a Digest challenge in any form. ``challenges()`` handles the rest of the value if the rest is unreadable.
    private mutating func readDigest(_ scheme: String, isApart: Bool) {
        let start = reader.position
        // The text is not a `token68` if it ends with a single equals sign: it may be a parameter without a value.
        if isApart, let text = token68(), text.hasOctetSuffix("==") || !text.hasOctetSuffix("=") {
            add(scheme, token68: text)
            return
        }
        reader.position = start
        skipCommas()
        if let parameters = looseParameters() {
            add(scheme, Self.joined(parameters))
            return
        }
        reader.position = start
        add(scheme)
        if let next = reader.next, next != UInt8(ascii: ",") { _ = skipToDigest() }
    }

    /// Reads parameters in any form; `nil` if there are no parameters, or if a quotation mark is not closed.
    private mutating func looseParameters() -> [Parameter]? {
        var parameters: [Parameter] = []
        while true {
            if let name = parameterName() {
                guard parameters.count < AuthenticationChallenge.countLimit, let value = looseValue() else { return nil }
                parameters.append(Parameter(name: name, value: value))
            } else if let last = parameters.last, let word = nextWord(of: last.name) {
                parameters[parameters.count - 1] = Parameter(name: last.name, value: last.value + "," + word)
            } else {
                return parameters.isEmpty ? nil : parameters
            }
            reader.skip { $0.isOptionalSpace || $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: ";") }
        }
    }

    /// Reads the next word of a list without quotation marks, as in `qop=auth,auth-int`. Returns `nil` and reads nothing if another
    /// parameter or challenge follows.
    private mutating func nextWord(of name: String) -> String? {
        let start = reader.position
        if let word = reader.token() {
            let isWord: Bool =
                switch name {  // octets: a token is ASCII
                case "qop": word.isExactlyIgnoringCase("auth") || word.isExactlyIgnoringCase("auth-int")
                case "algorithm": word.lowercased().hasOctetPrefix("md5") || word.lowercased().hasOctetPrefix("sha")
                default: false
                }
            if isWord { return word }
        }
        reader.position = start
        return nil
    }

    /// Reads a value with or without quotation marks; `nil` if a quotation mark is not closed.
    private mutating func looseValue() -> String? {
        if reader.next == UInt8(ascii: "\"") { return reader.quoted() }
        if reader.next == UInt8(ascii: "'"), let value = valueInSingleQuotes() { return value }
        let start = reader.position
        var end = start
        while true {
            reader.skip { !$0.isOptionalSpace && !Self.endsWord($0) }
            end = reader.position
            skipSpaces()
            let next = reader.position
            guard let byte = reader.next, !Self.endsWord(byte), parameterName() == nil else {
                reader.position = end
                return reader.text(start..<end)
            }
            reader.position = next
        }
    }

    private static func endsWord(_ byte: UInt8) -> Bool { ",;\"".utf8.contains(byte) }

    /// Reads a value in single quotes. Returns `nil` and reads nothing if the quote is not closed.
    private mutating func valueInSingleQuotes() -> String? {
        let start = reader.position + 1
        for index in start..<max(start, bytes.count) where bytes[index] == UInt8(ascii: "'") {
            let after = index + 1
            guard after == bytes.count || bytes[after].isOptionalSpace || Self.endsWord(bytes[after]) else { continue }
            guard !bytes[start..<index].contains(UInt8(ascii: "\"")) else { return nil }
            reader.position = after
            return reader.text(start..<index)
        }
        return nil
    }

    /// Returns the parameters with each name once. If a parameter is a list, its two values are joined. Any other parameter with two
    /// different values is left out.
    private static func joined(_ parameters: [Parameter]) -> [Parameter] {
        var kept: [Parameter] = []
        var doubtful: [String] = []
        for parameter in parameters {
            guard let index = kept.firstIndex(where: { $0.name == parameter.name }) else {
                kept.append(parameter)
                continue
            }
            if kept[index].value.isExactly(parameter.value) { continue }
            if lists.contains(parameter.name) {
                kept[index] = Parameter(name: parameter.name, value: kept[index].value + "," + parameter.value)
            } else {
                doubtful.append(parameter.name)
            }
        }
        return kept.filter { !doubtful.contains($0.name) }
    }

    // MARK: After invalid text

    /// Skips to the next word `Digest` outside quotation marks. Returns false if the word does not follow.
    private mutating func skipToDigest() -> Bool {
        while let byte = reader.next {
            if byte == UInt8(ascii: "\"") {
                guard reader.quoted() != nil else { return false }
            } else if isWordDigest(at: reader.position) {
                return true
            } else {
                reader.position += 1
            }
        }
        return false
    }

    /// Whether the word `Digest` begins at an index.
    private func isWordDigest(at index: Int) -> Bool {
        guard bytes[index].asciiLowercased == UInt8(ascii: "d"), index == 0 || !bytes[index - 1].isTokenOctet else { return false }
        let end = index + Self.digest.utf8.count
        guard end <= bytes.count, end == bytes.count || !bytes[end].isTokenOctet else { return false }
        return zip(bytes[index..<end], Self.digest.utf8).allSatisfy { $0.asciiLowercased == $1.asciiLowercased }
    }
}
