/// How deep JSON text may nest here.
///
/// Whoever decodes values recursively uses some stack for each level, and so do Foundation's decoder and the values themselves. Threads have as
/// little as 512 KiB: the depth of bytes from the network is looked at before they are decoded.
package enum JSONDepth {
    /// For values of any kind of the app: 128 levels.
    package static let limit = 128

    /// Whether `bytes` nest deeper than `limit`: one pass, without recursion. Text that is not JSON may count as deep.
    package static func isExceeded(by bytes: some Sequence<UInt8>, limit: Int = limit) -> Bool {
        var depth = 0
        var isInString = false
        var isEscaped = false
        for byte in bytes {
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                if depth > limit { return true }
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            default: break
            }
        }
        return false
    }
}
