/// Limits for parts of external data that are read, compared or shown.
package enum FieldLimits {
    /// The longest field value, in bytes: 8 KiB.
    package static let valueBytes = 8192
    /// The longest value of a date or a number, in bytes: 128.
    package static let shortValueBytes = 128
    /// The longest name that is compared as a whole, in bytes: 256. Comparing a run of combining marks takes quadratic time.
    package static let nameBytes = 256
}
