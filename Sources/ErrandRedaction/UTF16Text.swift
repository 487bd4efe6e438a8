internal import ErrandFormats

/// Text in UTF-16, which is recognized by a byte order mark, the charset, or many zeros.
struct UTF16Text {
    let utf8: [UInt8]
    private let hasMark: Bool
    private let isBigEndian: Bool

    init?(_ bytes: [UInt8], charset: String?) {
        hasMark = bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF])
        let (even, odd) = Self.zeros(bytes)
        guard
            hasMark || charset.map({ $0.utf8.prefix(6).map(\.asciiLowercased).elementsEqual("utf-16".utf8) }) == true
                || (even + odd) * 3 > bytes.count
        else { return nil }
        isBigEndian = hasMark ? bytes[0] == 0xFE : even == odd ? charset?.isExactlyIgnoringCase("utf-16be") == true : even > odd
        let (high, low) = isBigEndian ? (0, 1) : (1, 0)
        // The last unit may be truncated.
        let units = stride(from: hasMark ? 2 : 0, to: bytes.count - 1, by: 2).map {
            UInt16(bytes[$0 + high]) << 8 | UInt16(bytes[$0 + low])
        }
        utf8 = Array(String(decoding: units, as: UTF16.self).utf8)
    }

    /// Returns UTF-8 text in the encoding of this text.
    func encoded(_ text: [UInt8]) -> [UInt8] {
        ((hasMark ? [0xFEFF] : []) + String(decoding: text, as: UTF8.self).utf16).flatMap { unit in
            let octets = [UInt8(unit >> 8), UInt8(truncatingIfNeeded: unit)]
            return isBigEndian ? octets : octets.reversed()
        }
    }

    private static func zeros(_ bytes: [UInt8]) -> (even: Int, odd: Int) {
        bytes.withUnsafeBufferPointer { bytes in
            var (even, odd) = (0, 0)
            for index in bytes.indices where bytes[index] == 0 {
                if index % 2 == 0 { even += 1 } else { odd += 1 }
            }
            return (even, odd)
        }
    }
}
