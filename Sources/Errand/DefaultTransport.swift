#if SWIFT_NIO || canImport(Darwin) || ERRAND_APPLE_CHECK
extension HTTPStack {
    /// A stack with the platform's transport that names this library in `User-Agent`, follows redirects (at most 20), decodes gzip
    /// and deflate, and sorts its layers.
    ///
    /// The platform's transport is `URLSessionTransport` on Apple's platforms, and `NIOTransport` on other platforms. The whole process has
    /// one such transport, with one connection pool, which is never shut down. For other settings or a shorter lifetime, create a
    /// transport.
    ///
    /// Write modifiers in any order: the stack puts each layer in its place (``/ErrandCore/HTTPStack/sorted(around:defaults:)``). If
    /// you add `userAgent`, `redirect` or `decompress`, your layer replaces the default layer.
    ///
    /// ```swift
    /// let stack = HTTPStack.default.authenticate(.bearer(tokens)).metrics().retry()
    /// print(stack)        // userAgent(Errand/0.1) > retry(…) > redirect(…) > authenticate(bearer) > decompress > metrics > NIOTransport
    /// ```
    public static let `default` = sorted(around: bare) {
        UserAgentMiddleware()
        RedirectMiddleware()
        DecompressMiddleware()
    }

    /// A stack with the platform's transport that decodes gzip and deflate, and follows no redirects. Each modifier wraps the stack
    /// that it is called on.
    ///
    /// ```swift
    /// let stack = HTTPStack.decompressing.metrics().trace().redirect(RedirectPolicy(maxHops: 3)).retry()
    /// ```
    ///
    /// The stack shares its connections with ``default`` and ``bare``.
    public static let decompressing = bare.decompress()

    /// A stack with only the platform's transport, which follows no redirects and decodes no content. Each modifier wraps the stack
    /// that it is called on.
    ///
    /// The stack shares its connections with ``default`` and ``decompressing``.
    public static let bare = HTTPStack(platformTransport)

    #if canImport(Darwin) || ERRAND_APPLE_CHECK
    private static let platformTransport = URLSessionTransport()
    #else
    private static let platformTransport = NIOTransport()
    #endif
}
#endif
