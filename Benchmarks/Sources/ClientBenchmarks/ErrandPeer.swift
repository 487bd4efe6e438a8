internal import ClientHarness
internal import ErrandAPI
internal import ErrandCore
internal import ErrandMiddleware
internal import ErrandNIO
internal import NIOCore
internal import NIOPosix

/// Errand over a transport, called at one of several layers.
struct ErrandPeer: CallPeer {
    /// The layer that is called.
    enum Entry: String {
        /// The transport alone: no boundary, no stack.
        case transport
        /// A stack that has only the transport. Each call creates a request from text.
        case stack
        /// The same under eight middleware.
        case stack8
        /// A stack that has only the transport. All calls send one request that was created before.
        case prepared
        /// A typed client over a stack with `server`.
        case client
    }

    private let entry: Entry
    private let transport: any HTTPTransport
    private let stack: HTTPStack
    private let client: APIClient
    private let setting: Setting
    private let prepared: Request
    let executor: (any TaskExecutor)?
    private let group: MultiThreadedEventLoopGroup?

    private init(
        _ entry: Entry, _ setting: Setting, over transport: some HTTPTransport, executor: (any TaskExecutor)? = nil,
        group: MultiThreadedEventLoopGroup? = nil
    ) throws {
        prepared = try Request(.get, url: setting.url)
        guard let origin = prepared.origin else { throw WrongResponse("no origin: \(setting.url)") }
        (self.entry, self.setting, self.transport) = (entry, setting, transport)
        (self.executor, self.group) = (executor, group)
        stack =
            entry == .stack8
            ? HTTPStack(transport).timeout(.seconds(30)).circuitBreaker().concurrencyLimit(512).retry().redirect().validateStatus()
                .number().server("\(origin)")
            : HTTPStack(transport)
        client = APIClient(transport.server("\(origin)"))
    }

    static func overNIO(_ entry: Entry, _ setting: Setting, onLoop: Bool) throws -> ErrandPeer {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: onLoop ? 1 : System.coreCount)
        var configuration = NIOTransport.Configuration()
        configuration.eventLoopGroup = group
        configuration.tls = setting.errandTLS
        let transport = try NIOTransport(configuration)
        return try ErrandPeer(entry, setting, over: transport, executor: onLoop ? transport.executors[0] : nil, group: group)
    }

    static func inMemory(_ entry: Entry, _ setting: Setting) throws -> ErrandPeer {
        try ErrandPeer(entry, setting, over: MemoryTransport())
    }

    func request(_ kind: Kind) async throws -> Int {
        switch (kind, entry) {
        case (.get, .client):
            return try await client.data(Endpoint<Document>.get("/small.json")).count
        case (.typed, .client):
            return try await client.value(Endpoint<Document>.get("/small.json")).checkedCount()
        case (.typed, _), (.download, .client), (.upload, .client):
            throw WrongResponse("\(entry) has no \(kind)")
        case (.get, _):
            return try await response(to: entry == .prepared ? prepared : Request(.get, url: setting.url)).body.collect().count
        case (.download, _):
            var bytes = 0
            for try await chunk in try await response(to: Request(.get, url: setting.url)).body { bytes += chunk.count }
            return bytes
        case (.upload, _):
            guard let file = setting.uploadFile else { throw WrongResponse("no file to upload") }
            let response = try await response(to: Request(.put, url: setting.url, body: .file(atPath: file)))
            return try WrongResponse.checked(uploaded: String(decoding: await response.body.collect(), as: UTF8.self))
        }
    }

    private func response(to request: Request) async throws -> Response {
        let response = try await entry == .transport ? transport.send(request) : stack.send(request)
        guard response.status == .ok else { throw WrongResponse("status \(response.status.code)") }
        return response
    }

    func shutdown() async throws {
        try await transport.shutdown()
        try await group?.shutdownGracefully()
    }
}

extension Setting {
    /// TLS that trusts the authority of the setting too.
    fileprivate var errandTLS: TLSSettings {
        var tls = TLSSettings()
        tls.extraRootsPEMFiles = authorityFile.map { [$0] } ?? []
        return tls
    }
}

/// Returns a whole response immediately, so that only the cost of the seam remains.
struct MemoryTransport: HTTPTransport {
    var capabilities: TransportCapabilities { [] }
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
