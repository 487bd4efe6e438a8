extension FixedWidthInteger {
    /// The octets of the number. The least significant octet is the first.
    @inlinable package var littleEndianOctets: [UInt8] { withUnsafeBytes(of: littleEndian) { Array($0) } }

    /// Appends the octets of the number to `octets`. The least significant octet is the first.
    @inlinable package func appendLittleEndian(to octets: inout some RangeReplaceableCollection<UInt8>) {
        withUnsafeBytes(of: littleEndian) { octets.append(contentsOf: $0) }
    }

    /// Creates a number from its octets. The least significant octet is the first.
    ///
    /// - Parameter octets: at most as many octets as the type has. Missing octets are zero.
    @inlinable package init(littleEndianOctets octets: some BidirectionalCollection<UInt8>) {
        self = octets.reversed().reduce(0) { $0 << 8 | Self(truncatingIfNeeded: $1) }
    }
}
