#if SWIFT_NIO
internal import NIOCore
internal import NIOSSL

extension ChannelHandlerContext {
    /// Closes the connection without waiting for the other side.
    ///
    /// When TLS closes a connection, the client sends a close_notify message. NIOSSL would wait up to 5 s for the close_notify of the
    /// server, which comes after all unread bytes. A client does not need the server's close_notify ([RFC 8446, section
    /// 6.1](https://www.rfc-editor.org/rfc/rfc8446#section-6.1)).
    ///
    /// An HTTP/2 connection first closes slowly: the connection continues to read for ``HTTP2Limits/closeTimeout``. If a connection is
    /// closed with unread bytes, the connection is reset. The reset can delete the GOAWAY frame before the other side has read the frame.
    /// No caller waits for this time, because a shutdown closes immediately.
    func closeAtOnce() {
        // If the proxy also uses TLS, the pipeline has two TLS handlers. The first handler belongs to the proxy. A close from the
        // context of the first handler bypasses both handlers and closes the socket.
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
