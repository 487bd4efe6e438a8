public import HTTPTypes

extension HTTPField.Name {
    /// Your own field name, written in the code.
    ///
    /// ```swift
    /// request.headers[.custom("X-Api-Key")] = key
    /// let response = try await stack.send(Request(.get, "/users", headers: [.custom("X-Tenant"): "blue"]))
    /// ```
    ///
    /// The name is a literal, so an invalid name is a mistake in the code. If the name or the value is not a literal, write `try
    /// headers.set(name, value)`, which throws an error for an invalid name or value. `HTTPField.Name(_:)` returns `nil` for an
    /// invalid name.
    ///
    /// - Precondition: `name` is a token: letters, digits, hyphens and some other characters, but no spaces and no colons
    ///   ([RFC 9110, section 5.1](https://www.rfc-editor.org/rfc/rfc9110#section-5.1)).
    public static func custom(_ name: StaticString) -> HTTPField.Name {
        guard let custom = HTTPField.Name("\(name)") else {
            preconditionFailure("name must be a token of letters, digits and !#$%&'*+-.^_`|~ (is '\(name)')")
        }
        return custom
    }
}

extension HTTPFields {
    /// Not available, because a field name is not a `String`. Write `headers[.custom("X-Tenant")]`.
    @available(
        *, unavailable,
        message: "write headers[.custom(\"X-Tenant\")]; if the name comes from data, call try headers.set(name, value)"
    )
    public subscript(name: String) -> String? {
        get { HTTPField.Name(name).flatMap { self[$0] } }
        set { if let name = HTTPField.Name(name) { self[name] = newValue } }
    }
}
