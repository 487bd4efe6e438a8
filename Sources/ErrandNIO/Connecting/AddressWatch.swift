#if SWIFT_NIO
internal import NIOCore

/// Records the address that a channel connects to, and the error if the connection attempt fails. This handler leaves the pipeline as soon
/// as the attempt has begun.
final class AddressWatch: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = ByteBuffer

    private let attempt: ConnectAttempt

    init(_ attempt: ConnectAttempt) { self.attempt = attempt }

    func connect(context: ChannelHandlerContext, to address: SocketAddress, promise: EventLoopPromise<Void>?) {
        attempt.recordTry(of: address)
        promise?.futureResult.whenFailure { [attempt] error in attempt.recordFailure(of: address, because: error) }
        context.connect(to: address, promise: promise)
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }
}
#endif
