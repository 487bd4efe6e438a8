#if Auth
internal import Crypto
internal import ErrandFormats
internal import ErrandHashing

/// A hash function for Digest authentication, which accepts the bytes in pieces. Only Digest uses MD5 and SHA-512/256.
enum DigestHash: Sendable {
    case md5(Insecure.MD5)
    case sha512256(SHA512T256)
    case other(OctetHash)

    mutating func update(_ octets: some Sequence<UInt8>) {
        switch self {
        case .md5(var hash):
            let octets = Array(octets)
            octets.withUnsafeBytes { hash.update(bufferPointer: $0) }
            self = .md5(hash)
        case .sha512256(var hash):
            hash.update(octets)
            self = .sha512256(hash)
        case .other(var hash):
            hash.update(octets)
            self = .other(hash)
        }
    }

    /// The hash of the bytes so far, as hexadecimal digits.
    var digits: String {
        switch self {
        case .md5(let hash): hex(hash.finalize())
        case .sha512256(let hash): hex(hash.finalized())
        case .other(let hash): hex(hash.finalized())
        }
    }
}
#endif
