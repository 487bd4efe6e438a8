#if Auth
internal import ErrandFormats

extension CookieTable {
    /// The parts of a cookie that decisions need. Copying this value changes no reference count.
    struct Slot: Sendable {
        /// The hash of three parts of the key: the name, the path, and whether the cookie is sent only to its host.
        let keyHash: Int
        let isHostOnly: Bool
        let pathBytes: Int
        /// The position in the order in which the cookies were inserted.
        let order: UInt64
        /// The index of the domain.
        let domain: Int
        var created: HTTPDate
        var conditions: CookiePolicy.Conditions

        init(_ cookie: Cookie, domain: Int, order: UInt64) {
            (keyHash, isHostOnly, pathBytes) = (Self.hash(of: cookie.key), cookie.isHostOnly, cookie.path.utf8.count)
            (self.domain, self.order, created, conditions) = (domain, order, cookie.created, CookiePolicy.Conditions(cookie))
        }

        static func hash(of key: Cookie.Key) -> Int {
            var hasher = Hasher()
            hasher.combine(OctetKey(key.name))
            hasher.combine(OctetKey(key.path))
            hasher.combine(key.isHostOnly)
            return hasher.finalize()
        }

        /// Whether the cookie is sent before another cookie: longer paths first, then older cookies.
        func isSent(before other: Slot) -> Bool {
            if pathBytes != other.pathBytes { return pathBytes > other.pathBytes }
            return created != other.created ? created < other.created : order < other.order
        }
    }
}
#endif
