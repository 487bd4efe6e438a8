internal import ErrandFormats

extension Request {
    /// Makes this request one for `url`, which a response has named.
    ///
    /// - Parameter home: the origin that the request is meant for; `nil` if it is not known. What must not reach another one is removed.
    /// - Throws: ``InvalidURLError`` if the whole is longer than 65,535 octets.
    public mutating func move(to url: HTTPURL, from home: Origin?) throws(InvalidURLError) {
        try setTarget(url.origin, checkedPath: url.target)
        if url.origin != home { leaveOrigin() }
    }

    /// Removes what is said of the first resource, before this request becomes one for another: preconditions, and the range of the content.
    public mutating func removeConditions() {
        for name in Self.conditions { head.headerFields[name] = nil }
    }

    private static let conditions: [HTTPField.Name] = [.ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange, .range]

    /// The origin of the call that this request was sent for; `nil` if a redirect has led to another one, since then it is not known.
    public var originOfCall: Origin? { options.hasLeftOrigin ? nil : origin }

    /// Returns the URL that the response to this request names, such as that of the next page, if it may be requested.
    ///
    /// It may be requested at the origin of this request, at that of the call, and at the listed ones.
    ///
    /// - Parameters:
    ///   - reference: the URL as it was sent, which may be relative to that of this request. The text is read as
    ///     browsers read it, except that a backslash is percent-encoded.
    ///   - home: the origin of the call (``originOfCall``); `nil` if it is not known.
    ///   - origins: the other origins that may be requested.
    /// - Throws: ``NamedURLError``.
    public func url(
        named reference: String, home: Origin?, allowing origins: Set<Origin>
    ) throws(NamedURLError) -> HTTPURL {
        let named: HTTPURL
        do {
            let reference = try URLReference(received: reference)
            named = try HTTPURL(url.map { reference.resolved(against: URLReference($0)) } ?? reference)
        } catch {
            // Without the text, in which more may be secret than the error knows of.
            throw .invalid(error.reason)
        }
        guard [origin, home].contains(named.origin) || origins.contains(named.origin) else { throw .foreign(named.origin) }
        return named
    }

    /// Returns the origin that a URL in the response to this request may lead to with credentials.
    ///
    /// A response of another origin must not choose a URL that gets credentials. Pass the result to ``move(to:from:)``.
    ///
    /// - Parameters:
    ///   - home: the origin of the call; `nil` if it is not known.
    ///   - origins: the other origins whose responses may choose such a URL.
    /// - Returns: `home` if the response came from it or from a listed origin; otherwise `nil`.
    public func trusted(_ home: Origin?, allowing origins: Set<Origin>) -> Origin? {
        guard let home, let origin, origin == home || origins.contains(origin) else { return nil }
        return home
    }

    /// Makes this request a GET without a body, without the fields that describe or announce one, and without the key of the request that it was.
    public mutating func becomeGET() {
        head.method = .get
        body = .empty
        options.idempotencyKey = nil
        for name in Self.contentFields { head.headerFields[name] = nil }
    }

    /// Those of [RFC 9110, section 15.4](https://www.rfc-editor.org/rfc/rfc9110#section-15.4), those that describe or announce a body elsewhere, and
    /// `Idempotency-Key`.
    private static let contentFields: [HTTPField.Name] = [
        .contentEncoding, .contentLanguage, .contentLength, .contentLocation, .contentType, .transferEncoding, .contentRange,
        .contentDisposition,
        .lastModified, .expect, .trailer, .known("Content-Digest"), .known("Repr-Digest"), .known("Digest"), .known("Content-MD5"),
        .known("Idempotency-Key"),
    ]

    /// Removes what must not reach another origin: sensitive fields, those that `server` has added, and options that are bound to an origin. Credentials are not
    /// added afterwards.
    public mutating func leaveOrigin() {
        let sensitivity = options.sensitivity
        let fieldsOfServer = options.fieldsOfServer
        func mayCross(_ field: HTTPField) -> Bool {
            !sensitivity.isSensitive(field) && ![.origin, .referer, .wwwAuthenticate, .host].contains(field.name)
                && !fieldsOfServer.contains(field.name)
        }
        head.headerFields = HTTPFields(head.headerFields.filter(mayCross))
        options.fallbackHeaders = HTTPFields(options.fallbackHeaders.filter(mayCross))
        options.removeOriginBoundOptions()
        options.hasLeftOrigin = true
    }
}

/// Why a URL that a response has named must not be requested.
public enum NamedURLError: SafelyDescribedError, Hashable {
    /// The text is not the URL of an HTTP resource.
    case invalid(InvalidURLError.Reason)
    /// The URL is at an origin that is not listed.
    case foreign(Origin)

    /// The reason in words, without the URL.
    public var description: String {
        switch self {
        case .invalid(let reason): "the URL that the response names is not valid: \(reason)"
        case .foreign(let origin): "the response names a URL at \(origin), which is not allowed"
        }
    }
}

private enum FieldsOfServerKey: OptionKey {
    static var defaultValue: Set<HTTPField.Name> { [] }
    /// The fields themselves are compared.
    static func identity(of value: Set<HTTPField.Name>) -> OptionIdentity { .none }
}

extension RequestOptions {
    /// The names of the fields that a server added for its origin alone.
    package var fieldsOfServer: Set<HTTPField.Name> {
        get { self[FieldsOfServerKey.self] }
        set { self[FieldsOfServerKey.self] = newValue }
    }
}

extension HTTPField.Name {
    fileprivate static let host = known("Host")
}
