/// The number of changes between two words. The package of the command has a link to this file.
enum EditDistance {
    /// Returns the number of octets to insert, remove, replace or swap with their neighbor.
    static func between(_ first: String, _ second: String) -> Int {
        let (a, b) = (Array(first.utf8), Array(second.utf8))
        var beforeLast: [Int] = []
        var last = Array(0...b.count)
        for i in 0..<a.count {
            var row = [i + 1]
            for j in 0..<b.count {
                var cost = min(row[j] + 1, last[j + 1] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { cost = min(cost, beforeLast[j - 1] + 1) }
                row.append(cost)
            }
            (beforeLast, last) = (last, row)
        }
        return last[b.count]
    }

    /// Returns the candidates with the fewest changes from `word`, ignoring case, and the number of changes. Empty without candidates.
    static func nearest(to word: String, among candidates: [String]) -> (candidates: [String], changes: Int) {
        let word = word.lowercased()
        let distances = candidates.map { ($0, between(word, $0.lowercased())) }
        let least = distances.map(\.1).min() ?? .max
        return (distances.filter { $0.1 == least }.map(\.0), least)
    }
}
