extension Collection<UInt8> {
    /// Whether these octets are slow to compare as Unicode text, as in a dictionary of names: more than 256 octets that are not all
    /// ASCII. Comparing a run of combining marks takes quadratic time.
    package var isSlowName: Bool { count > FieldLimits.nameBytes && contains { $0 >= 0x80 } }
}
