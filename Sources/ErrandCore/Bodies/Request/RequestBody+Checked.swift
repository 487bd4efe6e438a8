internal import Synchronization

extension RequestBody {
    /// Opens the body, and checks that the source has the declared length. For transports.
    ///
    /// The last bytes of the declared length are held back until the stream has ended. If these bytes were sent earlier, a
    /// server would accept the beginning of a longer stream as the whole body.
    ///
    /// - Parameter offset: the offset in bytes. Default: 0. If the body is not ``Replay/seekable``, the offset must be 0.
    /// - Throws: the errors of ``open(from:)``. Reading the source also throws ``RequestBodyLengthError``.
    package func openChecked(from offset: Int64 = 0) async throws -> any BodySource {
        let source = try await open(from: offset)
        guard let length else { return source }
        return LengthCheckedSource(source, length: max(0, length - offset))
    }

    /// Opens the body, and reads the body to its end. Each chunk is read after `write` has returned for the previous chunk.
    ///
    /// - Returns: the trailers of the body.
    /// - Throws: the error of the body, or of `write`; ``RequestBodyLengthError``; `CancellationError` if the task is cancelled.
    package func pump(into write: (Data) async throws -> Void) async throws -> HTTPFields? {
        let source = try await openChecked()
        defer { source.abandon() }
        while let chunk = try await source.next() { try await write(chunk) }
        // A sequence such as `AsyncStream` also ends when its reader is cancelled. After a cancellation, the body is not complete.
        try Task.checkCancellation()
        return source.trailers
    }
}

/// The error for a stream whose length differs from the length that its body declared.
package struct RequestBodyLengthError: SafelyDescribedError {
    let declared: Int64
    let atLeast: Int64
    package var description: String { "the body has \(atLeast.counted("byte")), but \(declared) were declared" }
}

private final class LengthCheckedSource: BodySource {
    private let source: any BodySource
    private let length: Int64
    /// The number of bytes read.
    private let count = Atomic<Int64>(0)

    init(_ source: any BodySource, length: Int64) { (self.source, self.length) = (source, length) }

    func next() async throws -> Data? {
        guard let chunk = try await source.next() else {
            // A sequence such as `AsyncStream` also ends when its reader is cancelled. After a cancellation, the body is not
            // complete.
            try Task.checkCancellation()
            try check(count.load(ordering: .relaxed))
            return nil
        }
        let given = count.wrappingAdd(Int64(chunk.count), ordering: .relaxed).newValue
        guard given >= length else { return chunk }
        let rest = given == length ? try await source.next() : nil
        try Task.checkCancellation()
        try check(given + Int64(rest?.count ?? 0))
        return chunk
    }

    private func check(_ whole: Int64) throws {
        guard whole == length else { throw RequestBodyLengthError(declared: length, atLeast: whole) }
    }

    func abandon() { source.abandon() }
    func fail(with error: any Error) { source.fail(with: error) }
    var trailers: HTTPFields? { source.trailers }
}
