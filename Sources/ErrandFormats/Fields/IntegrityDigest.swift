/// A digest of a body, from a `Content-Digest` or a `Repr-Digest` field ([RFC 9530](https://www.rfc-editor.org/rfc/rfc9530)).
package struct IntegrityDigest: Sendable, Hashable, Codable, CustomStringConvertible {
    /// An algorithm that is safe against attacks ([RFC 9530, section 7.2](https://www.rfc-editor.org/rfc/rfc9530#section-7.2)).
    package enum Algorithm: String, Sendable, Hashable, Codable, CaseIterable {
        case sha256 = "sha-256"
        case sha512 = "sha-512"

        /// The number of octets of a digest.
        package var octetCount: Int {
            switch self {
            case .sha256: 32
            case .sha512: 64
            }
        }
    }

    package let algorithm: Algorithm
    /// The octets of the digest.
    package let octets: [UInt8]

    /// Creates a digest. Returns `nil` if the number of octets is wrong for the algorithm.
    package init?(_ algorithm: Algorithm, octets: [UInt8]) {
        guard octets.count == algorithm.octetCount else { return nil }
        (self.algorithm, self.octets) = (algorithm, octets)
    }

    /// Reads a field's value.
    ///
    /// - Returns: the digest by the strongest known algorithm for which the value has a byte sequence. All other members are ignored.
    ///   `nil` in these cases:
    ///   - The value is not a dictionary, or is longer than 8 KiB.
    ///   - The value has no byte sequence for a known algorithm.
    ///   - The chosen digest has the wrong number of octets. A weaker digest does not replace this digest.
    package init?(strongestIn text: some StringProtocol) {
        guard text.utf8.count <= FieldLimits.valueBytes, let members = try? StructuredDictionary(parsing: text) else { return nil }
        for algorithm in Algorithm.allCases.reversed() {
            guard let octets = members[algorithm.rawValue]?.item?.value.byteSequenceValue else { continue }
            self.init(algorithm, octets: octets)
            return
        }
        return nil
    }

    /// The value of a `Want-Repr-Digest` field that asks for the known algorithms, and prefers SHA-512
    /// ([RFC 9530, section 4](https://www.rfc-editor.org/rfc/rfc9530#section-4)).
    package static let wanted = "sha-256=5, sha-512=10"

    /// The algorithm and the octets in hexadecimal digits: `sha-256 9f86d0…`.
    package var description: String { "\(algorithm.rawValue) \(hex(octets))" }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let algorithm = try container.decode(Algorithm.self, forKey: .algorithm)
        let octets = try container.decode([UInt8].self, forKey: .octets)
        guard let digest = IntegrityDigest(algorithm, octets: octets) else {
            throw DecodingError.dataCorruptedError(forKey: .octets, in: container, debugDescription: "wrong number of octets")
        }
        self = digest
    }

    private enum CodingKeys: String, CodingKey { case algorithm, octets }
}
