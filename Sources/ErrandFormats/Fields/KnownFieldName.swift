package import HTTPTypes

extension HTTPField.Name {
    /// A name that is written in the code: one that is none is a fault of the code.
    package static func known(_ name: String) -> HTTPField.Name {
        guard let known = HTTPField.Name(name) else { preconditionFailure("no name of a field: '\(name)'") }
        return known
    }
}
