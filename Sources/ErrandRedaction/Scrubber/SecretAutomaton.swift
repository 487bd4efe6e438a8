/// Finds many texts in one pass over the bytes (Aho and Corasick, 1975). The search takes linear time, independent of the number and the
/// similarity of the texts. A plus matches a space, as in a form.
struct SecretAutomaton: Sendable {
    /// The position of a text that was found, and the index of this text.
    struct Match {
        var range: Range<Int>
        var index: Int
    }

    /// The next state, by state and byte.
    private var edges: [UInt64: Int32] = [:]
    /// The state of the longest suffix that is also a prefix of a text.
    private var fallbacks: [Int32] = [0]
    /// The number of bytes that lead to a state.
    private var depths: [Int32] = [0]
    /// The longest text that ends in a state; -1 if no text ends in this state.
    private var endings: [Int32] = [-1]
    private let counts: [Int]

    /// The length of the longest text.
    var longest: Int { counts.max() ?? 0 }

    init(_ texts: [[UInt8]]) {
        counts = texts.map(\.count)
        var parents: [(state: Int32, byte: UInt8)] = [(0, 0)]
        for (index, text) in texts.enumerated() where !text.isEmpty {
            var state: Int32 = 0
            for byte in text.lazy.map(Self.folded) {
                let key = Self.key(state, byte)
                if let next = edges[key] {
                    state = next
                } else {
                    parents.append((state, byte))
                    depths.append(depths[Int(state)] + 1)
                    endings.append(-1)
                    state = Int32(parents.count - 1)
                    edges[key] = state
                }
            }
            if endings[Int(state)] < 0 { endings[Int(state)] = Int32(index) }
        }
        fallbacks = [Int32](repeating: 0, count: parents.count)
        // Shorter prefixes come first, because the fallback of a state depends on the fallbacks of shorter prefixes.
        var byDepth = [[Int32]](repeating: [], count: longest + 1)
        for state in parents.indices { byDepth[Int(depths[state])].append(Int32(state)) }
        for state in byDepth.dropFirst().joined() {
            let (parent, byte) = parents[Int(state)]
            if parent != 0 {
                var steps = 0
                fallbacks[Int(state)] = next(after: fallbacks[Int(parent)], byte, steps: &steps)
            }
            if endings[Int(state)] < 0 { endings[Int(state)] = endings[Int(fallbacks[Int(state)])] }
        }
    }

    static func folded(_ byte: UInt8) -> UInt8 { byte == UInt8(ascii: "+") ? 0x20 : byte }

    private static func key(_ state: Int32, _ byte: UInt8) -> UInt64 { UInt64(state) << 8 | UInt64(byte) }

    private func next(after state: Int32, _ byte: UInt8, steps: inout Int) -> Int32 {
        var state = state
        while true {
            steps += 1
            if let next = edges[Self.key(state, byte)] { return next }
            if state == 0 { return 0 }
            state = fallbacks[Int(state)]
        }
    }

    /// Returns the positions of texts in `bytes`, in order. Overlapping matches are merged.
    ///
    /// - Parameters:
    ///   - bytes: the bytes to search.
    ///   - start: the index at which the search begins.
    ///   - shortest: the length of the shortest text to find.
    ///   - cut: the minimum length of an incomplete text at the end of truncated `bytes`; `nil` if `bytes` were not truncated.
    ///   - steps: the counter that grows by one for each transition.
    func matches(in bytes: [UInt8], from start: Int = 0, shortest: Int = 1, cut: Int? = nil, steps: inout Int) -> [Match] {
        var found: [Match] = []
        func add(_ range: Range<Int>, _ index: Int) {
            var match = Match(range: range, index: index)
            while let last = found.last, last.range.upperBound > match.range.lowerBound {
                // The first match determines the index.
                if last.range.lowerBound < match.range.lowerBound { match.index = last.index }
                match.range = min(last.range.lowerBound, match.range.lowerBound)..<match.range.upperBound
                found.removeLast()
            }
            found.append(match)
        }
        // The search uses pointers, because tests run without optimization, and bodies may be long.
        let state = bytes.withUnsafeBufferPointer { bytes in
            var state: Int32 = 0
            var position = start
            while position < bytes.count {
                state = next(after: state, Self.folded(bytes[position]), steps: &steps)
                position += 1
                let ending = endings[Int(state)]
                if ending >= 0, counts[Int(ending)] >= shortest { add((position - counts[Int(ending)])..<position, Int(ending)) }
            }
            return state
        }
        if let cut, depths[Int(state)] >= cut {
            // The continuation of the text is unknown. Therefore the index may be the index of any text with this beginning.
            add((bytes.count - Int(depths[Int(state)]))..<bytes.count, endings[Int(state)] >= 0 ? Int(endings[Int(state)]) : -1)
        }
        return found
    }
}
