// What ErrandURLSession uses of CryptoKit. Declared from memory, for type-checking alone: see scripts/check-apple.

import Foundation

// From memory: https://developer.apple.com/documentation/cryptokit/sha256
public struct SHA256 {
    // From memory: https://developer.apple.com/documentation/cryptokit/hashfunction/hash(data:)
    public static func hash<D: DataProtocol>(data: D) -> SHA256Digest { SHA256Digest() }
}

// From memory: https://developer.apple.com/documentation/cryptokit/sha256digest
public struct SHA256Digest: Sequence {
    public func makeIterator() -> Array<UInt8>.Iterator { [].makeIterator() }
}
