/// A path with placeholders for values: `/users/{id}`, `/files/**`.
package struct PathPattern: Sendable {
    private let segments: [String]

    package init(_ text: String) { segments = text.split(atOctet: UInt8(ascii: "/"), omittingEmptyPieces: false).map(String.init) }

    /// Returns the segment at each `{name}`, as written in `path`; `nil` if `path` does not match.
    package func values(in path: String) -> [String: String]? {
        let found = path.split(atOctet: UInt8(ascii: "/"), omittingEmptyPieces: false).map(String.init)
        var values: [String: String] = [:]
        for (index, wanted) in segments.enumerated() {
            if wanted.isExactly("**"), index == segments.count - 1 { return index <= found.count ? values : nil }
            guard index < found.count else { return nil }
            if wanted.hasOctetPrefix("{"), wanted.hasOctetSuffix("}"), !found[index].isEmpty {
                values[String(Substring(wanted.utf8.dropFirst().dropLast()))] = found[index]
            } else if !wanted.isExactly(found[index]) {
                return nil
            }
        }
        return segments.count == found.count ? values : nil
    }
}
