extension Collection<UInt8> {
    /// Whether it is slow to compare these octets as Unicode text, as a dictionary compares its keys: they are more than 256, and not ASCII. A run of combining
    /// marks takes quadratic time.
    package var isSlowName: Bool { count > FieldLimits.nameBytes && contains { $0 >= 0x80 } }
}
