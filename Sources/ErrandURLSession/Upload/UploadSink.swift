internal import Foundation

/// The writing side of a stream that a session reads.
protocol UploadSink: Sendable {
    /// Writes a chunk. Returns when the session has accepted the chunk.
    ///
    /// - Throws: ``UploadSinkClosedError`` if the session no longer reads the stream.
    func write(_ chunk: Data) async throws
    /// Ends a complete body.
    func finish()
    /// Ends an incomplete body. The session's task must already be cancelled, or the sink must be able to report a failure to the session.
    func stop()
}

/// The error for a stream that the session no longer reads. The session reports the reason.
struct UploadSinkClosedError: Error {}
