internal import AsyncHTTPClient
internal import ClientHarness
internal import ErrandCore
internal import ErrandNIO
internal import Foundation
internal import NIOCore
internal import NIOFoundationEssentialsCompat
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

/// AsyncHTTPClient's own calls. Its settings are the defaults, except for the number of connections, and HTTP/1.1 only where a case is
/// not of HTTP/2.
struct AsyncHTTPClientPeer: CallPeer {
    private let client: HTTPClient
    private let setting: Setting
    private let group: MultiThreadedEventLoopGroup?
    private let decoder = JSONDecoder()
    let executor: (any TaskExecutor)?

    /// - Parameter onLoop: whether the client has a single event loop, on which the task also runs.
    init(_ setting: Setting, onLoop: Bool) throws {
        self.setting = setting
        group = onLoop ? MultiThreadedEventLoopGroup(numberOfThreads: 1) : nil
        executor = group.map { EventLoopExecutor($0.next()) }
        client = try Self.client(setting, on: group)
    }

    static func client(_ setting: Setting, on group: MultiThreadedEventLoopGroup?) throws -> HTTPClient {
        var configuration = HTTPClient.Configuration()
        configuration.httpVersion = setting.usesHTTP2 ? .automatic : .http1Only
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = max(16, setting.atOnce)
        configuration.tlsConfiguration = try setting.tls
        return HTTPClient(eventLoopGroup: group ?? HTTPClient.defaultEventLoopGroup, configuration: configuration)
    }

    func request(_ kind: Kind) async throws -> Int {
        var request = HTTPClientRequest(url: setting.url)
        if kind == .upload {
            let chunks = try FileChunks(setting.uploadFile)
            request.method = .PUT
            request.body = .stream(chunks, length: .known(Int64(chunks.length)))
        }
        let response = try await client.execute(request, timeout: .seconds(600))
        guard response.status == .ok else { throw WrongResponse("status \(response.status.code)") }
        if kind == .download {
            var bytes = 0
            for try await chunk in response.body { bytes += chunk.readableBytes }
            return bytes
        }
        let body = try await response.body.collect(upTo: 1 << 20)
        switch kind {
        case .typed: return try decoder.decode(Document.self, from: Data(buffer: body)).checkedCount()
        case .upload: return try WrongResponse.checked(uploaded: String(buffer: body))
        case .get, .download: return body.readableBytes
        }
    }

    func shutdown() async throws {
        try await client.shutdown()
        try await group?.shutdownGracefully()
    }
}

extension Setting {
    /// The configuration of TLS, which also trusts the authority of the setting; `nil` if the setting has no authority.
    var tls: TLSConfiguration? {
        get throws {
            guard let authorityFile else { return nil }
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.additionalTrustRoots = [.certificates(try NIOSSLCertificate.fromPEMFile(authorityFile))]
            return tls
        }
    }
}

/// The chunks of a file, 128 KiB each, as `RequestBody.file` reads them.
private struct FileChunks: AsyncSequence {
    typealias Element = ByteBuffer
    private let path: String
    let length: Int

    init(_ path: String?) throws {
        guard let path, let length = FileHandle(forReadingAtPath: path)?.seekToEndOfFile() else { throw WrongResponse("no file to upload") }
        (self.path, self.length) = (path, Int(length))
    }

    func makeAsyncIterator() -> Iterator { Iterator(file: FileHandle(forReadingAtPath: path)) }

    struct Iterator: AsyncIteratorProtocol {
        let file: FileHandle?

        func next() async throws -> ByteBuffer? {
            guard let data = try file?.read(upToCount: 128 * 1024), !data.isEmpty else { return nil }
            return ByteBuffer(data: data)
        }
    }
}
