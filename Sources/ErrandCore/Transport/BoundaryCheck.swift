internal import ErrandFormats

extension HTTPRequest {
    /// Checks a head that the caller may have written. An octet that ends a line or a word of the message is refused in every
    /// part of the head ([RFC 9112, section 3](https://www.rfc-editor.org/rfc/rfc9112#section-3)).
    ///
    /// - Throws: ``InvalidURLError`` for a scheme, an authority or a path that can't be sent.
    package func checkForTransport() throws(InvalidURLError) {
        let scheme = scheme ?? ""
        guard scheme.isExactly("https") || scheme.isExactly("http") else {
            throw InvalidURLError("\(scheme)://", .unsupportedScheme(scheme))
        }
        let authority = authority ?? ""
        if let octet = authority.utf8.first(where: { !$0.isAuthorityOctet }) {
            throw InvalidURLError(
                "\(scheme)://\(authority)",
                octet == UInt8(ascii: "@") ? .credentials : .invalidOctet(octet, component: "authority").ofTheApp)
        }
        let target = path ?? ""
        if let index = target.utf8.firstIndex(where: { !$0.isTargetOctet }) {
            let component = target.utf8[..<index].contains(UInt8(ascii: "?")) ? "query" : "path"
            throw InvalidURLError(target, .invalidOctet(target.utf8[index], component: component).ofTheApp)
        }
        guard hasTargetOfItsOwn else { throw InvalidURLError(target, .invalidTarget) }
    }
}
