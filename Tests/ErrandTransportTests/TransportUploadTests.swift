#if SWIFT_NIO && MockServer
internal import Errand
internal import ErrandTesting
internal import Foundation
internal import TestSupport
internal import Testing

extension TransportTests {
    @Suite
    struct TransportUploadTests {
        /// What a server got.
        struct Received: Sendable {
            var body: Data?
            var length: String?
            var encoding: String?
        }

        /// A server that keeps the body of each request and responds with 201.
        private func store(in received: Watched<Received>) throws -> RawServer {
            try RawServer.responding { connection, request, body in
                received.change {
                    $0 = Received(body: body, length: request.value("content-length"), encoding: request.value("transfer-encoding"))
                }
                try connection.respond("201 Created")
            }
        }

        private func send(by tested: TestedTransport, _ body: RequestBody, headers: HTTPFields = HTTPFields()) async throws -> Received {
            let received = Watched(Received())
            let server = try store(in: received)
            defer { server.stop() }
            return try await tested.run { transport in
                let response = try await transport.send(Request(.put, url: server.url("/"), headers: headers, body: body))
                #expect(response.status == .created)
                #expect(try await response.end().isComplete)
                return received.value
            }
        }

        @Test(arguments: [1, 1_000, 64 * 1024, 64 * 1024 + 1, 5 * 1024 * 1024], TestedTransport.allCases)
        func bytesArriveWhole(count: Int, by tested: TestedTransport) async throws {
            let data = Data.seeded(count)
            let received = try await send(by: tested, .data(data))
            #expect(received.body == data)
            #expect(received.length == "\(count)")
            #expect(received.encoding == nil)
        }

        @Test(arguments: TestedTransport.allCases) func anEmptyBodyHasALengthOfZero(by tested: TestedTransport) async throws {
            let received = try await send(by: tested, .empty)
            #expect(received.body == Data())
            #expect(received.length == "0")
        }

        @Test(arguments: TestedTransport.allCases) func aFileArrivesWholeOrInPart(by tested: TestedTransport) async throws {
            let folder = try TestFolder("upload")
            let content = Data.seeded(20 * 1024 * 1024)
            let path = try folder.write(content, to: "file")
            let whole = try await send(by: tested, .file(atPath: path))
            #expect((whole.body == content) as Bool)
            #expect(whole.length == "\(content.count)")
            let part = try await send(by: tested, .file(atPath: path, range: 1_000_000..<3_000_001))
            #expect(part.body == content[1_000_000..<3_000_001])
            #expect(part.length == "2000001")
        }

        @Test(arguments: [true, false], TestedTransport.allCases)
        func aStreamArrivesWholeWithAndWithoutALength(isDeclared: Bool, by tested: TestedTransport) async throws {
            let content = Data.seeded(3 * 1024 * 1024 + 7)
            let received = try await send(
                by: tested, .stream(chunks(of: content, 100_000), length: isDeclared ? Int64(content.count) : nil))
            #expect((received.body == content) as Bool)
            #expect(received.length == (isDeclared ? "\(content.count)" : nil))
            #expect(received.encoding == (isDeclared ? nil : "chunked"))
        }

        @Test(arguments: TestedTransport.allCases) func aStreamWithoutAByteIsAnEmptyBodyInChunks(by tested: TestedTransport) async throws {
            let received = try await send(by: tested, .stream(chunks(of: Data(), 1)))
            #expect(received.body == Data())
            #expect(received.encoding == "chunked")
        }

        private func chunks(of data: Data, _ size: Int) -> AsyncThrowingStream<Data, any Error> {
            AsyncThrowingStream { continuation in
                for start in stride(from: 0, to: data.count, by: size) { continuation.yield(data[start..<min(start + size, data.count)]) }
                continuation.finish()
            }
        }

        /// How a body is framed is the transport's work.
        @Test(arguments: TestedTransport.allCases) func aLengthOfTheCallerIsIgnored(by tested: TestedTransport) async throws {
            let lying: HTTPFields = [.contentLength: "3", .transferEncoding: "chunked"]
            let known = try await send(by: tested, .data(Data.seeded(1_000)), headers: lying)
            #expect(known.length == "1000")
            #expect(known.encoding == nil)
            let unknown = try await send(by: tested, .stream(chunks(of: Data.seeded(1_000), 100)), headers: [.contentLength: "3"])
            #expect(unknown.length == nil)
            #expect(unknown.body == Data.seeded(1_000))
            let none = try await send(by: tested, .empty, headers: lying)
            #expect(none.length == "0")
        }

        @Test(
            .enabled(if: NginxServer.isHere, Comment(rawValue: NginxServer.missing)),
            .enabled(Comment(rawValue: NginxServer.storesNothing)) { try await NginxServer.storesUploads() },
            arguments: [NginxServer.Listener.plain, .tls], TestedTransport.allCases)
        func nginxStoresAnUpload(listener: NginxServer.Listener, by tested: TestedTransport) async throws {
            let nginx = try await NginxServer.shared()
            let content = Data.seeded(5 * 1024 * 1024 + 3)
            try await tested.run {
                $0.tls.extraRootsPEMFiles = [nginx.certificates.authority]
            } _: { transport in
                for (name, length) in [("known", Int64(content.count)), ("unknown", nil)] {
                    let name = "\(tested)-\(listener)-\(name)"
                    let body = RequestBody.stream(chunks(of: content, 70_000), length: length)
                    let response = try await transport.send(Request(.put, url: nginx.url("/put/\(name)", listener), body: body))
                    #expect(response.metadata.httpVersion == (listener == .tls ? .http2 : .http1_1))
                    #expect(response.status == .created)
                    #expect(try (nginx.stored(name) == content) as Bool)
                }
            }
        }

        // MARK: Bodies that break

        @Test(arguments: [(1_000, 2_000), (2_000, 1_000), (0, 10), (300_000, 200_000), (200_000, 300_000)], TestedTransport.allCases)
        func aStreamOfAnotherLengthThanDeclaredFails(_ example: (Int, Int), by tested: TestedTransport) async throws {
            let (declared, given) = example
            let received = Watched(Received())
            let server = try store(in: received)
            defer { server.stop() }
            try await tested.run { transport in
                // A length of zero is no body at all; the stream is not opened then.
                guard declared > 0 else { return }
                let source = CountingBodySource(totalBytes: given, chunkBytes: 500)
                let body = RequestBody.stream(length: Int64(declared)) { _ in source }
                let failure = try await transportError { try await transport.send(Request(.put, url: server.url(), body: body)) }
                #expect(failure.code == .requestBody)
                #expect(failure.phase == .send)
                #expect(failure.delivery == .unknown)
                #expect(failure.message.contains("\(declared)"), "\(failure)")
                try await source.progress.wait("the source to be given up") { $0.isAbandoned }
                try await server.counts.wait("the connection to be closed") { $0.open == 0 }
                #expect(received.value.body == nil)
            }
        }

        @Test(arguments: TestedTransport.allCases) func aSourceThatThrowsFailsTheRequest(by tested: TestedTransport) async throws {
            let received = Watched(Received())
            let server = try store(in: received)
            defer { server.stop() }
            try await tested.run { transport in
                let source = ScriptedBodySource(["first"], then: .failure(TestError()))
                let body = RequestBody.stream { _ in source }
                let failure = try await transportError { try await transport.send(Request(.put, url: server.url(), body: body)) }
                #expect(failure.code == .requestBody)
                #expect(failure.underlying as? TestError == TestError())
                try await source.abandonments.wait { $0 > 0 }
                try await server.counts.wait("the connection to be closed") { $0.open == 0 }
                // Nothing told the server that what it got was all.
                #expect(received.value.body == nil)
            }
        }

        @Test(arguments: TestedTransport.allCases) func aSourceThatCannotBeOpenedFailsTheRequest(by tested: TestedTransport) async throws {
            let received = Watched(Received())
            let server = try store(in: received)
            defer { server.stop() }
            try await tested.run { transport in
                let body = RequestBody.stream { _ in throw TestError() }
                let failure = try await transportError { try await transport.send(Request(.put, url: server.url(), body: body)) }
                #expect(failure.code == .requestBody)
                #expect(failure.underlying as? TestError == TestError())
            }
        }

        @Test(arguments: TestedTransport.allCases) func aStreamThatWasReadOnceCannotBeSentAgain(by tested: TestedTransport) async throws {
            let received = Watched(Received())
            let server = try store(in: received)
            defer { server.stop() }
            try await tested.run { transport in
                let request = try Request(.put, url: server.url(), body: .stream(chunks(of: Data.seeded(10), 5)))
                #expect(try await transport.send(request).status == .created)
                let failure = try await transportError { try await transport.send(request) }
                #expect(failure.code == .requestBody)
                #expect(failure.underlying is BodyAlreadyUsedError)
            }
        }

        @Test(arguments: TestedTransport.allCases) func aFileThatBecameShorterFailsTheRequest(by tested: TestedTransport) async throws {
            let folder = try TestFolder("shrunk")
            let path = try folder.write(Data.seeded(300_000), to: "file")
            let body = try RequestBody.file(atPath: path)
            try folder.write(Data.seeded(200_000), to: "file")
            let received = Watched(Received())
            let server = try store(in: received)
            defer { server.stop() }
            try await tested.run { transport in
                let failure = try await transportError { try await transport.send(Request(.put, url: server.url(), body: body)) }
                #expect(failure.code == .requestBody)
                #expect(failure.underlying is FileReadError)
                #expect(received.value.body == nil)
            }
        }
    }
}
#endif
