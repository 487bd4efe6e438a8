package import HTTPTypes

extension HTTPField.Name {
    /// A name that is written in the code: one that is none is a fault of the code.
    package static func known(_ name: String) -> HTTPField.Name {
        guard let known = HTTPField.Name(name) else { preconditionFailure("name must be the name of a field (is '\(name)')") }
        return known
    }
}
