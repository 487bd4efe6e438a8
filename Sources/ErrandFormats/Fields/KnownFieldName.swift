package import HTTPTypes

extension HTTPField.Name {
    /// Returns a field name from a literal; traps if the literal is invalid.
    package static func known(_ name: String) -> HTTPField.Name {
        guard let known = HTTPField.Name(name) else { preconditionFailure("name must be the name of a field (is '\(name)')") }
        return known
    }

    /// `Clear-Site-Data`: the data of a site that the client must remove.
    package static let clearSiteData = known("Clear-Site-Data")
}
