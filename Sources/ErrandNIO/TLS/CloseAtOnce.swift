#if NIO
internal import NIOCore
internal import NIOSSL

extension ChannelHandlerContext {
    /// Closes the connection, and does not wait for the other side.
    ///
    /// TLS tells the other side that this side sends no more. NIOSSL would then wait up to 5 s for the other side to say the same, which
    /// comes after everything that nobody reads. A client needs no such answer
    /// ([RFC 8446, section 6.1](https://www.rfc-editor.org/rfc/rfc8446#section-6.1)).
    ///
    /// HTTP/2 closes in the slow way: it reads on, so that the other side's end comes soon, and a connection that is closed with unread bytes
    /// is reset, which can take away the GOAWAY before the other side has read it.
    func closeAtOnce() {
        // The first one, which is that of the proxy if there are two: a close from there goes to the socket, past both.
        let tls = try? pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self)
        close(promise: nil)
        tls?.close(promise: nil)
    }
}
#endif
