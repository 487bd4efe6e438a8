internal import ErrandCore

/// Returns pseudorandom bytes, which do not repeat after a short period.
func patternBytes(_ count: Int) -> Data {
    var state: UInt64 = 0x2545_F491_4F6C_DD1D
    var bytes = [UInt8]()
    bytes.reserveCapacity(count)
    for _ in 0..<count {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        bytes.append(UInt8(truncatingIfNeeded: state))
    }
    return Data(bytes)
}
