package import HTTPTypes

extension HTTPField {
    /// The value as text, in which URLs keep their octets.
    ///
    /// If the value is not UTF-8, the octets of a URL that are not ASCII are percent-encoded. The property ``value`` would lose these
    /// octets. For example, `/caf\xE9` becomes `/caf%E9`. A request to this URL has the octets that the server sent.
    ///
    /// In a `Link` field, the text in angle brackets is a URL, and the rest is read as ISO 8859-1. In every other field that can have a
    /// URL, the whole value is a URL.
    package var valuePreservingURLs: String { withUnsafeBytesOfValue { Self.textPreservingURLs($0, of: name) } }

    /// Returns the octets of a field's value as text, as ``valuePreservingURLs`` does.
    package static func textPreservingURLs(_ octets: UnsafeBufferPointer<UInt8>, of name: Name) -> String {
        if let text = String(validating: octets, as: UTF8.self) { return text }
        let isLink = name == link
        var (text, isInURL) = ("", !isLink)
        for octet in octets {
            if isLink, octet == UInt8(ascii: "<") || octet == UInt8(ascii: ">") { isInURL = octet == UInt8(ascii: "<") }
            if octet >= 0x80, isInURL {
                text += PercentEncoding.escape(of: octet)
            } else {
                text.unicodeScalars.append(Unicode.Scalar(octet))
            }
        }
        return text
    }

    /// Returns whether a field of this name has URLs to which a request may be sent.
    package static func hasReferences(_ name: Name) -> Bool { name == .location || name == .contentLocation || name == link }

    private static let link = Name.known("Link")
}
