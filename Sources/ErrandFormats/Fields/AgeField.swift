package import HTTPTypes

/// Reads the `Age` field of a response ([RFC 9111, section 5.1](https://www.rfc-editor.org/rfc/rfc9111#section-5.1)).
package enum AgeField {
    /// Returns the age of a response, in seconds; `nil` if the field is missing or invalid, so that a cache ignores the field.
    ///
    /// If there are several values, the first value counts. A number above 2^31 counts as 2^31.
    package static func seconds(_ fields: HTTPFields) -> Int64? {
        guard fields.contains(.age), let first = fields[values: .age].first else { return nil }
        let end = first.utf8.firstIndex(of: UInt8(ascii: ",")) ?? first.endIndex
        return DeltaSeconds.read(String(first[..<end]).trimmingOptionalWhitespace())
    }
}
