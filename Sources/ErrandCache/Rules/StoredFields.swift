internal import ErrandCore

/// Decides which fields of a response are stored ([RFC 9111, section 3.1](https://www.rfc-editor.org/rfc/rfc9111#section-3.1)), and how a
/// new response updates stored fields ([RFC 9111, section 3.2](https://www.rfc-editor.org/rfc/rfc9111#section-3.2)).
enum StoredFields {
    /// The fields that belong to a connection, or to a proxy.
    private static let hopByHop: Set<HTTPField.Name> = [
        .connection, .known("Keep-Alive"), .known("Proxy-Connection"), .proxyAuthenticate, .proxyAuthenticationInfo, .proxyAuthorization,
        .te, .trailer, .transferEncoding, .upgrade,
    ]

    /// The fields that limit the use of a stored response, or describe its bytes. These fields are stored even if `no-cache` or `private`
    /// names them: without these fields, the response could be used for too long, or in a wrong way.
    private static let limiting: Set<HTTPField.Name> = [
        .cacheControl, .expires, .date, .age, .vary, .pragma, .contentRange, .contentEncoding, .contentLength, .contentType,
    ]

    /// The fields that describe the stored bytes. A 304 does not change these fields.
    private static let ofBytes: Set<HTTPField.Name> = [.contentLength, .contentEncoding, .contentType, .contentRange]

    /// The fields whose effect must not be repeated when a stored response is used after a request.
    private static let unrepeatable: Set<HTTPField.Name> = [
        .setCookie, .known("Set-Cookie2"), .clearSiteData, .strictTransportSecurity,
    ]

    /// Returns the fields to store. These fields are left out:
    /// - the fields of the connection, and the fields that `Connection` names
    /// - the fields that `no-cache` names
    /// - in a shared cache, the fields that `private` names
    ///
    /// - Parameter received: the date that a response without `Date` gets ([RFC 9110, section
    ///   6.6.1](https://www.rfc-editor.org/rfc/rfc9110#section-6.6.1)).
    static func stored(_ fields: HTTPFields, control: CacheControl, isShared: Bool, received: HTTPDate) -> HTTPFields {
        var excluded = hopByHop
        if let named = fields[.connection] {
            for text in named.listMembers {
                if text.utf8.count <= FieldLimits.nameBytes, let name = HTTPField.Name(text), !limiting.contains(name) {
                    excluded.insert(name)
                }
            }
        }
        excluded.formUnion(control.noCacheFields.filter { !limiting.contains($0) })
        if isShared { excluded.formUnion(control.privateFields.filter { !limiting.contains($0) }) }
        var stored = HTTPFields()
        stored.reserveCapacity(fields.count + 1)
        for field in fields where !excluded.contains(field.name) { stored.append(field) }
        if !stored.contains(.date) { stored[.date] = received.description }
        return stored
    }

    /// Returns whether `no-cache`, or `private` in a shared cache, names a field that can't be excluded. A directive that names such a
    /// field applies to the whole response.
    static func namesLimitingField(_ names: [HTTPField.Name]) -> Bool { names.contains(where: limiting.contains) }

    /// Returns the stored fields, updated with the fields of a 304, of a response to HEAD, or of a 206 of the same representation.
    static func updated(_ stored: HTTPFields, with new: HTTPFields) -> HTTPFields {
        let names = Set(new.map(\.name)).subtracting(ofBytes)
        var updated = HTTPFields()
        updated.reserveCapacity(stored.count + new.count)
        // The stored `Age` is left out, because `Age` belongs to the response of the earlier exchange.
        for field in stored where !names.contains(field.name) && field.name != .age { updated.append(field) }
        for field in new where names.contains(field.name) { updated.append(field) }
        return updated
    }

    /// Returns the fields of a stored response after a request, without the fields that would take effect a second time. Fields that are
    /// also in the server's new response are kept.
    static func withoutRepetitions(_ fields: HTTPFields, sent: HTTPFields) -> HTTPFields {
        guard fields.contains(where: { unrepeatable.contains($0.name) && !sent.contains($0.name) }) else { return fields }
        var kept = HTTPFields()
        for field in fields where !unrepeatable.contains(field.name) || sent.contains(field.name) { kept.append(field) }
        return kept
    }

    /// Returns the number of bytes of the fields, as they are counted for limits.
    static func bytes(_ fields: HTTPFields) -> Int {
        fields.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 4 }
    }
}

extension HTTPField.Name {
    /// `Pragma`, by which clients and servers of HTTP/1.0 ask for validation.
    static let pragma = known("Pragma")
}
