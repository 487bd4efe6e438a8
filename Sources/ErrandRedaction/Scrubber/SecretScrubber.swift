internal import ErrandCore
package import ErrandFormats

/// Replaces secrets in texts. These encodings of a secret are found:
///
/// - plain
/// - percent-encoded, once or several times
/// - form-encoded
/// - with the escapes of JSON, once or several times
/// - within base64, in both alphabets, at any alignment
///
/// The search takes linear time, independent of the number of secrets. Three levels of nested escapes are resolved.
package struct SecretScrubber {
    /// The number of bytes at the beginning of each secret that are compared in one step.
    private static let keyBytes = 8
    /// The minimum length of an incomplete secret that is found at the end of truncated bytes.
    private static let shortestFront = 6
    /// The minimum length of a secret that is searched in base64. A shorter secret would be found by chance in any long base64
    /// text.
    private static let shortestInBase64 = 5
    private static let deepestEscapes = 3

    private let replacements: [[UInt8]]
    private let automaton: SecretAutomaton
    private let keys: KeySet
    private let base64Keys: KeySet
    /// Whether a secret has fewer than ``keyBytes`` bytes.
    private let hasShort: Bool
    private let hasShortInBase64: Bool

    package init(_ secrets: some Sequence<String>) {
        // Secrets are compared by octets. Two secrets that are the same text in different normal forms are different secrets.
        let secrets = Set(secrets.map(OctetKey.init)).map(\.text).filter { !$0.isEmpty }.sorted { one, other in
            let (count, otherCount) = (one.utf8.count, other.utf8.count)
            return count == otherCount ? one.utf8.lexicographicallyPrecedes(other.utf8) : count > otherCount
        }
        replacements = secrets.map { secret in
            // A number is replaced by a number, so that JSON stays valid.
            let isNumber = secret.utf8.allSatisfy(\.isASCIIDigit)
            return isNumber ? [UInt8(ascii: "0")] : Array(Sensitivity.urlPlaceholder.utf8)
        }
        automaton = SecretAutomaton(secrets.map { Array($0.utf8) })
        hasShort = secrets.contains { $0.utf8.count < Self.keyBytes }
        keys = KeySet(secrets.map { $0.utf8.prefix(Self.keyBytes).map(SecretAutomaton.folded) }.filter { $0.count == Self.keyBytes })
        let cores = secrets.flatMap { secret in (0..<3).map { Self.core(of: Array(secret.utf8.prefix(12)), after: $0) } }
        base64Keys = KeySet(cores.filter { $0.count >= Self.keyBytes }.map { Array($0.prefix(Self.keyBytes)) })
        hasShortInBase64 = secrets.contains { (Self.shortestInBase64...6).contains($0.utf8.count) }
    }

    /// Returns `text` without the secrets.
    package func scrubbed(_ text: String) -> String {
        let bytes = Array(text.utf8)
        let edits = edits(in: bytes)
        return edits.isEmpty ? text : String(decoding: edits.applied(to: bytes), as: UTF8.self)
    }

    /// Returns the replacements in `bytes`.
    ///
    /// - Parameter isCut: whether `bytes` may end within a secret.
    package func edits(in bytes: [UInt8], isCut: Bool = false) -> [ByteEdit] {
        var steps = 0
        return edits(in: bytes, isCut: isCut, steps: &steps)
    }

    /// - Parameter steps: the counter that grows by one for each byte that is examined, and for each transition of the
    ///   automaton.
    func edits(in bytes: [UInt8], isCut: Bool, steps: inout Int) -> [ByteEdit] {
        guard !replacements.isEmpty, !bytes.isEmpty else { return [] }
        var found: [ByteEdit] = []
        search(UnescapedText(bytes), depth: 0, isCut: isCut, steps: &steps) { range, index in
            found.append(ByteEdit(range, index < 0 ? Array(Sensitivity.urlPlaceholder.utf8) : replacements[index]))
        }
        // Overlapping secrets are merged, so that no part of a secret stays.
        return found.sorted { $0.range.lowerBound < $1.range.lowerBound }.reduce(into: []) { edits, edit in
            if let last = edits.last, edit.range.lowerBound < last.range.upperBound {
                let whole = last.range.lowerBound..<max(last.range.upperBound, edit.range.upperBound)
                edits[edits.count - 1] = ByteEdit(whole, last.replacement)
            } else {
                edits.append(edit)
            }
        }
    }

    /// Whether `bytes` contain a secret.
    package func finds(in bytes: [UInt8]) -> Bool { !edits(in: bytes).isEmpty }

    // MARK: - One text

    /// Searches `text` twice: as written, and with its escapes resolved.
    private func search(_ text: UnescapedText, depth: Int, isCut: Bool, steps: inout Int, found: (Range<Int>, Int) -> Void) {
        let bytes = text.bytes
        let candidates = candidates(in: bytes, steps: &steps)
        var start = hasShort ? 0 : candidates.first
        if isCut { start = min(start ?? .max, max(0, bytes.count - automaton.longest)) }
        if let start {
            for match in automaton.matches(in: bytes, from: start, cut: isCut ? Self.shortestFront : nil, steps: &steps) {
                found(text.origin(of: match.range), match.index)
            }
        }
        for run in candidates.runs(in: bytes, all: hasShortInBase64, isCut: isCut, steps: &steps) {
            searchBase64(bytes, run, isCut: isCut && run.upperBound == bytes.count, steps: &steps) { found(text.origin(of: $0), $1) }
        }
        guard depth < Self.deepestEscapes else { return }
        for syntax in UnescapedText.Syntax.allCases {
            steps += bytes.count
            guard let unescaped = text.resolving(syntax, isCut: isCut) else { continue }
            search(unescaped, depth: depth + 1, isCut: isCut, steps: &steps, found: found)
        }
    }

    /// Searches the decoded text of `run`, at each alignment. If a secret is found, the whole run is replaced, because the rest could not
    /// be decoded. If characters may belong to an escape before the run, these characters are kept.
    private func searchBase64(_ bytes: [UInt8], _ run: Range<Int>, isCut: Bool, steps: inout Int, found: (Range<Int>, Int) -> Void) {
        for offset in 0..<4 where run.count >= offset + Self.shortestInBase64 {
            let decoded = Base64.decode(digits: bytes[(run.lowerBound + offset)..<run.upperBound])
            steps += run.count
            let matches = automaton.matches(
                in: decoded, shortest: Self.shortestInBase64, cut: isCut ? Self.shortestFront : nil, steps: &steps)
            guard let first = matches.first else { continue }
            var end = run.upperBound
            while end < bytes.count, bytes[end] == UInt8(ascii: "=") { end += 1 }
            return found(min(run.lowerBound + Self.escapeCount(bytes, before: run), run.upperBound)..<end, first.index)
        }
    }

    /// Returns the number of characters at the beginning of `run` that may belong to an escape before it: `\n`, `\u0041`, `%41`.
    private static func escapeCount(_ bytes: [UInt8], before run: Range<Int>) -> Int {
        switch run.lowerBound > 0 ? bytes[run.lowerBound - 1] : 0 {
        case UInt8(ascii: "%"): 2
        case UInt8(ascii: "\\"): bytes[run.lowerBound] == UInt8(ascii: "u") ? 5 : 1
        default: 0
        }
    }

    /// Returns the base64 characters, in the standard alphabet, that depend only on `secret`. The secret comes after `offset` other bytes.
    private static func core(of secret: [UInt8], after offset: Int) -> [UInt8] {
        let whole = Data([UInt8](repeating: 0, count: offset) + secret).base64EncodedString().utf8
        return Array(Array(whole).prefix((offset + secret.count) * 8 / 6).dropFirst((offset * 8 + 5) / 6))
    }

    // MARK: - Places of the search

    private struct Candidates {
        /// The first position at which a secret may begin; `nil` if there is no such position.
        var first: Int?
        /// The positions at which secrets in base64 may begin, in order.
        var base64: [Int] = []

        /// Returns the runs of base64 around the positions in ``base64``, or all runs.
        func runs(in bytes: [UInt8], all: Bool, isCut: Bool, steps: inout Int) -> [Range<Int>] {
            var runs: [Range<Int>] = []
            func add(around position: Int) {
                let done = runs.last?.upperBound ?? 0
                guard position >= done else { return }
                var (start, end) = (position, position)
                while start > done, Base64.value(bytes[start - 1]) != nil { start -= 1 }
                while end < bytes.count, Base64.value(bytes[end]) != nil { end += 1 }
                steps += end - start
                if end > start { runs.append(start..<end) }
            }
            if all {
                var position = 0
                while position < bytes.count {
                    steps += 1
                    add(around: position)
                    position = max(position + 1, runs.last?.upperBound ?? 0)
                }
            } else {
                for position in base64 { add(around: position) }
                if isCut, let last = bytes.indices.last, Base64.value(bytes[last]) != nil { add(around: last) }
            }
            return runs
        }
    }

    private func candidates(in bytes: [UInt8], steps: inout Int) -> Candidates {
        var found = Candidates()
        steps += bytes.count
        // The search uses pointers, because tests run without optimization, and bodies may be long.
        bytes.withUnsafeBufferPointer { bytes in
            keys.search(bytes, folding: SecretAutomaton.folded) { start in
                found.first = start
                return false
            }
            base64Keys.search(bytes, folding: Base64.folded) { start in
                found.base64.append(start)
                return true
            }
        }
        return found
    }
}

extension SecretScrubber: CustomStringConvertible, CustomReflectable {
    /// The number of secrets. The secrets are not shown.
    package var description: String { replacements.count.counted("secret") }
    package var customMirror: Mirror { Mirror(self, children: ["count": replacements.count]) }
}

/// The first eight bytes of many texts.
private struct KeySet: Sendable {
    private let keys: Set<UInt64>
    /// Whether a key ends with these two bytes.
    private let endings: [Bool]

    init(_ texts: [[UInt8]]) {
        keys = Set(texts.map { $0.reduce(0) { $0 << 8 | UInt64($1) } })
        var endings = [Bool](repeating: false, count: keys.isEmpty ? 0 : 1 << 16)
        for key in keys { endings[Int(key & 0xFFFF)] = true }
        self.endings = endings
    }

    /// Calls `found` with each position of a key in the folded bytes, in order, until `found` returns false.
    func search(_ bytes: UnsafeBufferPointer<UInt8>, folding: (UInt8) -> UInt8, found: (Int) -> Bool) {
        guard !keys.isEmpty else { return }
        endings.withUnsafeBufferPointer { endings in
            var (position, key) = (0, UInt64(0))
            while position < bytes.count {
                key = key << 8 | UInt64(folding(bytes[position]))
                position += 1
                if endings[Int(key & 0xFFFF)], position >= 8, keys.contains(key), !found(position - 8) { return }
            }
        }
    }
}

extension Base64 {
    /// Converts a digit of the alphabet for URLs to the same digit of the standard alphabet. Any other byte is returned unchanged.
    fileprivate static func folded(_ byte: UInt8) -> UInt8 {
        byte == UInt8(ascii: "-") ? UInt8(ascii: "+") : byte == UInt8(ascii: "_") ? UInt8(ascii: "/") : byte
    }
}
