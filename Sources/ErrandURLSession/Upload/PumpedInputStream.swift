#if canImport(FoundationNetworking) && !ERRAND_APPLE_CHECK
internal import Foundation

/// A stream whose bytes a task writes to a buffer. On Linux, the session reads the stream on its own queue, and blocks the queue during the
/// read.
final class PumpedInputStream: InputStream {
    private let buffer: UploadBuffer
    private let onEnd: @Sendable () -> Void

    /// - Parameter onEnd: a closure that is called when the session has read the end.
    init(_ buffer: UploadBuffer, onEnd: @escaping @Sendable () -> Void) {
        (self.buffer, self.onEnd) = (buffer, onEnd)
        super.init(data: Data())
    }

    override func open() {}
    override func close() { buffer.stop() }
    /// The session requires a stream that is not open, and opens the stream.
    override var streamStatus: Stream.Status { .notOpen }
    override var hasBytesAvailable: Bool { true }

    override func read(_ bytes: UnsafeMutablePointer<UInt8>, maxLength count: Int) -> Int {
        switch buffer.read(into: UnsafeMutableBufferPointer(start: bytes, count: count)) {
        case .bytes(let count): return count
        case .end:
            onEnd()
            return 0
        case .failure: return -1
        }
    }
}

/// Returns a stream for a session on Linux, and the sink that writes bytes to the stream.
@Sendable func makePlatformSink(onEnd: @escaping @Sendable () -> Void) -> (InputStream, any UploadSink)? {
    let buffer = UploadBuffer()
    return (PumpedInputStream(buffer, onEnd: onEnd), buffer)
}
#endif
