/// A set of bytes.
package struct ByteSet: Sendable {
    fileprivate let members: [Bool]

    package init(_ isMember: (UInt8) -> Bool) { members = (UInt8.min...UInt8.max).map(isMember) }

    package func contains(_ byte: UInt8) -> Bool { members[Int(byte)] }
}

extension [UInt8] {
    /// Returns the index of the first byte from `start` on that is in `set`. The search is also fast without optimization.
    package func firstIndex(in set: ByteSet, from start: Int = 0) -> Int? {
        withUnsafeBufferPointer { bytes in
            set.members.withUnsafeBufferPointer { members in
                var index = start
                while index < bytes.count {
                    if members[Int(bytes[index])] { return index }
                    index += 1
                }
                return nil
            }
        }
    }
}
