#if SWIFT_NIO || canImport(Darwin) || ERRAND_APPLE_CHECK
extension HTTPStack {
    /// A stack that uses the platform's transport, names this library in `User-Agent`, follows at most 20 redirects, decodes gzip
    /// and deflate, and sorts its layers.
    ///
    /// The platform's transport is `URLSessionTransport` on Apple's platforms, and `NIOTransport` on other platforms. One such transport
    /// serves the whole process. The transport has one connection pool, and is never shut down. For other settings or a shorter lifetime,
    /// create a transport.
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

    /// A stack that uses the platform's transport, decodes gzip and deflate, and follows no redirects. Each modifier wraps the
    /// stack that it is called on.
    ///
    /// ```swift
    /// let stack = HTTPStack.decompressing.metrics().trace().redirect(RedirectPolicy(maxHops: 3)).retry()
    /// ```
    ///
    /// The stack shares its connections with ``default`` and ``bare``.
    public static let decompressing = bare.decompress()

    /// A stack that has only the platform's transport, follows no redirects and decodes no content. Each modifier wraps the stack
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
