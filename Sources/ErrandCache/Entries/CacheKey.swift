public import ErrandCore

/// The key of the stored responses of one URL, one account, and, for QUERY, one content
/// ([RFC 9111, section 2](https://www.rfc-editor.org/rfc/rfc9111#section-2)).
///
/// A key may have several entries, which `Vary` distinguishes. GET and HEAD have the same key.
public struct CacheKey: Sendable, Hashable, CustomStringConvertible, HidesStorage {
    /// The account to which stored responses belong.
    public enum Partition: Sendable, Hashable {
        /// No account: the requests had no credentials, or the cache is shared.
        case none
        /// The account whose credentials or cookies the requests had. A store on the disk keeps no responses of a volatile identity.
        case account(CredentialIdentity)
    }

    /// The content of a QUERY request, which is a part of the key ([RFC 10008](https://www.rfc-editor.org/rfc/rfc10008)).
    public struct Content: Sendable, Hashable {
        /// A digest of the body, with at least 128 bits.
        public let digest: [UInt8]
        /// The fields that describe the body, in one text.
        public let fields: String

        /// Creates a content.
        ///
        /// - Parameters:
        ///   - digest: a digest of the body, with at least 128 bits.
        ///   - fields: the fields that describe the body, in one text.
        public init(digest: [UInt8], fields: String) { (self.digest, self.fields) = (digest, fields) }

        /// Returns whether the octets are equal.
        public static func == (one: Content, other: Content) -> Bool { one.digest == other.digest && one.fields.isExactly(other.fields) }

        /// Hashes the digest.
        public func hash(into hasher: inout Hasher) { hasher.combine(digest) }
    }

    /// The URL, without a fragment, in the form in which it is sent. If ``search`` is not `nil`, the URL has no query.
    public let url: String
    /// The origin of the URL.
    public let origin: Origin
    /// The account to which the responses belong.
    public let partition: Partition
    /// The content of a QUERY request; `nil` for other methods.
    public let content: Content?
    /// The parameters of the query that select the response, in a form that only the cache reads. `nil` if the whole query selects the
    /// response: only responses with `No-Vary-Search` have such a text, and only if ``CachePolicy/usesNoVarySearch`` is true.
    public let search: String?

    /// Creates a key. The whole query of the URL selects the response.
    ///
    /// - Parameters:
    ///   - url: the URL.
    ///   - partition: the account to which the responses belong.
    ///   - content: the content of a QUERY request; `nil` for GET and HEAD.
    public init(url: HTTPURL, partition: Partition = .none, content: Content? = nil) {
        (self.url, origin, self.partition, self.content, search) = (url.description, url.origin, partition, content, nil)
    }

    private init(url: String, origin: Origin, partition: Partition, content: Content?, search: String) {
        (self.url, self.origin, self.partition, self.content, self.search) = (url, origin, partition, content, search)
    }

    /// Returns a key with the origin and the account of this key. The cache stores a response with `No-Vary-Search` under this key.
    ///
    /// - Parameters:
    ///   - url: the URL without a query.
    ///   - content: the content of a QUERY request; `nil` for other methods.
    ///   - search: the text of ``search``.
    package func replacing(url: String, content: Content?, search: String) -> CacheKey {
        CacheKey(url: url, origin: origin, partition: partition, content: content, search: search)
    }

    /// Returns whether all parts are equal. URLs are compared octet by octet.
    public static func == (one: CacheKey, other: CacheKey) -> Bool {
        one.url.isExactly(other.url) && one.content == other.content && one.partition == other.partition
            && one.search.map { OctetKey($0) } == other.search.map { OctetKey($0) }
    }

    /// Hashes all parts.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(OctetKey(url))
        hasher.combine(partition)
        hasher.combine(content)
        if let search { hasher.combine(OctetKey(search)) }
    }

    /// The URL, in which secrets are replaced.
    public var description: String { Sensitivity.standard.redactedURL(url) }
}
