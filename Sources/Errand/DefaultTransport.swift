#if NIO
extension HTTPStack {
    /// A stack of the platform's transport, which follows redirects (at most 20) and decodes gzip and deflate, and which sorts its layers.
    ///
    /// There is one transport for the whole process, with one connection pool, which is never shut down. Make a `NIOTransport` for settings or a
    /// lifetime of your own. Today the platform's transport is `NIOTransport` on every platform.
    ///
    /// Write modifiers in any order: each layer stands where it belongs (``/ErrandCore/HTTPStack/ordered(around:defaults:)``). A `redirect` or
    /// `decompress` of your own replaces the one that the stack has.
    ///
    /// ```swift
    /// let stack = HTTPStack.default.authenticate(.bearer(tokens)).metrics().retry()
    /// print(stack)        // retry(…) > redirect(…) > authenticate(bearer) > decompress > metrics > NIOTransport
    /// ```
    public static let `default` = ordered(around: bare) {
        RedirectMiddleware()
        DecompressMiddleware()
    }

    /// A stack of the platform's transport, which decodes gzip and deflate, and follows no redirect. Each modifier wraps the
    /// stack that it is called on.
    ///
    /// ```swift
    /// let stack = HTTPStack.decompressing.metrics().trace().redirect(RedirectPolicy(maxHops: 3)).retry()
    /// ```
    ///
    /// It shares its connections with ``default`` and ``bare``.
    public static let decompressing = bare.decompress()

    /// A stack of the platform's transport alone: it follows no redirect and decodes no content. Each modifier wraps the
    /// stack that it is called on.
    ///
    /// See ``default`` and ``decompressing``, with which it shares its connections.
    public static let bare = HTTPStack(NIOTransport())
}
#endif
