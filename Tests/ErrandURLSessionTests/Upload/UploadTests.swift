internal import Dispatch
internal import ErrandCore
internal import ErrandTesting
internal import Foundation
internal import Synchronization
internal import TestSupport
internal import Testing

@testable internal import ErrandURLSession

@Suite struct UploadTests {
    /// Reads a buffer on a thread of its own, until its end or its failure.
    private func readAll(_ buffer: UploadBuffer, by count: Int = 3) async -> (Data, UploadBuffer.Reading) {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "reader").async {
                var (read, bytes) = (Data(), [UInt8](repeating: 0, count: count))
                while true {
                    let reading = bytes.withUnsafeMutableBufferPointer { buffer.read(into: $0) }
                    guard case .bytes(let count) = reading else { return continuation.resume(returning: (read, reading)) }
                    read += bytes.prefix(count)
                }
            }
        }
    }

    @Test func aReaderGetsEveryChunkInOrder() async throws {
        let buffer = UploadBuffer()
        async let result = readAll(buffer)
        for text in ["one", "", "two and more", "3"] { try await buffer.write(Data(text.utf8)) }
        buffer.finish()
        let (read, end) = await result
        #expect(String(decoding: read, as: UTF8.self) == "onetwo and more3" && end == .end)
    }

    @Test func aStoppedBufferFailsItsReaderAndItsWriter() async throws {
        let buffer = UploadBuffer()
        let writer = Task { try await buffer.write(Data("abc".utf8)) }
        buffer.stop()
        await #expect(throws: UploadSinkClosedError.self) { try await writer.value }
        let (read, end) = await readAll(buffer)
        #expect(read.isEmpty && end == .failure)
        // The first end counts.
        buffer.finish()
        #expect(await readAll(buffer).1 == .failure)
    }

    @Test func aWaitingReaderIsWokenByAStop() async throws {
        for _ in 0..<200 {
            let buffer = UploadBuffer()
            async let result = readAll(buffer)
            await Task.yield()
            buffer.stop()
            #expect(await result.1 == .failure)
        }
    }

    @Test func aSinkOverAnOutputStreamWritesEveryChunk() async throws {
        let folder = try TestFolder("upload")
        let path = folder.file("body")
        let ended = Signal()
        let sink = OutputStreamSink(try #require(OutputStream(toFileAtPath: path, append: false))) { ended.signal() }
        for text in ["one", "", "two"] { try await sink.write(Data(text.utf8)) }
        sink.finish()
        try await ended.wait()
        #expect(try folder.read("body") == Data("onetwo".utf8))
        await #expect(throws: UploadSinkClosedError.self) { try await sink.write(Data("late".utf8)) }
    }

    @Test func aStoppedSinkAcceptsNothing() async throws {
        let ended = Counter()
        let sink = OutputStreamSink(OutputStream(toMemory: ())) { ended.add() }
        sink.stop()
        await #expect(throws: UploadSinkClosedError.self) { try await sink.write(Data("late".utf8)) }
        #expect(ended.value == 0)
    }

    // MARK: The upload of an exchange

    private func exchange(_ upload: SessionUpload) throws -> SessionExchange {
        let rules = SessionExchange.Machine.Rules(requestLength: nil)
        return SessionExchange(try Request(.post, url: "http://a.example/"), rules: rules, upload: upload)
    }

    #if canImport(FoundationNetworking)
    /// Reads a stream on a thread of its own. `nil` if the stream fails.
    private func read(_ makeStream: @escaping @Sendable () -> InputStream?) async -> Data? {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "reader").async {
                guard let stream = makeStream() else { return continuation.resume(returning: nil) }
                var (read, bytes) = (Data(), [UInt8](repeating: 0, count: 5))
                while true {
                    let count = stream.read(&bytes, maxLength: bytes.count)
                    guard count > 0 else { return continuation.resume(returning: count == 0 ? read : nil) }
                    read += bytes.prefix(count)
                }
            }
        }
    }

    @Test func aRestartedBodyBeginsAgain() async throws {
        let upload = SessionUpload(.stream(length: 9) { _ in ScriptedBodySource(Data("some body".utf8), pieceBytes: 1) })
        let exchange = try exchange(upload)
        upload.start(for: exchange)
        for _ in 0..<3 { #expect(await read { upload.open() } == Data("some body".utf8)) }
        upload.stop()
        #expect(await read { upload.open() } == nil)
        exchange.abandon()
    }

    @Test func aBodyIsNotReadBeforeTheExchangeExists() async throws {
        let opened = Counter()
        let upload = SessionUpload(
            .stream { _ in
                opened.add()
                return ScriptedBodySource(Data("some body".utf8), pieceBytes: 1)
            })
        let stream = Mutex(upload.open())
        await Task.yield()
        #expect(opened.value == 0)
        let exchange = try exchange(upload)
        upload.start(for: exchange)
        #expect(await read { stream.withLock { $0 } } == Data("some body".utf8))
        exchange.abandon()
    }

    @Test func aFailedBodyFailsTheStream() async throws {
        let upload = SessionUpload(.stream(length: 99) { _ in ScriptedBodySource(Data("some body".utf8), pieceBytes: 1) })
        let exchange = try exchange(upload)
        upload.start(for: exchange)
        #expect(await read { upload.open() } == nil)
        let driver = ScriptedDriver()
        let failure = try await transportError { try await exchange.run(on: driver) }
        #expect(failure.code == .requestBody && driver.calls.resumes == 0)
    }
    #endif
}
