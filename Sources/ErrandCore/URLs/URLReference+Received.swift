extension URLReference {
    /// Reads a reference that a server has sent, such as the value of `Location`, as browsers read it: octets that a URL must not contain are
    /// percent-encoded.
    ///
    /// ```swift
    /// try URLReference(received: "/straße?tag[]=a b#top of page").description
    /// // /stra%C3%9Fe?tag%5B%5D=a%20b#top%20of%20page
    /// ```
    ///
    /// The app can't correct a URL in a response, and other clients follow such a URL ([RFC 9110, section
    /// 10.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.2)). A URL of the app is read by ``init(_:)``, which repairs nothing.
    ///
    /// - Spaces around the text are dropped.
    /// - In the path, the query and the fragment, these are percent-encoded: spaces, octets that are not ASCII, and each other octet that RFC 3986 does not
    ///   allow there, such as brackets, braces, quotation marks and a bar. Escapes are kept. A `%` without two hexadecimal digits becomes `%25`.
    ///   Browsers send some of these octets as they are ([WHATWG URL, section 1.3](https://url.spec.whatwg.org/#percent-encoded-bytes)); a
    ///   server decodes both forms to the same text.
    /// - A backslash is percent-encoded, too. Browsers read it as a slash, so that `/\other.example` would lead to another host. Here it is a part of
    ///   the path on the same host.
    /// - Scheme, host and port are not repaired.
    ///
    /// - Throws: ``InvalidURLError`` for a control character anywhere in the text, and for a space in the host. Making an ``HTTPURL`` of the reference
    ///   also refuses credentials, other schemes, and invalid hosts.
    public init(received text: String) throws(InvalidURLError) {
        try self.init(RepairedURL.encoded(text, from: .server))
    }
}
