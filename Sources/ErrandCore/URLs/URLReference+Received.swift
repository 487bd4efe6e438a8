extension URLReference {
    /// Creates a reference from text that a server has sent, such as the value of `Location`. As in browsers, octets that a URL
    /// must not contain are percent-encoded.
    ///
    /// ```swift
    /// try URLReference(received: "/straße?tag[]=a b#top of page").description
    /// // /stra%C3%9Fe?tag%5B%5D=a%20b#top%20of%20page
    /// ```
    ///
    /// The app can't correct an invalid URL in a response, and other clients follow invalid URLs ([RFC 9110, section
    /// 10.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.2)). For a URL that the app built, use ``init(_:)``, which repairs
    /// nothing.
    ///
    /// - Spaces around the text are dropped.
    /// - In the path, the query and the fragment, every octet that RFC 3986 does not allow there is percent-encoded. Examples are
    ///   spaces, octets that are not ASCII, brackets, braces, quotation marks and vertical bars. Escapes are kept. A `%` without
    ///   two hexadecimal digits becomes `%25`. Browsers send some of these octets unchanged ([WHATWG URL, section
    ///   1.3](https://url.spec.whatwg.org/#percent-encoded-bytes)). A server decodes an octet and its percent-encoded form to the
    ///   same text.
    /// - A backslash is also percent-encoded. In browsers, a backslash is read as a slash, so that `/\other.example` leads to
    ///   another host. In this initializer, a backslash is a part of the path on the same host.
    /// - The scheme, host and port are not repaired.
    ///
    /// - Throws: ``InvalidURLError`` if the text contains a control character, or if the authority contains a space. If you create
    ///   an ``HTTPURL`` from the reference, credentials, other schemes and invalid hosts cause the same error.
    public init(received text: String) throws(InvalidURLError) {
        try self.init(RepairedURL.encoded(text, from: .server))
    }
}
