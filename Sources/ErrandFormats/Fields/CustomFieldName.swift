public import HTTPTypes

extension HTTPField.Name {
    /// A field name of your own, written in the code.
    ///
    /// ```swift
    /// request.headers[.custom("X-Api-Key")] = key
    /// let response = try await stack.send(Request(.get, "/users", headers: [.custom("X-Tenant"): "blue"]))
    /// ```
    ///
    /// The name stands in the code, so an invalid one is a mistake in the code. For a name that is known only when the program runs, use
    /// `HTTPField.Name(_:)`, which returns `nil` for an invalid name.
    ///
    /// - Precondition: `name` is a token: letters, digits, hyphens and some other signs, but no spaces and no colons
    ///   ([RFC 9110, section 5.1](https://www.rfc-editor.org/rfc/rfc9110#section-5.1)).
    public static func custom(_ name: StaticString) -> HTTPField.Name {
        guard let custom = HTTPField.Name("\(name)") else {
            preconditionFailure("name must be a token of letters, digits and !#$%&'*+-.^_`|~ (is '\(name)')")
        }
        return custom
    }
}

extension HTTPFields {
    /// Not available: the name of a field is a value of its own type, `headers[.custom("X-Tenant")]`.
    @available(
        *, unavailable,
        message:
            "write headers[.custom(\"X-Tenant\")]; a name that is known only when the program runs is HTTPField.Name(name), which may be nil"
    )
    public subscript(name: String) -> String? {
        get { HTTPField.Name(name).flatMap { self[$0] } }
        set { if let name = HTTPField.Name(name) { self[name] = newValue } }
    }
}
