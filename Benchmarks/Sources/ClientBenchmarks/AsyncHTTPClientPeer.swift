internal import AsyncHTTPClient
internal import ErrandCore
internal import ErrandNIO
internal import NIOCore
internal import NIOFoundationEssentialsCompat
internal import NIOHTTP1
internal import NIOPosix
internal import SpikeTransport

/// AsyncHTTPClient's own calls. Its settings are the defaults, except for HTTP/1.1 only and the number of connections.
struct AsyncHTTPClientPeer: Peer {
    private let client: HTTPClient
    private let url: String
    private let group: MultiThreadedEventLoopGroup?
    let executor: (any TaskExecutor)?

    /// - Parameter onLoop: whether the client has a single event loop, on which the task also runs.
    init(_ url: String, onLoop: Bool) {
        self.url = url
        group = onLoop ? MultiThreadedEventLoopGroup(numberOfThreads: 1) : nil
        executor = group.map { EventLoopExecutor($0.next()) }
        client = Self.client(on: group)
    }

    static func client(on group: MultiThreadedEventLoopGroup?) -> HTTPClient {
        var configuration = HTTPClient.Configuration()
        configuration.httpVersion = .http1Only
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 16
        return HTTPClient(eventLoopGroup: group ?? HTTPClient.defaultEventLoopGroup, configuration: configuration)
    }

    func run(_ measurement: Measurement, count: Int) async throws -> Int {
        var bytes = 0
        let decoder = JSONDecoder()
        for _ in 0..<count {
            let response = try await client.execute(HTTPClientRequest(url: url), timeout: .seconds(60))
            guard response.status == .ok else { throw WrongResponse("status \(response.status.code)") }
            switch measurement {
            case .get, .get16:
                bytes += try await response.body.collect(upTo: 1 << 20).readableBytes
            case .download:
                for try await chunk in response.body { bytes += chunk.readableBytes }
            case .typed:
                let body = try await response.body.collect(upTo: 1 << 20)
                bytes += try decoder.decode(Document.self, from: Data(buffer: body)).checkedCount()
            }
        }
        return bytes
    }

    func shutdown() async throws {
        try await client.shutdown()
        try await group?.shutdownGracefully()
    }
}
