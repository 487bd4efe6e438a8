internal import ErrandCore

/// Header fields as Foundation keeps them: one value for each name.
struct JoinedFields: Sendable {
    private var fields: [String: (name: String, values: [String])] = [:]

    init() {}

    /// Adds a field. All fields of one name get the spelling of the first field.
    mutating func append(_ field: HTTPField) {
        fields[field.name.canonicalName, default: (field.name.rawName, [])].values.append(field.value)
    }

    /// Returns the values of a name in lower case; `nil` if no field has this name.
    subscript(_ name: String) -> [String]? { fields[name]?.values }

    /// Removes the fields with a name in lower case.
    mutating func remove(_ name: String) { fields[name] = nil }

    /// The names and the values. Several values of one name are joined with `, `.
    var joined: [String: String] {
        Dictionary(uniqueKeysWithValues: fields.values.map { ($0.name, $0.values.joined(separator: ", ")) })
    }
}
