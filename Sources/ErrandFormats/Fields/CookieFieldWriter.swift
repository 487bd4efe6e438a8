/// Writes the value of a `Cookie` field
/// ([RFC 6265bis, section 5.8.3](https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis#section-5.8.3)): `a=1; b=2`.
package struct CookieFieldWriter: Sendable {
    /// The largest number of octets of the value.
    private let limitBytes: Int
    /// The value so far.
    package private(set) var octets: [UInt8] = []
    /// The number of written pairs.
    package private(set) var count = 0

    /// Creates a writer that has no pair yet.
    ///
    /// - Parameters:
    ///   - limitBytes: the largest number of octets of the value.
    ///   - expectedBytes: the number of octets for which memory is reserved.
    package init(limitBytes: Int, expectedBytes: Int = 0) {
        self.limitBytes = limitBytes
        octets.reserveCapacity(min(limitBytes, expectedBytes))
    }

    /// The number of octets that a pair needs, with the separator before the pair.
    package static func bytes(of name: String, _ value: String) -> Int { name.utf8.count + value.utf8.count + 3 }

    /// Adds a pair. A pair without a name is only the value. Returns false and adds nothing if the value would have too many octets.
    ///
    /// - Parameters:
    ///   - name: the name, without semicolons and equals signs.
    ///   - value: the value, without semicolons.
    package mutating func append(_ name: String, _ value: String) -> Bool {
        let separatorBytes = count == 0 ? 0 : 2
        let pairBytes = name.utf8.count + value.utf8.count + (name.isEmpty ? 0 : 1)
        guard octets.count + separatorBytes + pairBytes <= limitBytes else { return false }
        if count > 0 { octets += [UInt8(ascii: ";"), 0x20] }
        if !name.isEmpty {
            octets += name.utf8
            octets.append(UInt8(ascii: "="))
        }
        octets += value.utf8
        count += 1
        return true
    }
}
