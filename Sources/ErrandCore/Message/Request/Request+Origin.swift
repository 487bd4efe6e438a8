internal import ErrandFormats

extension Request {
    /// Changes the target of this request to `url`, which a response has named.
    ///
    /// If `hsts` is an inner layer, and knows that the host of `url` demands `https`, the scheme of `url` becomes `https` first: see
    /// ``changeToHTTPS()``. The origins are compared after this change.
    ///
    /// - Parameter oldOrigin: the origin for which the request was made; `nil` if the origin is not known. If `url` has a different
    ///   origin, or `oldOrigin` is `nil`, this function calls ``removeOriginBoundValues()``.
    /// - Throws: ``InvalidURLError`` if the whole URL is longer than 65,535 octets.
    public mutating func move(to url: HTTPURL, from oldOrigin: Origin?) throws(InvalidURLError) {
        try setTarget(url.origin, checkedPath: url.target)
        try changeToHTTPSIfDemanded()
        guard origin != oldOrigin else { return }
        options.recordOriginOfPage(oldOrigin)
        removeOriginBoundValues()
    }

    /// Removes the fields that apply only to the present resource: preconditions, and `Range`. Call this function before the target
    /// changes.
    public mutating func removeConditions() {
        for name in Self.conditions { head.headerFields[name] = nil }
    }

    private static let conditions: [HTTPField.Name] = [.ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange, .range]

    /// The origin of the call to which this request belongs. `nil` if a redirect has led to another origin, because the request does not
    /// record the origin of the call.
    public var originOfCall: Origin? { options.hasLeftOrigin ? nil : origin }

    /// Returns a URL that the response to this request names, such as the URL of the next page. If the URL must not be requested,
    /// throws an error.
    ///
    /// The URL may be requested if its origin is the origin of this request, the origin of the call, or one of `origins`.
    ///
    /// - Parameters:
    ///   - reference: the URL as the server sent it. The URL may be relative to the URL of this request. The text is parsed as in
    ///     browsers, except that a backslash is percent-encoded.
    ///   - originOfCall: the origin of the call (``originOfCall``); `nil` if the origin is not known.
    ///   - origins: the other origins that may be requested.
    /// - Throws: ``URLReferenceError``.
    public func resolvedURL(
        of reference: String, originOfCall: Origin?, allowing origins: Set<Origin>
    ) throws(URLReferenceError) -> HTTPURL {
        let resolved: HTTPURL
        do {
            let reference = try URLReference(received: reference)
            resolved = try HTTPURL(url.map { reference.resolved(against: URLReference($0)) } ?? reference)
        } catch {
            // The error leaves out the text, which may contain secrets that the error does not recognize.
            throw .invalid(error.code)
        }
        guard [origin, originOfCall].contains(resolved.origin) || origins.contains(resolved.origin) else { throw .foreign(resolved.origin) }
        return resolved
    }

    /// Returns the only origin that may get credentials if a layer follows a URL in the response to this request.
    ///
    /// A response of another origin must not choose a URL that gets credentials. Pass the result to ``move(to:from:)``.
    ///
    /// - Parameters:
    ///   - originOfCall: the origin of the call; `nil` if the origin is not known.
    ///   - origins: the other origins whose responses may choose a URL that gets credentials.
    /// - Returns: `originOfCall` if the response came from `originOfCall` or from one of `origins`; otherwise `nil`.
    public func trustedOrigin(ofCall originOfCall: Origin?, allowing origins: Set<Origin>) -> Origin? {
        guard let originOfCall, let origin, origin == originOfCall || origins.contains(origin) else { return nil }
        return originOfCall
    }

    /// Changes this request to a GET without a body. Removes the fields that describe or announce a body, and the idempotency
    /// key.
    public mutating func changeToGET() {
        head.method = .get
        body = .empty
        options.idempotencyKey = nil
        for name in Self.contentFields { head.headerFields[name] = nil }
    }

    /// The fields that [RFC 9110, section 15.4](https://www.rfc-editor.org/rfc/rfc9110#section-15.4) lists, fields for a body
    /// from other specifications, and `Idempotency-Key`.
    private static let contentFields: [HTTPField.Name] = [
        .contentEncoding, .contentLanguage, .contentLength, .contentLocation, .contentType, .transferEncoding, .contentRange,
        .contentDisposition,
        .lastModified, .expect, .trailer, .known("Content-Digest"), .known("Repr-Digest"), .known("Digest"), .known("Content-MD5"),
        .known("Idempotency-Key"),
    ]

    /// Removes everything that must not reach another origin: sensitive fields, fields that `server` has added, and options that
    /// are bound to an origin. After this call, the layers add no credentials to the request.
    public mutating func removeOriginBoundValues() {
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

private enum FieldsOfServerKey: OptionKey {
    static var defaultValue: Set<HTTPField.Name> { [] }
    /// The identity ignores the names, because the fields themselves are compared.
    static func identity(of value: Set<HTTPField.Name>) -> OptionIdentity { .ignored }
}

private enum FieldsWithoutServerKey: OptionKey {
    static var defaultValue: Set<HTTPField.Name> { [] }
    /// The identity ignores the names, because the fields themselves are compared.
    static func identity(of value: Set<HTTPField.Name>) -> OptionIdentity { .ignored }
}

extension RequestOptions {
    /// The names of the fields that an outer `server` without an origin added. An inner `server` with an origin moves the names to
    /// ``fieldsOfServer``.
    package var fieldsWithoutServer: Set<HTTPField.Name> {
        get { self[FieldsWithoutServerKey.self] }
        set { self[FieldsWithoutServerKey.self] = newValue }
    }

    /// The names of the fields that `server` added only for its own origin.
    package var fieldsOfServer: Set<HTTPField.Name> {
        get { self[FieldsOfServerKey.self] }
        set { self[FieldsOfServerKey.self] = newValue }
    }
}

extension HTTPField.Name {
    fileprivate static let host = known("Host")
}
