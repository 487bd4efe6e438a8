internal import ErrandCore
internal import ErrandFormats

/// Bytes with their escapes resolved, and the origin of each byte.
struct UnescapedText {
    /// A syntax of escapes.
    enum Syntax: CaseIterable {
        /// Escapes such as `%41`, in URLs and forms.
        case percent
        /// Escapes such as `\u0041` and `\/`, in JSON ([RFC 8259, section 7](https://www.rfc-editor.org/rfc/rfc8259#section-7)).
        case json

        fileprivate var escape: ByteSet { self == .percent ? Self.percentSign : Self.backslash }
        private static let percentSign = ByteSet { $0 == UInt8(ascii: "%") }
        private static let backslash = ByteSet { $0 == UInt8(ascii: "\\") }
    }

    private(set) var bytes: [UInt8]
    /// Ranges of ``bytes``: the start of each range, and its position in the original bytes.
    private var runs: [(start: Int, origin: Int)]
    private let originalCount: Int

    /// Creates a text whose bytes have no resolved escapes.
    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        runs = [(0, 0)]
        originalCount = bytes.count
    }

    private init(resolving syntax: Syntax, of text: UnescapedText, first: Int, isCut: Bool) {
        (bytes, runs, originalCount) = ([], [], text.originalCount)
        bytes.reserveCapacity(text.bytes.count)
        var (index, next, run) = (0, first, 0)
        func advanceRun(to position: Int) {
            while run + 1 < text.runs.count, text.runs[run + 1].start <= position { run += 1 }
        }
        func begin(at position: Int) {
            advanceRun(to: position)
            runs.append((bytes.count, text.runs[run].origin + position - text.runs[run].start))
        }
        while true {
            if index < next {
                begin(at: index)
                while run + 1 < text.runs.count, text.runs[run + 1].start < next {
                    run += 1
                    runs.append((bytes.count + text.runs[run].start - index, text.runs[run].origin))
                }
                bytes += text.bytes[index..<next]
            }
            guard next < text.bytes.count else { return }
            guard let (resolved, end) = Self.resolve(text.bytes, at: next, syntax) else {
                // The end of the bytes truncates this escape.
                if isCut, Self.breaksOff(text.bytes, at: next, syntax) { return }
                index = next
                next = text.bytes.firstIndex(in: syntax.escape, from: next + 1) ?? text.bytes.count
                continue
            }
            begin(at: next)
            bytes += resolved
            index = end
            next = text.bytes.firstIndex(in: syntax.escape, from: index) ?? text.bytes.count
        }
    }

    /// Returns the text with the escapes of `syntax` resolved once; `nil` if there are no escapes.
    ///
    /// - Parameter isCut: whether the bytes may end within an escape, which is then left out.
    func resolving(_ syntax: Syntax, isCut: Bool) -> UnescapedText? {
        var first = bytes.firstIndex(in: syntax.escape)
        while let index = first, Self.resolve(bytes, at: index, syntax) == nil, !(isCut && Self.breaksOff(bytes, at: index, syntax)) {
            first = bytes.firstIndex(in: syntax.escape, from: index + 1)
        }
        return first.map { UnescapedText(resolving: syntax, of: self, first: $0, isCut: isCut) }
    }

    /// Returns the original range of the bytes in `range`.
    func origin(of range: Range<Int>) -> Range<Int> {
        let lower = origin(of: range.lowerBound)
        return lower..<max(lower, origin(of: range.upperBound))
    }

    private func origin(of position: Int) -> Int {
        guard position < bytes.count else { return originalCount }
        var (low, high) = (0, runs.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if runs[middle].start <= position { low = middle } else { high = middle }
        }
        return runs[low].origin + position - runs[low].start
    }

    // MARK: - Escapes

    /// Returns the value of the escape at `start`, and its end; `nil` if the escape is invalid.
    private static func resolve(_ bytes: [UInt8], at start: Int, _ syntax: Syntax) -> ([UInt8], end: Int)? {
        guard syntax == .json else { return hex(bytes, start + 1, 2).map { ([UInt8($0)], start + 3) } }
        guard start + 1 < bytes.count else { return nil }
        switch bytes[start + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return ([bytes[start + 1]], start + 2)
        case UInt8(ascii: "n"): return ([0x0A], start + 2)
        case UInt8(ascii: "r"): return ([0x0D], start + 2)
        case UInt8(ascii: "t"): return ([0x09], start + 2)
        case UInt8(ascii: "b"): return ([0x08], start + 2)
        case UInt8(ascii: "f"): return ([0x0C], start + 2)
        default: break
        }
        guard let first = unit(bytes, start) else { return nil }
        if UTF16.isLeadSurrogate(first), let second = unit(bytes, start + 6), UTF16.isTrailSurrogate(second) {
            return (Array(String(decoding: [first, second], as: UTF16.self).utf8), start + 12)
        }
        return (Array(String(decoding: [first], as: UTF16.self).utf8), start + 6)
    }

    /// Whether an escape may continue after the end of the bytes.
    private static func breaksOff(_ bytes: [UInt8], at start: Int, _ syntax: Syntax) -> Bool {
        let rest = bytes[(start + 1)...]
        return switch syntax {
        case .percent: rest.count < 2
        case .json: rest.isEmpty || (rest.first == UInt8(ascii: "u") && rest.count < 5)
        }
    }

    private static func unit(_ bytes: [UInt8], _ start: Int) -> UInt16? {
        guard start + 6 <= bytes.count, bytes[start] == UInt8(ascii: "\\"), bytes[start + 1] == UInt8(ascii: "u") else { return nil }
        return hex(bytes, start + 2, 4).map { UInt16($0) }
    }

    private static func hex(_ bytes: [UInt8], _ start: Int, _ count: Int) -> UInt32? {
        guard start + count <= bytes.count else { return nil }
        var value: UInt32 = 0
        for index in start..<(start + count) {
            guard let digit = bytes[index].hexValue else { return nil }
            value = value << 4 | UInt32(digit)
        }
        return value
    }
}
