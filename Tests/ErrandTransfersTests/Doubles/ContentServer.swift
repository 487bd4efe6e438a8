import ErrandCore
import ErrandTesting
import Foundation
import Synchronization
import TestSupport

/// A peer that serves one content, with ranges, and that can be told to break off, to change, or to lie.
final class ContentServer: Sendable {
    struct Behavior: Sendable {
        var content: Data
        var fields: HTTPFields
        var honorsRanges = true
        /// The numbers of body bytes after which the connections break off, one for each response.
        var cuts: [Int] = []
        /// Changes a response before it is sent.
        var change: @Sendable (Request, inout HTTPResponse, inout Data) -> Void = { _, _, _ in }
        /// The number of bytes in a chunk.
        var chunkBytes = 1_000
        /// Called before each chunk.
        var beforeChunk: @Sendable () async throws -> Void = {}
    }

    let behavior: Mutex<Behavior>
    let requests = RecordingList<Request>()
    private let sentBytes = Mutex(0)

    init(_ content: Data, _ lines: [String: String] = ["ETag": "\"v1\""]) {
        var fields = HTTPFields()
        for (name, value) in lines { if let name = HTTPField.Name(name) { fields[name] = value } }
        behavior = Mutex(Behavior(content: content, fields: fields))
    }

    /// The number of body bytes that were handed to the client.
    var bytesSent: Int { sentBytes.withLock { $0 } }

    /// The `Range` field of each request.
    var ranges: [String?] { requests.all.map { $0.headers[.range] } }

    var transport: ClosureTransport { ClosureTransport { request in self.respond(to: request) } }

    private func respond(to request: Request) -> Response {
        requests.record(request)
        let (behavior, cut) = behavior.withLock { behavior in (behavior, behavior.cuts.isEmpty ? nil : behavior.cuts.removeFirst()) }
        var head = HTTPResponse(status: .ok, headerFields: behavior.fields)
        var body = behavior.content
        if behavior.honorsRanges, let range = request.headers[.range].flatMap({ ByteRange.parse($0) })?.first,
            request.headers[.ifRange].map({ $0 == behavior.fields[.eTag] || $0 == behavior.fields[.lastModified] }) ?? true
        {
            let total = Int64(body.count)
            if let part = range.resolved(length: total) {
                head.status = .partialContent
                head.headerFields[.contentRange] = ContentRange(part, completeLength: total)?.description
                body = body.subdata(in: Int(part.lowerBound)..<Int(part.upperBound))
            } else {
                head.status = .rangeNotSatisfiable
                head.headerFields[.contentRange] = "bytes */\(total)"
                body = Data()
            }
        }
        behavior.change(request, &head, &body)
        let announced = head.headerFields[.contentLength].flatMap { Int64($0) }
        let length: Int64? = announced ?? (head.headerFields[.transferEncoding] == nil ? Int64(body.count) : nil)
        let ending: ScriptedBodySource.Ending =
            cut == nil
            ? .end : .failure(TransportError(.connectionLost, phase: .body, message: "cut", request: request, delivery: .sent))
        let sent = cut.map { body.prefix($0) } ?? body
        let chunks = stride(from: 0, to: sent.count, by: behavior.chunkBytes).map { start in
            Data(sent.dropFirst(start).prefix(behavior.chunkBytes))
        }
        let source = ScriptedBodySource(chunks: chunks, then: ending) { try await behavior.beforeChunk() }
        sentBytes.withLock { $0 += sent.count }
        return Response(
            head: head, body: ResponseBody(source, expectedLength: length), request: request, exchange: ExchangeLifetime())
    }
}
