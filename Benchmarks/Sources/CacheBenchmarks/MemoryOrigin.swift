internal import ErrandCore
internal import Synchronization

/// A transport that returns a response from memory, which stays fresh for a day. A body of more than 64 KiB arrives in chunks of 128 KiB.
struct MemoryOrigin: HTTPTransport {
    private static let chunkBytes = 128 * 1024

    private let chunks: [Data]
    private let head: HTTPResponse
    private let bodyBytes: Int

    init(bodyBytes: Int) {
        self.bodyBytes = bodyBytes
        let body = Data((0..<bodyBytes).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        chunks = stride(from: 0, to: bodyBytes, by: Self.chunkBytes).map { Data(body[$0..<min($0 + Self.chunkBytes, bodyBytes)]) }
        head = HTTPResponse(
            status: .ok,
            headerFields: [
                .server: "a", .contentType: "application/octet-stream", .contentLength: "\(bodyBytes)", .eTag: "\"1\"",
                .cacheControl: "max-age=86400",
            ])
    }

    var capabilities: TransportCapabilities { [.deadlines] }
    func shutdown() async throws {}

    func send(_ request: Request) async throws -> Response {
        if bodyBytes <= 64 * 1024 { return Response(head: head, data: chunks.first ?? Data(), request: request) }
        let body = ResponseBody(Chunks(chunks), expectedLength: Int64(bodyBytes), request: request)
        return Response(head: head, body: body, request: request, exchange: ExchangeLifetime(outcome: .complete))
    }

    private final class Chunks: BodySource {
        private let chunks: [Data]
        private let index = Atomic(0)

        init(_ chunks: [Data]) { self.chunks = chunks }

        func next() async throws -> Data? {
            let index = index.wrappingAdd(1, ordering: .relaxed).oldValue
            return index < chunks.count ? chunks[index] : nil
        }

        func abandon() {}
    }
}
