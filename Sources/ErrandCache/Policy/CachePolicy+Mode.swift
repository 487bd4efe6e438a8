internal import ErrandCore

extension CachePolicy {
    /// The way in which one request uses the cache. Each mode has the meaning of one case of Foundation's `URLRequest.CachePolicy`.
    ///
    /// | Mode | `URLRequest.CachePolicy` |
    /// |---|---|
    /// | ``standard`` | `useProtocolCachePolicy` |
    /// | ``reload`` | `reloadIgnoringLocalCacheData` |
    /// | ``reloadEverywhere`` | `reloadIgnoringLocalAndRemoteCacheData` |
    /// | ``revalidate`` | `reloadRevalidatingCacheData` |
    /// | ``storedElseLoad`` | `returnCacheDataElseLoad` |
    /// | ``storedOnly`` | `returnCacheDataDontLoad` |
    public enum Mode: String, Sendable, Hashable, CaseIterable {
        /// The cache follows the rules of HTTP.
        case standard
        /// The request goes to the server without conditions. The response may be stored.
        case reload
        /// Like ``reload``. The request also asks the caches between the app and the server for a fresh response (`Cache-Control:
        /// no-cache`).
        case reloadEverywhere
        /// The server confirms the stored response, even if the response is fresh. A fresh response that is `immutable` is used without a
        /// request ([RFC 8246](https://www.rfc-editor.org/rfc/rfc8246)).
        case revalidate
        /// A stored response of any age is used, even if the server demands validation. Without a stored response, the request goes to the
        /// server.
        case storedElseLoad
        /// A stored response of any age is used, even if the server demands validation. Without a stored response, the response is a 504
        /// that the cache makes.
        case storedOnly
    }
}
