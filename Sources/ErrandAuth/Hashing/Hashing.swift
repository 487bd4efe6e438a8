#if Auth
internal import Crypto
internal import ErrandCore

/// Lower-case hexadecimal digits.
func hex(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for byte in bytes {
        text.append(digits[Int(byte >> 4)])
        text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
}

/// Returns `count` random bytes, from the generator of the system.
@Sendable func randomOctets(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: .min ... .max) } }

/// A hash function of Digest, fed piece by piece.
enum DigestHash: Sendable {
    case md5(Insecure.MD5)
    case sha256(Crypto.SHA256)
    case sha512256(SHA512T256)
    case sha512(Crypto.SHA512)

    mutating func update(_ data: Data) {
        switch self {
        case .md5(var hash):
            hash.update(data: data)
            self = .md5(hash)
        case .sha256(var hash):
            hash.update(data: data)
            self = .sha256(hash)
        case .sha512256(var hash):
            hash.update(data)
            self = .sha512256(hash)
        case .sha512(var hash):
            hash.update(data: data)
            self = .sha512(hash)
        }
    }

    /// The hash of what was fed, as hexadecimal digits.
    var digits: String {
        switch self {
        case .md5(let hash): hex(hash.finalize())
        case .sha256(let hash): hex(hash.finalize())
        case .sha512256(let hash): hex(hash.finalized())
        case .sha512(let hash): hex(hash.finalize())
        }
    }
}
#endif
