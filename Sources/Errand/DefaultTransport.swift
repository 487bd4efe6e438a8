#if AsyncHTTPClient
extension HTTPStack {
    /// A stack of the platform's transport, which follows redirects (at most 20) and decodes gzip and deflate.
    ///
    /// There is one transport for the whole process, with one connection pool, which is never shut down. Make an `AsyncHTTPClientTransport` for
    /// settings or a lifetime of your own. Today the transport is that of AsyncHTTPClient on every platform.
    ///
    /// Every modifier of this stack stands outside `redirect`. Observers of each exchange, such as `metrics` and `trace`, belong inside: begin
    /// with ``decompressing`` for them.
    public static let `default` = decompressing.redirect()

    /// A stack of the platform's transport, which decodes gzip and deflate, and follows no redirect: the start for observers of each exchange.
    ///
    /// ```swift
    /// let stack = HTTPStack.decompressing.metrics().trace().redirect().retry().timeout(.seconds(30))
    /// print(stack.orderProblems)      // []: metrics and trace see each hop of a redirect and each attempt
    /// ```
    ///
    /// It shares its connections with ``default``.
    public static let decompressing = HTTPStack(AsyncHTTPClientTransport.decompressing())

    /// A stack of the platform's transport alone: it follows no redirect and decodes no content. It has a connection pool of its own.
    ///
    /// See ``default`` and ``decompressing``.
    public static let bare = HTTPStack(AsyncHTTPClientTransport())
}
#endif
