#if Crypto
internal import Crypto

/// A hash of octets that are added piece by piece.
///
/// ```swift
/// var hash = OctetHash(.sha256)
/// while let piece = try await source.next() { hash.update(piece) }
/// let octets = hash.finalized()
/// ```
package struct OctetHash: Sendable {
    package enum Algorithm: Sendable, Hashable, CaseIterable {
        /// SHA-1 ([FIPS 180-4](https://nvlpubs.nist.gov/nistpubs/FIPS/NIST.FIPS.180-4.pdf)): 20 octets. SHA-1 is broken. Use SHA-1
        /// only if a protocol requires it, as the handshake of WebSocket does ([RFC 6455, section
        /// 4.2.2](https://www.rfc-editor.org/rfc/rfc6455#section-4.2.2)).
        case sha1
        /// SHA-256: 32 octets.
        case sha256
        /// SHA-512: 64 octets.
        case sha512
    }

    private enum State: Sendable {
        case sha1(Insecure.SHA1)
        case sha256(SHA256)
        case sha512(SHA512)
    }

    private var state: State

    /// Creates a hash to which no octets have been added.
    package init(_ algorithm: Algorithm) {
        state =
            switch algorithm {
            case .sha1: .sha1(Insecure.SHA1())
            case .sha256: .sha256(SHA256())
            case .sha512: .sha512(SHA512())
            }
    }

    /// Adds octets to the hash.
    package mutating func update(_ octets: some Sequence<UInt8>) {
        if octets.withContiguousStorageIfAvailable({ update(UnsafeRawBufferPointer($0)) }) == nil {
            Array(octets).withUnsafeBytes { update($0) }
        }
    }

    private mutating func update(_ octets: UnsafeRawBufferPointer) {
        switch state {
        case .sha1(var hash):
            hash.update(bufferPointer: octets)
            state = .sha1(hash)
        case .sha256(var hash):
            hash.update(bufferPointer: octets)
            state = .sha256(hash)
        case .sha512(var hash):
            hash.update(bufferPointer: octets)
            state = .sha512(hash)
        }
    }

    /// Returns the hash of the octets added so far. More octets can be added afterwards.
    package func finalized() -> [UInt8] {
        switch state {
        case .sha1(let hash): Array(hash.finalize())
        case .sha256(let hash): Array(hash.finalize())
        case .sha512(let hash): Array(hash.finalize())
        }
    }
}

extension OctetHash {
    /// Returns the hash of octets.
    package static func of(_ octets: some Sequence<UInt8>, by algorithm: Algorithm) -> [UInt8] {
        var hash = OctetHash(algorithm)
        hash.update(octets)
        return hash.finalized()
    }
}
#endif
