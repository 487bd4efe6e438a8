internal import ErrandCore
internal import ErrandFormats

/// Replaces secrets in texts, however they are written (``SecretPattern``). Thousands of them cost little more than one.
struct SecretScrubber {
    /// So many bytes of each secret are looked up at once.
    private static let keyBytes = 8

    private let patterns: [(pattern: SecretPattern, replacement: [UInt8])]
    /// The patterns by the first bytes of each of their spellings.
    private let byKey: [UInt64: [Int]]
    /// Whether a key ends so.
    private let keyEnds: [Bool]
    /// Those that no key finds for certain: too short, or with a character at the front that escapes are made of.
    private let unkeyed: [Int]

    init(_ secrets: some Sequence<String>) {
        patterns = secrets.sorted { ($1.utf8.count, $0) < ($0.utf8.count, $1) }.map { secret in
            // A number stays one, so that JSON stays JSON.
            let isNumber = secret.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            return (SecretPattern(secret), isNumber ? [UInt8(ascii: "0")] : Array(BodyRedaction.placeholder.utf8))
        }
        var (byKey, unkeyed) = ([UInt64: [Int]](), [Int]())
        var keyEnds = [Bool](repeating: false, count: 1 << 16)
        for (index, (pattern, _)) in patterns.enumerated() {
            let fronts = pattern.beginnings.map { $0.prefix(Self.keyBytes) }
            guard fronts.allSatisfy({ $0.count == Self.keyBytes && !$0.contains { $0 < 0x20 || "%\\".utf8.contains($0) } }) else {
                unkeyed.append(index)
                continue
            }
            for key in Set(fronts.map { $0.reduce(0) { $0 << 8 | UInt64($1) } }) {
                byKey[key, default: []].append(index)
                keyEnds[Int(key & 0xFFFF)] = true
            }
        }
        (self.byKey, self.unkeyed, self.keyEnds) = (byKey, unkeyed, keyEnds)
    }

    /// `text` without the secrets.
    func scrubbed(_ text: String) -> String {
        let bytes = Array(text.utf8)
        let edits = edits(in: bytes)
        return edits.isEmpty ? text : String(decoding: edits.applied(to: bytes), as: UTF8.self)
    }

    /// - Parameter isCut: `bytes` may end within a secret.
    func edits(in bytes: [UInt8], isCut: Bool = false) -> [ByteEdit] {
        var found: [ByteEdit] = []
        func add(_ index: Int, _ ranges: [Range<Int>]) { found += ranges.map { ByteEdit($0, patterns[index].replacement) } }
        if isCut {
            for index in patterns.indices { add(index, patterns[index].pattern.cutRange(in: bytes).map { [$0] } ?? []) }
        }
        if patterns.count * bytes.count <= 1 << 12 {
            for index in patterns.indices { add(index, patterns[index].pattern.ranges(in: bytes)) }
        } else {
            for index in unkeyed { add(index, patterns[index].pattern.ranges(in: bytes)) }
            if !byKey.isEmpty {
                for (start, index) in candidates(in: bytes) {
                    if let range = patterns[index].pattern.range(in: bytes, from: start) { add(index, [range]) }
                }
            }
        }
        // Where two overlap, both go: a part that sticks out must not stay.
        return found.sorted { $0.range.lowerBound < $1.range.lowerBound }.reduce(into: []) { edits, edit in
            if let last = edits.last, edit.range.lowerBound < last.range.upperBound {
                let whole = last.range.lowerBound..<max(last.range.upperBound, edit.range.upperBound)
                edits[edits.count - 1] = ByteEdit(whole, last.replacement)
            } else {
                edits.append(edit)
            }
        }
    }

    /// Whether a secret is in `bytes`.
    func finds(in bytes: [UInt8]) -> Bool { !edits(in: bytes).isEmpty }

    /// Where a secret may begin, and which.
    private func candidates(in bytes: [UInt8]) -> [(start: Int, index: Int)] {
        var found = candidates(in: bytes, origin: { $0 })
        if let escaped = UnescapedBytes(bytes) { found += candidates(in: escaped.text, origin: escaped.origin(of:)) }
        return found
    }

    private func candidates(in text: [UInt8], origin: (Int) -> Int) -> [(start: Int, index: Int)] {
        var found: [(start: Int, index: Int)] = []
        // By pointers, as tests run without optimization, and bodies may be long.
        text.withUnsafeBufferPointer { text in
            keyEnds.withUnsafeBufferPointer { keyEnds in
                var (position, last) = (0, 0)
                while position < text.count {
                    last = (last & 0xFF) << 8 | Int(text[position])
                    if keyEnds[last], position >= Self.keyBytes - 1 {
                        let start = position - Self.keyBytes + 1
                        let key = text[start...position].reduce(0) { $0 << 8 | UInt64($1) }
                        for index in byKey[key] ?? [] { found.append((origin(start), index)) }
                    }
                    position += 1
                }
            }
        }
        return found
    }
}

/// Bytes with escapes of URLs (also twice) and of JSON (also several times) resolved.
private struct UnescapedBytes {
    private(set) var text: [UInt8] = []
    /// From where in the text on each byte has its origin so far from where it is.
    private var runs: [(start: Int, origin: Int)] = []

    private static let escapes = ByteSet { "%\\".utf8.contains($0) }

    /// Nil where there are no escapes.
    init?(_ bytes: [UInt8]) {
        guard var next = bytes.firstIndex(in: Self.escapes) else { return nil }
        var index = 0
        while true {
            runs.append((text.count, index))
            text += bytes[index..<next]
            index = next
            guard index < bytes.count else { return }
            if text.count > runs[runs.count - 1].start { runs.append((text.count, index)) }
            let (resolved, end) = Self.resolve(bytes, at: index)
            text += resolved
            index = end
            next = bytes.firstIndex(in: Self.escapes, from: index) ?? bytes.count
        }
    }

    /// Where the byte at `position` of the text begins. Of several that stand for one escape, where that begins.
    func origin(of position: Int) -> Int {
        var (low, high) = (0, runs.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if runs[middle].start <= position { low = middle } else { high = middle }
        }
        return runs[low].origin + position - runs[low].start
    }

    /// What the escape at `start` stands for, and where it ends.
    private static func resolve(_ bytes: [UInt8], at start: Int) -> ([UInt8], end: Int) {
        func hex(_ start: Int, _ count: Int) -> UInt32? {
            guard start + count <= bytes.count else { return nil }
            return bytes[start..<(start + count)].reduce(0 as UInt32?) { value, byte in
                value.flatMap { value in PercentEncoding.hexValue(byte).map { value << 4 | UInt32($0) } }
            }
        }
        func unit(_ start: Int) -> UInt16? {
            guard start < bytes.count, bytes[start] == UInt8(ascii: "u") else { return nil }
            return hex(start + 1, 4).map { UInt16($0) }
        }
        func behindBackslashes(_ start: Int) -> Int {
            var end = start
            while end < bytes.count, bytes[end] == UInt8(ascii: "\\") { end += 1 }
            return end
        }
        if bytes[start] == UInt8(ascii: "%") {
            if hex(start + 1, 2) == 0x25, let byte = hex(start + 3, 2) { return ([UInt8(byte)], start + 5) }
            if let byte = hex(start + 1, 2) { return ([UInt8(byte)], start + 3) }
            return ([bytes[start]], start + 1)
        }
        let end = behindBackslashes(start)
        if let first = unit(end) {
            let next = behindBackslashes(end + 5)
            if UTF16.isLeadSurrogate(first), let second = unit(next) {
                return (Array(String(decoding: [first, second], as: UTF16.self).utf8), next + 5)
            }
            return (Array(String(decoding: [first], as: UTF16.self).utf8), end + 5)
        }
        if end < bytes.count, "\"/".utf8.contains(bytes[end]) { return ([bytes[end]], end + 1) }
        return ([bytes[start]], start + 1)
    }
}

/// Some of the 256 bytes.
struct ByteSet: Sendable {
    fileprivate let members: [Bool]

    init(_ isMember: (UInt8) -> Bool) { members = (UInt8.min...UInt8.max).map(isMember) }
}

extension [UInt8] {
    /// The first byte from `start` on that is in `set`. Quick without optimization, too.
    func firstIndex(in set: ByteSet, from start: Int = 0) -> Int? {
        withUnsafeBufferPointer { bytes in
            set.members.withUnsafeBufferPointer { members in
                var index = start
                while index < bytes.count {
                    if members[Int(bytes[index])] { return index }
                    index += 1
                }
                return nil
            }
        }
    }
}
