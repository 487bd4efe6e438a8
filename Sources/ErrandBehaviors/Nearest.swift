/// Returns the first of the `candidates` with the smallest Levenshtein distance to `name`, ignoring case; `nil` if there are no
/// candidates.
func nearest(to name: String, among candidates: [String]) -> String? {
    let letters = Array(name.lowercased())
    return candidates.map { ($0, changes(from: letters, to: Array($0.lowercased()))) }.min { $0.1 < $1.1 }?.0
}

/// Returns the number of letters to insert, remove or replace: the Levenshtein distance.
private func changes(from first: [Character], to second: [Character]) -> Int {
    var row = Array(0...second.count)
    for (i, letter) in first.enumerated() {
        var diagonal = row[0]
        row[0] = i + 1
        for (j, other) in second.enumerated() {
            let replaced = diagonal + (letter == other ? 0 : 1)
            diagonal = row[j + 1]
            row[j + 1] = min(replaced, row[j] + 1, diagonal + 1)
        }
    }
    return row[second.count]
}
