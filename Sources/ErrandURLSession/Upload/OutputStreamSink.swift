internal import Dispatch
internal import ErrandCore
internal import Foundation
internal import Synchronization

/// The writing end of a pair of bound streams. The session reads from the other end.
///
/// Writing blocks while the session reads slowly. Therefore each stream has its own queue.
final class OutputStreamSink: UploadSink {
    static let bufferBytes = 64 * 1024

    private let queue = DispatchQueue(label: "errand.url-session-upload")
    private let isStopped = Atomic(false)
    private let onEnd: @Sendable () -> Void
    /// The sink uses the stream only on the queue.
    private let stream: OutputStreamBox

    /// - Parameter onEnd: a closure that is called when the whole body was written.
    init(_ stream: sending OutputStream, onEnd: @escaping @Sendable () -> Void) {
        self.stream = OutputStreamBox(stream)
        self.onEnd = onEnd
        queue.async { [stream = self.stream] in stream.open() }
    }

    func write(_ chunk: Data) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            queue.async { [self] in
                let isWritten = !isStopped.load(ordering: .acquiring) && stream.write(chunk)
                continuation.resume(with: isWritten ? .success(()) : .failure(UploadSinkClosedError()))
            }
        }
    }

    func finish() {
        queue.async { [stream, onEnd] in
            stream.close()
            onEnd()
        }
    }

    func stop() {
        isStopped.store(true, ordering: .releasing)
        queue.async { [stream] in stream.close() }
    }
}

/// A stream that only one queue uses.
private final class OutputStreamBox: Sendable {
    private let stream: Mutex<OutputStream>

    init(_ stream: sending OutputStream) { self.stream = Mutex(stream) }

    func open() { stream.withLock { $0.open() } }
    func close() { stream.withLock { $0.close() } }

    /// Writes the whole chunk. Returns false if the stream accepts no more bytes.
    func write(_ chunk: Data) -> Bool {
        stream.withLock { stream in
            var rest = chunk
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { bytes in
                    bytes.bindMemory(to: UInt8.self).baseAddress.map { stream.write($0, maxLength: bytes.count) } ?? -1
                }
                guard count > 0 else { return false }
                rest = rest.dropFirst(count)
            }
            return true
        }
    }
}
