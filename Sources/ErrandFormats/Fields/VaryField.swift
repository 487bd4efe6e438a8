package import HTTPTypes

/// The `Vary` fields of a response ([RFC 9110, section 12.5.5](https://www.rfc-editor.org/rfc/rfc9110#section-12.5.5)): the fields of the
/// request that have selected the response.
package enum VaryField: Sendable, Hashable {
    /// The largest number of names. With more names, the field counts as ``any``.
    package static let namesLimit = 16

    /// The fields with these names, each name once, in the order of the response; empty if the response has no `Vary`.
    case names([HTTPField.Name])
    /// `*`: the response depends on more than the fields of the request. An invalid name has the same meaning.
    case any

    /// Reads the fields.
    package init(_ fields: HTTPFields) {
        var names: [HTTPField.Name] = []
        guard fields.contains(.vary) else {
            self = .names([])
            return
        }
        for value in fields[values: .vary] {
            for text in value.listMembers {
                guard !text.isExactly("*"), text.utf8.count <= FieldLimits.nameBytes, let name = HTTPField.Name(text) else {
                    self = .any
                    return
                }
                if !names.contains(name) { names.append(name) }  // octets: names of fields are ASCII
                guard names.count <= Self.namesLimit else {
                    self = .any
                    return
                }
            }
        }
        self = .names(names)
    }
}
