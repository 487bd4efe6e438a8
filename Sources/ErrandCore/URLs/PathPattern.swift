/// A path with placeholders for values: `/users/{id}`, `/files/**`.
package struct PathPattern: Sendable {
    private let segments: [String]

    package init(_ text: String) { segments = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init) }

    /// The segment at each `{name}`, as it stands in `path`; `nil` if `path` does not match.
    package func values(in path: String) -> [String: String]? {
        let found = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        var values: [String: String] = [:]
        for (index, wanted) in segments.enumerated() {
            if wanted == "**", index == segments.count - 1 { return index <= found.count ? values : nil }
            guard index < found.count else { return nil }
            if wanted.hasPrefix("{"), wanted.hasSuffix("}"), !found[index].isEmpty {
                values[String(wanted.dropFirst().dropLast())] = found[index]
            } else if wanted != found[index] {
                return nil
            }
        }
        return segments.count == found.count ? values : nil
    }
}
