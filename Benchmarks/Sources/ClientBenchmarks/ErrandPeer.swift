internal import AsyncHTTPClient
internal import ErrandAPI
internal import ErrandAsyncHTTPClient
internal import ErrandCore
internal import ErrandMiddleware
internal import ErrandNIO
internal import NIOCore
internal import NIOPosix
internal import SpikeTransport

/// Errand over a transport, called at one of several layers.
struct ErrandPeer: Peer {
    /// The layer that is called.
    enum Entry: String {
        /// The transport alone: no boundary, no stack.
        case transport
        /// A stack of the transport alone. Each call creates a request from text.
        case stack
        /// A stack of the transport alone. All calls send one request that was created before.
        case prepared
        /// A typed client over a stack with `server`.
        case client
    }

    private let entry: Entry
    private let transport: any HTTPTransport
    private let stack: HTTPStack
    private let client: APIClient
    private let url: String
    private let prepared: Request
    let executor: (any TaskExecutor)?
    private let group: MultiThreadedEventLoopGroup?
    private let borrowed: HTTPClient?

    private init(
        _ entry: Entry, _ url: String, over transport: some HTTPTransport, executor: (any TaskExecutor)? = nil,
        group: MultiThreadedEventLoopGroup? = nil, borrowing borrowed: HTTPClient? = nil
    ) throws {
        prepared = try Request(.get, url: url)
        guard let origin = prepared.origin else { throw WrongResponse("no origin: \(url)") }
        (self.entry, self.url, self.transport) = (entry, url, transport)
        (self.executor, self.group, self.borrowed) = (executor, group, borrowed)
        stack = HTTPStack(transport)
        client = APIClient(transport.server("\(origin)"))
    }

    static func overAsyncHTTPClient(_ entry: Entry, _ url: String, onLoop: Bool) throws -> ErrandPeer {
        if onLoop {
            // Only a borrowed client can use a given event loop.
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            let client = AsyncHTTPClientPeer.client(on: group)
            return try ErrandPeer(
                entry, url, over: AsyncHTTPClientTransport(borrowing: client), executor: EventLoopExecutor(group.next()), group: group,
                borrowing: client)
        }
        var configuration = AsyncHTTPClientTransport.Configuration()
        configuration.allowsHTTP2 = false
        configuration.maxConnectionsPerHost = 16
        return try ErrandPeer(entry, url, over: AsyncHTTPClientTransport(configuration))
    }

    static func overNIO(_ entry: Entry, _ url: String, onLoop: Bool) throws -> ErrandPeer {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: onLoop ? 1 : System.coreCount)
        var configuration = NIOTransport.Configuration()
        configuration.eventLoopGroup = group
        let transport = try NIOTransport(configuration)
        return try ErrandPeer(entry, url, over: transport, executor: onLoop ? transport.executors[0] : nil, group: group)
    }

    static func overSpike(_ entry: Entry, _ url: String, _ codec: SpikeTransport.Codec, onLoop: Bool) throws -> ErrandPeer {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        return try ErrandPeer(
            entry, url, over: SpikeTransport(codec, on: loop), executor: onLoop ? EventLoopExecutor(loop) : nil, group: group)
    }

    static func inMemory(_ entry: Entry, _ url: String) throws -> ErrandPeer { try ErrandPeer(entry, url, over: MemoryTransport()) }

    func run(_ measurement: Measurement, count: Int) async throws -> Int {
        var bytes = 0
        for _ in 0..<count {
            switch (measurement, entry) {
            case (.get, .client), (.get16, .client):
                bytes += try await client.data(Endpoint<Document>.get("/small.json")).count
            case (.typed, .client):
                bytes += try await client.value(Endpoint<Document>.get("/small.json")).checkedCount()
            case (.get, _), (.get16, _):
                bytes += try await response().body.collect().count
            case (.download, .transport), (.download, .stack), (.download, .prepared):
                for try await chunk in try await response().body { bytes += chunk.count }
            case (.typed, _), (.download, .client):
                throw WrongResponse("\(entry) has no \(measurement)")
            }
        }
        return bytes
    }

    private func response() async throws -> Response {
        let request = entry == .prepared ? prepared : try Request(.get, url: url)
        let response = try await entry == .transport ? transport.send(request) : stack.send(request)
        guard response.status == .ok else { throw WrongResponse("status \(response.status.code)") }
        return response
    }

    func shutdown() async throws {
        try await transport.shutdown()
        try await borrowed?.shutdown()
        try await group?.shutdownGracefully()
    }
}

/// Returns a whole response immediately, so that only the cost of the seam remains.
struct MemoryTransport: HTTPTransport {
    var capabilities: Capabilities { [] }
    func shutdown() async throws {}

    private let data: Data
    private let head: HTTPResponse

    init() {
        let item = #"{"id":1001,"name":"a name of some length","isActive":true,"score":0.5,"tags":["first","second","third"]}"#
        let items = [String](repeating: item, count: 9).joined(separator: ",")
        data = Data(#"{"page":1,"total":9,"title":"one of many","items":[\#(items)]}"#.utf8)
        head = HTTPResponse(status: .ok, headerFields: [.contentType: "application/json", .contentLength: "\(data.count)"])
    }

    func send(_ request: Request) async throws -> Response { Response(head: head, data: data, request: request) }
}
