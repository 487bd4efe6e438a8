extension Collection<UInt8> {
    /// Whether these octets are slow to compare as Unicode text, for example as a name in a dictionary. A name is slow to compare if it has
    /// more than 256 octets, and not all octets are ASCII. Comparing a run of combining marks takes quadratic time.
    package var isSlowName: Bool { count > FieldLimits.nameBytes && contains { $0 >= 0x80 } }
}
