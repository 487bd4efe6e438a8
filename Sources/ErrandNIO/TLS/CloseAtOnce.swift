#if NIO
internal import NIOCore
internal import NIOSSL

extension ChannelHandlerContext {
    /// Closes the connection, and does not wait for the other side.
    ///
    /// TLS tells the other side that this side sends no more. NIOSSL would then wait up to 5 s for the other side to say the same, which
    /// comes after everything that nobody reads. A client needs no such answer
    /// ([RFC 8446, section 6.1](https://www.rfc-editor.org/rfc/rfc8446#section-6.1)).
    func closeAtOnce() {
        // The first is that of the proxy, if there are two.
        let tls = try? pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self)
        close(promise: nil)
        tls?.close(promise: nil)
    }
}
#endif
