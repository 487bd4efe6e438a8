#if SWIFT_NIO
internal import ErrandCore
internal import Synchronization

/// The bytes of a connection whose protocol was changed.
///
/// Received bytes are read like the body of a response. At most 64 KiB are received before the first read, and at most 512 KiB are queued
/// after the first read. When the last reference to the stream is released, the connection is closed.
///
/// Over TCP, each direction ends independently. Over TLS, the end of the server's direction ends both directions ([RFC 5246, section
/// 7.2.1](https://www.rfc-editor.org/rfc/rfc5246#section-7.2.1)). An end without a `close_notify` is a failure.
final class UpgradedStream: DuplexStream, ReadyBodySource {
    private let exchange: Exchange
    private let connection: Connection
    private let input: ExchangeBodySource
    private let output: UpgradedOutput
    private let head: HTTPResponse
    private let isClosed = Atomic(false)

    init(_ exchange: Exchange, on connection: Connection, _ input: ExchangeBodySource, _ output: UpgradedOutput, head: HTTPResponse) {
        self.exchange = exchange
        self.connection = connection
        self.input = input
        self.output = output
        self.head = head
    }

    deinit {
        if !isClosed.load(ordering: .relaxed) { connection.end(exchange, because: nil) }
    }

    private func failure(_ message: String) -> TransportError {
        exchange.failure(.connectionLost, phase: .send, message: message, response: head, delivery: .sent)
    }

    // MARK: - Writing

    /// Writes `data`. Returns when at most 256 KiB of written bytes are unsent.
    ///
    /// If a call is cancelled before it begins, nothing is written. If a call is cancelled while it waits, all of `data` is already queued.
    /// The bytes of `data` are written after the bytes of earlier calls.
    ///
    /// - Throws: ``ErrandCore/TransportError`` with the code `connectionLost` if the stream has ended, or if writing to the
    ///   stream has ended; `CancellationError` if the task is cancelled.
    func write(_ data: Data) async throws {
        try Task.checkCancellation()
        guard !data.isEmpty else { return }
        try add(data.count) { try output.append(data) }
        try await output.window.wait()
    }

    /// Changes the output by `append`: adds bytes, or the end of the output. Notifies the connection if necessary.
    ///
    /// - Parameters:
    ///   - count: the number of bytes that `append` adds. The window counts the bytes before the connection can write them.
    ///   - append: the closure that adds the bytes or the end, and returns whether the connection must be notified.
    private func add(_ count: Int, _ append: () throws -> Bool) throws {
        try output.window.count(count)
        do {
            if try append() { connection.onLoop { [exchange] in $0.writeUpgraded(exchange) } }
        } catch {
            output.window.remove(count)
            throw error
        }
    }

    /// Ends writing, and returns when the network has taken all written bytes. The other side may continue to write.
    ///
    /// - Throws: the errors of ``write(_:)``. A second call also throws.
    func finishWriting() async throws {
        try Task.checkCancellation()
        // The window counts the end of writing as one byte, which is sent last.
        try add(1) { try output.appendEnd(failure("writing was finished before")) }
        try await output.window.wait(upTo: 0)
    }

    /// Closes the connection. Written bytes are lost if the network has not taken the bytes. The exchange ends as complete.
    func close() {
        guard !isClosed.exchange(true, ordering: .relaxed) else { return }
        let failure = failure("the stream was closed before")
        output.close(because: failure)
        connection.onLoop { [exchange] in $0.closeUpgraded(exchange) }
    }

    // MARK: - Reading

    var incoming: any BodySource { self }

    func next() async throws -> Data? { try await input.next() }
    func takeReadyChunk() -> Data? { input.takeReadyChunk() }
    /// Closes the connection.
    func abandon() { input.abandon() }
    /// Closes the connection. The exchange ends as failed.
    func fail(with error: any Error) { input.fail(with: error) }
}
#endif
