internal import Dispatch
internal import ErrandCore
internal import Foundation
internal import Synchronization

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// A source of the bytes of a `URLRequest`'s body stream. Reading a stream blocks a thread. Therefore each source has its own queue.
///
/// If the task of a reader is cancelled, ``next()`` throws immediately. A stream has no function that ends a blocked read. Therefore, the
/// blocked thread closes and releases the stream after the read has returned.
final class InputStreamSource: BodySource {
    private static let chunkBytes = 64 * 1024

    private let queue = DispatchQueue(label: "errand.input-stream")
    private let stream: Mutex<InputStream?>
    /// Whether a read was cancelled. The bytes of that read are lost, so the source must not report the end of the body.
    private let isCancelled = Atomic(false)

    init(_ request: URLRequest) {
        stream = Mutex(request.httpBodyStream)
        queue.async { self.stream.withLock { $0?.open() } }
    }

    func next() async throws -> Data? {
        try Task.checkCancellation()
        if isCancelled.load(ordering: .acquiring) { throw CancellationError() }
        let outcome = FirstResult<Data?>()
        do {
            return try await outcome.wait {
                queue.async { if !outcome.isDecided { outcome.decide(Result { try self.read() }) } }
            }
        } catch let error as CancellationError {
            isCancelled.store(true, ordering: .releasing)
            abandon()
            throw error
        }
    }

    private func read() throws -> Data? {
        try stream.withLock { stream in
            guard let open = stream else { return nil }
            var bytes = [UInt8](repeating: 0, count: Self.chunkBytes)
            let count = open.read(&bytes, maxLength: bytes.count)
            if count > 0 { return Data(bytes.prefix(count)) }
            open.close()
            stream = nil
            if count < 0 { throw InputStreamError() }
            return nil
        }
    }

    func abandon() {
        queue.async {
            self.stream.withLock { stream in
                stream?.close()
                stream = nil
            }
        }
    }
}

/// The error for a body stream that could not be read.
struct InputStreamError: SafelyDescribedError {
    var description: String { "the body stream could not be read" }
}
