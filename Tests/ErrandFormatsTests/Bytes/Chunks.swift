extension [UInt8] {
    /// The bytes in pieces of `count`; the last may be shorter.
    func chunks(of count: Int) -> [ArraySlice<UInt8>] {
        guard count < self.count else { return [self[...]] }
        return stride(from: 0, to: self.count, by: count).map { self[$0..<Swift.min($0 + count, self.count)] }
    }

    /// Ways to divide the bytes: every split into two pieces if there are fewer than 200, otherwise 200 random ones; pieces of 1,
    /// 2, 3 and 7 bytes; and random pieces.
    func divisions(_ random: inout some RandomNumberGenerator) -> [[ArraySlice<UInt8>]] {
        let splits = count < 200 ? Array<Int>(0...count) : (0..<200).map { _ in Int.random(in: 0...count, using: &random) }
        var divisions = splits.map { [self[..<$0], self[$0...]] } + [1, 2, 3, 7].map { chunks(of: $0) }
        for _ in 0..<20 {
            var pieces: [ArraySlice<UInt8>] = []
            var start = 0
            while start < count {
                let end = Int.random(in: start...Swift.min(count, start + 20), using: &random)
                pieces.append(self[start..<end])
                start = end
            }
            divisions.append(pieces)
        }
        return divisions
    }
}
