#if NIO
internal import NIOCore
internal import NIOSSL

extension ChannelHandlerContext {
    /// Closes the connection without waiting for the other side.
    ///
    /// TLS reports to the other side that this side sends no more. NIOSSL would then wait up to 5 s for the same message of the other side,
    /// which comes after all unread bytes. A client does not need this message
    /// ([RFC 8446, section 6.1](https://www.rfc-editor.org/rfc/rfc8446#section-6.1)).
    ///
    /// HTTP/2 first closes in the slow way, for ``HTTP2Limits/closeTimeout``: it reads on, because a connection that is closed with
    /// unread bytes is reset, which can take away the GOAWAY before the other side has read it. No caller waits for that: a shutdown
    /// closes at once.
    func closeAtOnce() {
        // The first handler of TLS. If there are two, the first is for the proxy. A close from there goes past both handlers to the socket.
        let tls = try? pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self)
        close(promise: nil)
        tls?.close(promise: nil)
    }
}

extension Channel {
    /// Closes the connection as ``NIOCore/ChannelHandlerContext/closeAtOnce()`` does. Must be called on the event loop.
    func closeAtOnce() {
        let tls = try? pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self)
        close(promise: nil)
        tls?.close(promise: nil)
    }
}
#endif
