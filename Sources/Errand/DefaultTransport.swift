#if NIO
extension HTTPStack {
    /// A stack of the platform's transport, which follows redirects (at most 20) and decodes gzip and deflate.
    ///
    /// There is one transport for the whole process, with one connection pool, which is never shut down. Make a `NIOTransport` for settings or a
    /// lifetime of your own. Today the platform's transport is `NIOTransport` on every platform.
    ///
    /// What belongs inside `redirect` is put there, if it comes first: credentials, and observers of each exchange.
    ///
    /// ```swift
    /// let stack = HTTPStack.default.authenticate(.bearer(tokens)).metrics().retry()
    /// print(stack)        // retry(…) > redirect(…) > metrics > authenticate(bearer) > decompress > NIOTransport
    /// ```
    public static let `default` = decompressing.covered(by: RedirectMiddleware())

    /// A stack of the platform's transport, which decodes gzip and deflate, and follows no redirect.
    ///
    /// ```swift
    /// let stack = HTTPStack.decompressing.metrics().trace().redirect(RedirectPolicy(maxHops: 3)).retry()
    /// ```
    ///
    /// It shares its connections with ``default`` and ``bare``.
    public static let decompressing = bare.decompress()

    /// A stack of the platform's transport alone: it follows no redirect and decodes no content.
    ///
    /// See ``default`` and ``decompressing``, with which it shares its connections.
    public static let bare = HTTPStack(NIOTransport())
}
#endif
