#if AsyncHTTPClient
extension HTTPStack {
    /// The platform's transport, with redirects followed (at most 20) and gzip and deflate decoded.
    ///
    /// One for the whole process, with one connection pool, never shut down; make an `AsyncHTTPClientTransport` for settings or a
    /// lifetime of your own. Today it is AsyncHTTPClient's, on every platform.
    public static let `default` = HTTPStack(AsyncHTTPClientTransport.decompressing()).redirect()

    /// The platform's transport alone: no redirect is followed, no content decoded. See ``default``.
    public static let bare = HTTPStack(AsyncHTTPClientTransport())
}
#endif
