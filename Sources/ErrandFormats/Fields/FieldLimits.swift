/// The most that is read, compared or shown of what comes from outside in one piece.
package enum FieldLimits {
    /// Of a field's value, in bytes: 8 KiB.
    package static let valueBytes = 8192
    /// Of a value that is a date or a number, in bytes: 128.
    package static let shortValueBytes = 128
    /// Of a name that is compared as a whole, in bytes: 256. Comparing a run of combining marks takes time that grows with the square of its length.
    package static let nameBytes = 256
}
