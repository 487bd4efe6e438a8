#if NIO
extension HTTPStack {
    /// A stack of the platform's transport, which follows redirects (at most 20) and decodes gzip and deflate.
    ///
    /// There is one transport for the whole process, with one connection pool, which is never shut down. Make a `NIOTransport` for settings or a
    /// lifetime of your own. Today the platform's transport is `NIOTransport` on every platform.
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
    /// It shares its connections with ``default`` and ``bare``.
    public static let decompressing = bare.decompress()

    /// A stack of the platform's transport alone: it follows no redirect and decodes no content.
    ///
    /// See ``default`` and ``decompressing``, with which it shares its connections.
    public static let bare = HTTPStack(NIOTransport())
}
#endif
