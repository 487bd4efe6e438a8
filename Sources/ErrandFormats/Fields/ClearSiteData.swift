/// Reads the field `Clear-Site-Data`, with which a server asks for the removal of stored data
/// ([W3C, Clear Site Data](https://www.w3.org/TR/clear-site-data/#header)).
package enum ClearSiteData {
    /// Returns whether one of the values asks for the removal of cookies: a list with `"cookies"` or `"*"`. The quotation marks are
    /// required.
    ///
    /// A value of more than 8 KiB is ignored.
    package static func includesCookies(_ values: some Sequence<String>) -> Bool { includes("\"cookies\"", values) }

    /// Returns whether one of the values asks for the removal of stored responses: a list with `"cache"` or `"*"`. The quotation marks are
    /// required.
    ///
    /// A value of more than 8 KiB is ignored.
    package static func includesCache(_ values: some Sequence<String>) -> Bool { includes("\"cache\"", values) }

    private static func includes(_ type: String, _ values: some Sequence<String>) -> Bool {
        values.contains { value in
            value.utf8.count <= FieldLimits.valueBytes
                && value.listMembers.contains { $0.isExactly(type) || $0.isExactly("\"*\"") }
        }
    }
}
