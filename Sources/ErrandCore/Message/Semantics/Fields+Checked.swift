internal import ErrandFormats

// The functions in this file set or add fields whose names or values come from data. `headers[name] = value` replaces each invalid
// octet of a value by a space, and `.custom(_:)` ends the process if its name is invalid.

extension HTTPFields {
    /// Creates fields from names and values that come from data, such as a configuration file.
    ///
    /// ```swift
    /// let user = try await client.get("/users/7", headers: HTTPFields(checking: ["X-Tenant": tenant]), as: User.self)
    /// ```
    ///
    /// - Parameter fields: the names and values, in order. A name may occur more than once.
    /// - Throws: ``InvalidFieldError`` for the first invalid name or value.
    public init(checking fields: some Sequence<(key: String, value: String)>) throws(InvalidFieldError) {
        self.init()
        for (name, value) in fields { try add(name, value) }
    }

    /// Sets a field to a value that comes from data. Other fields of this name are removed.
    ///
    /// ```swift
    /// try request.headers.set(.userAgent, agent)
    /// ```
    ///
    /// An assignment, `headers[name] = value`, accepts any value, and replaces each invalid octet by a space. For an invalid value, this
    /// function throws an error instead.
    ///
    /// - Parameters:
    ///   - name: the name of the field.
    ///   - value: the value, without control characters except tabs, and without a space or a tab at its beginning or end
    ///     ([RFC 9110, section 5.5](https://www.rfc-editor.org/rfc/rfc9110#section-5.5)).
    /// - Throws: ``InvalidFieldError``. The fields stay unchanged.
    public mutating func set(_ name: HTTPField.Name, _ value: String) throws(InvalidFieldError) {
        try InvalidFieldError.check(value, of: name)
        self[name] = value
    }

    /// Sets a field whose name and value come from data. Other fields of this name are removed.
    ///
    /// ```swift
    /// try request.headers.set("X-Tenant", tenant)
    /// ```
    ///
    /// - Parameters:
    ///   - name: the name of the field: letters, digits, hyphens and some other characters
    ///     ([RFC 9110, section 5.1](https://www.rfc-editor.org/rfc/rfc9110#section-5.1)).
    ///   - value: the value. See ``set(_:_:)-(HTTPField.Name,_)``.
    /// - Throws: ``InvalidFieldError``. The fields stay unchanged.
    public mutating func set(_ name: String, _ value: String) throws(InvalidFieldError) {
        try set(try InvalidFieldError.checkedName(name), value)
    }

    /// Adds a field with a value that comes from data. Other fields of this name stay.
    ///
    /// - Parameters:
    ///   - name: the name of the field.
    ///   - value: the value. See ``set(_:_:)-(HTTPField.Name,_)``.
    /// - Throws: ``InvalidFieldError``. The fields stay unchanged.
    public mutating func add(_ name: HTTPField.Name, _ value: String) throws(InvalidFieldError) {
        try InvalidFieldError.check(value, of: name)
        append(HTTPField(name: name, value: value))
    }

    /// Adds a field whose name and value come from data. Other fields of this name stay.
    ///
    /// - Parameters:
    ///   - name: the name of the field. See ``set(_:_:)-(String,_)``.
    ///   - value: the value. See ``set(_:_:)-(HTTPField.Name,_)``.
    /// - Throws: ``InvalidFieldError``. The fields stay unchanged.
    public mutating func add(_ name: String, _ value: String) throws(InvalidFieldError) {
        try add(try InvalidFieldError.checkedName(name), value)
    }
}

extension InvalidFieldError {
    fileprivate static func checkedName(_ text: String) throws(InvalidFieldError) -> HTTPField.Name {
        if let name = HTTPField.Name(text) { return name }
        let position = Array(text.utf8).firstIndex { !$0.isTokenOctet }
        throw InvalidFieldError(.invalidName, of: nil, in: text, at: position ?? 0)
    }

    static func check(_ value: String, of name: HTTPField.Name) throws(InvalidFieldError) {
        if HTTPField.isValidValue(value) { return }
        let position = invalidPosition(in: Array(value.utf8)) { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }
        throw InvalidFieldError(.invalidValue, of: name, in: value, at: position ?? 0)
    }

    /// Returns the position of the first invalid octet; `nil` if there is no such octet. A space or a tab at the beginning or the end is
    /// invalid too.
    static func invalidPosition(in octets: [UInt8], isAllowed: (UInt8) -> Bool) -> Int? {
        if octets.first?.isOptionalSpace == true { return 0 }
        return octets.firstIndex { !isAllowed($0) } ?? (octets.last?.isOptionalSpace == true ? octets.count - 1 : nil)
    }
}
