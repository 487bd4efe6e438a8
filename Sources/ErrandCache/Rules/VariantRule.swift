internal import ErrandCore

/// Decides by `Vary` which stored response belongs to a request
/// ([RFC 9111, section 4.1](https://www.rfc-editor.org/rfc/rfc9111#section-4.1)).
struct VariantRule: Sendable {
    /// Returns a digest of a secret value, with a key that only this cache knows; `nil` if the cache has no such key.
    let digest: @Sendable (String) -> [UInt8]?

    /// Returns the fields of a request by which the server has selected a response; `nil` if the value of a field is secret, and there is
    /// no digest.
    func selection(of response: HTTPFields, for request: CacheRequest) -> CacheSelection? {
        guard case .names(let names) = VaryField(response) else { return CacheSelection(isUnmatchable: true) }
        var fields: [CacheSelection.Field] = []
        for name in names {
            guard let value = value(of: name, in: request) else { return nil }
            fields.append(.init(name: name, value: value))
        }
        return CacheSelection(fields: fields)
    }

    /// Returns whether a stored response belongs to a request.
    func matches(_ head: CacheEntry.Head, _ request: CacheRequest) -> Bool {
        !head.selection.isUnmatchable
            && head.selection.fields.allSatisfy { field in
                value(of: field.name, in: request) == field.value || isPreferredLanguage(field.name, of: head, for: request)
            }
    }

    /// Returns whether a stored response is in the language that the request prefers to all other languages. No other response would be a
    /// better choice.
    private func isPreferredLanguage(_ name: HTTPField.Name, of head: CacheEntry.Head, for request: CacheRequest) -> Bool {
        guard name == .acceptLanguage, let wanted = request.fields[name], let preferred = AcceptedValues.preferredLanguage(wanted),
            let languages = head.response.headerFields[.contentLanguage]
        else { return false }
        return languages.trimmingOptionalWhitespace().isExactlyIgnoringCase(preferred)
    }

    /// Returns the value of a field in its normal form; `nil` if the value is secret, and there is no digest.
    private func value(of name: HTTPField.Name, in request: CacheRequest) -> CacheSelection.Value? {
        guard request.fields.contains(name) else { return .absent }
        if name == .authorization, request.request.options.credentialIdentity != nil, case .account = request.key?.partition {
            return .account
        }
        let text = Self.text(request.fields, name)
        guard isSecret(name, in: request.request) else { return .text(text) }
        // Without a digest, all secrets would be equal, and one user would get the response of another user.
        guard let digest = digest(text), !digest.isEmpty else { return nil }
        return .digest(digest)
    }

    private func isSecret(_ name: HTTPField.Name, in request: Request) -> Bool {
        Sensitivity.standard.isSensitive(name) || request.options.sensitivity.isSensitive(name)
            || request.headers[fields: name].contains { request.options.sensitivity.isSensitive($0) }
    }

    /// Returns the values of all fields of a name in one text, in the normal form of the field.
    private static func text(_ fields: HTTPFields, _ name: HTTPField.Name) -> String {
        let values = fields[fields: name].map { $0.octetText.trimmingOptionalWhitespace() }
        let joined = values.count == 1 ? values[0] : values.joined(separator: name == .cookie ? "; " : ", ")
        return switch name {
        case .acceptLanguage, .acceptEncoding: AcceptedValues.normalized(joined, ignoresCase: true)
        case .accept: AcceptedValues.normalized(joined, ignoresCase: false)
        default: joined
        }
    }
}

extension HTTPField {
    /// The value as text. Different octets have different texts, even if the octets are not UTF-8.
    ///
    /// Octets that are not UTF-8 become hexadecimal digits after U+0000. No value of a field has U+0000, so no other value has this text.
    fileprivate var octetText: String {
        withUnsafeBytesOfValue { octets in
            if let text = String(validating: octets, as: UTF8.self) { return text }
            return "\u{0}" + hex(octets)
        }
    }
}
