extension Collection<UInt8> {
    /// Whether the bytes begin with the byte order mark of UTF-8.
    @inlinable package var hasByteOrderMark: Bool { starts(with: [0xEF, 0xBB, 0xBF]) }

    /// The bytes after the byte order mark of UTF-8; all bytes if they do not begin with this mark.
    @inlinable package var withoutByteOrderMark: SubSequence { hasByteOrderMark ? dropFirst(3) : self[...] }
}
