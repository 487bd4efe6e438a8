package import ErrandCore

extension Request {
    /// Removes what must not reach another origin: sensitive fields, those that `server` has added, and options that are bound to an origin. Credentials are not
    /// added afterwards.
    package mutating func leaveOrigin() {
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

extension HTTPField.Name {
    fileprivate static let host = known("Host")
}
