internal import ErrandFormats

/// The reason why a transport refuses a header field of a request: its value has a control character other than the horizontal tab
/// ([RFC 9110, section 5.5](https://www.rfc-editor.org/rfc/rfc9110#section-5.5)).
///
/// HTTPTypes replaces CR, LF and NUL in a value by spaces. A value that was created with `lenientValue` may still have other control
/// characters.
package struct UnsafeFieldError: SafelyDescribedError, Hashable {
    /// The name of the field, without control characters.
    package let name: String

    /// Returns the error for the first unsafe field; `nil` if a transport may send all fields.
    package init?(in fields: HTTPFields) {
        guard let field = fields.first(where: { !$0.isSafe }) else { return nil }
        self.init(field)
    }

    /// - Parameter field: the unsafe field, of the head or of the trailers.
    package init(_ field: HTTPField) { name = field.name.rawName.shownSafely(limit: 32) }

    /// The name of the field, without the value.
    package var description: String { "the field '\(name)' of the request contains a control character, such as a line break" }
}

extension HTTPField {
    fileprivate var isSafe: Bool { withUnsafeBytesOfValue { ByteScan.firstControl(in: $0).control == nil } }
}
