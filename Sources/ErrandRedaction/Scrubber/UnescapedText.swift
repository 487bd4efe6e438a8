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
                // If the end of the bytes truncates this escape, the escape is left out.
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
    /// - Parameter isCut: whether the bytes may end within an escape. An incomplete escape is left out.
    func resolving(_ syntax: Syntax, isCut: Bool) -> UnescapedText? {
        var first = bytes.firstIndex(in: syntax.escape)
        while let index = first, Self.resolve(bytes, at: index, syntax) == nil, !(isCut && Self.breaksOff(bytes, at: index, syntax)) {
            first = bytes.firstIndex(in: syntax.escape, from: index + 1)
        }
        return first.map { UnescapedText(resolving: syntax, of: self, first: $0, isCut: isCut) }
    }

    /// Returns the range of the original bytes from which the bytes in `range` come.
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
        guard syntax == .percent else {
            return bytes.withUnsafeBufferPointer { JSONEscape(in: $0, at: start) }.map { (Array($0.octets), $0.end) }
        }
        guard start + 2 < bytes.count, let high = bytes[start + 1].hexValue, let low = bytes[start + 2].hexValue else { return nil }
        return ([high << 4 | low], start + 3)
    }

    /// Whether an escape may continue after the end of the bytes.
    private static func breaksOff(_ bytes: [UInt8], at start: Int, _ syntax: Syntax) -> Bool {
        let rest = bytes[(start + 1)...]
        return switch syntax {
        case .percent: rest.count < 2
        case .json: rest.isEmpty || (rest.first == UInt8(ascii: "u") && rest.count < 5)
        }
    }
}
