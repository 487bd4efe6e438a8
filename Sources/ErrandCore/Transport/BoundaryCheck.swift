extension HTTPRequest {
    /// A head may be of the caller's own making: nothing in it may end a line or a word of the message (RFC 9112, 3).
    package func checkForTransport() throws(InvalidURLError) {
        let scheme = scheme ?? ""
        guard scheme == "https" || scheme == "http" else { throw InvalidURLError("\(scheme)://", .unsupportedScheme(scheme)) }
        let authority = authority ?? ""
        if let octet = authority.utf8.first(where: { $0 >= 0x80 || AuthorityOctets.isControl($0) || AuthorityOctets.isDelimiter($0) }) {
            throw InvalidURLError(
                "\(scheme)://\(authority)", octet == UInt8(ascii: "@") ? .credentials : .invalidOctet(octet, component: "authority"))
        }
        let target = path ?? ""
        if let octet = target.utf8.first(where: { $0 <= 0x20 || $0 >= 0x7F || $0 == UInt8(ascii: "#") }) {
            throw InvalidURLError(target, .invalidOctet(octet, component: "path"))
        }
        guard hasTargetOfItsOwn else { throw InvalidURLError(target, .invalidTarget) }
    }
}
