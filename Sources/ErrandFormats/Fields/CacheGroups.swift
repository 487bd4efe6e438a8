package import HTTPTypes

/// The groups of stored responses that a response names ([RFC 9875](https://www.rfc-editor.org/rfc/rfc9875)).
package enum CacheGroups {
    /// The largest number of groups that are read.
    static let countLimit = 64
    /// The longest name of a group, in bytes.
    static let nameBytes = 128

    /// Returns the groups to which a response belongs (`Cache-Groups`).
    package static func named(in fields: HTTPFields) -> [String] { names(fields, .cacheGroups) }

    /// Returns the groups that a response to an unsafe request invalidates (`Cache-Group-Invalidation`).
    package static func invalidated(by fields: HTTPFields) -> [String] { names(fields, .cacheGroupInvalidation) }

    /// Reads a list of strings. If the value is not a list of strings, or has too many or too long names, the field is ignored.
    private static func names(_ fields: HTTPFields, _ name: HTTPField.Name) -> [String] {
        guard fields.contains(name), let value = fields[name], value.utf8.count <= FieldLimits.valueBytes,
            let list = try? StructuredList(parsing: value), list.members.count <= countLimit
        else { return [] }
        var names: [String] = []
        for member in list.members {
            guard let text = member.item?.value.stringValue, text.utf8.count <= nameBytes else { return [] }
            names.append(text)
        }
        return names
    }
}

extension HTTPField.Name {
    fileprivate static let cacheGroups = known("Cache-Groups")
    fileprivate static let cacheGroupInvalidation = known("Cache-Group-Invalidation")
}
