package import HTTPTypes

extension HTTPFields {
    /// A copy of the fields in which all `Cookie` fields are joined by `; ` into one field. The field is at the position of the
    /// first `Cookie` field.
    ///
    /// If a `Cookie` is set as one value, `HTTPFields` splits the value into several fields. Several `Cookie` fields are valid only
    /// in HTTP/2 ([RFC 9113, section 8.2.3](https://www.rfc-editor.org/rfc/rfc9113#section-8.2.3)). In other versions of HTTP, a
    /// request must have only one `Cookie` field ([RFC 6265, section 5.4](https://www.rfc-editor.org/rfc/rfc6265#section-5.4)): many
    /// servers read only the first `Cookie` field.
    package var withOneCookie: HTTPFields {
        var first: HTTPField?
        var count = 0
        for field in self where field.name.canonicalName.utf8.count == 6 && field.name == .cookie {
            if first == nil { first = field }
            count += 1
        }
        guard let first, count > 1 else { return self }
        var value: [UInt8] = []
        for field in self where field.name == .cookie {
            if !value.isEmpty { value += [UInt8(ascii: ";"), 0x20] }
            field.withUnsafeBytesOfValue { value += $0 }
        }
        var whole = HTTPField(name: first.name, value: value)
        whole.indexingStrategy = first.indexingStrategy
        var joined = self
        joined[fields: .cookie] = [whole]
        return joined
    }
}
