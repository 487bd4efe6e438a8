import ErrandFormats
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Synchronization

/// A small but complete API on the loopback interface, for the tour and for experiments: notes, tokens that expire, lists in pages, jobs,
/// uploads, slow and failing endpoints, cacheable resources, an event stream, and downloads with ranges.
public enum DemoServer {
    /// The server can't listen on a port.
    public struct CannotListen: Error, CustomStringConvertible {
        /// The system's error number.
        public let code: Int32
        public var description: String { String(cString: strerror(code)) }
    }

    /// Serves until the task is cancelled.
    ///
    /// - Parameters:
    ///   - port: the port; zero chooses a free port.
    ///   - onRunning: called with the port that the server listens on.
    /// - Throws: ``CannotListen``, for example if the port is in use.
    public static func run(port: Int = 0, onRunning: @escaping @Sendable (_ port: Int) -> Void) async throws {
        var logger = Logger(label: "demo")
        logger.logLevel = .critical
        let app = Application(
            router: router(),
            configuration: .init(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { channel in onRunning(channel.localAddress?.port ?? 0) },
            logger: logger)
        do {
            try await app.run()
        } catch let error as IOError {
            throw CannotListen(code: error.errnoCode)
        }
    }

    /// Serves on a free port while `body` runs.
    public static func run<Result: Sendable>(
        _ body: @escaping @Sendable (_ port: Int) async throws -> Result
    ) async throws -> Result? {
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { port.finish() }
                try await run { port.yield($0) }
            }
            defer { group.cancelAll() }
            for await port in ports { return try await body(port) }
            return nil
        }
    }

    private struct Note: ResponseCodable, Sendable {
        var id: Int
        var text: String
    }

    private struct Token: ResponseCodable, Sendable {
        var accessToken: String
        var expiresIn: Int

        enum CodingKeys: String, CodingKey {
            case accessToken = "access_token"
            case expiresIn = "expires_in"
        }
    }

    private static func router() -> Router<BasicRequestContext> {
        let router = Router(options: .autoGenerateHeadEndpoints)
        router.get("/") { _, _ in
            """
            GET  /v1/notes[?page=N]  GET|DELETE /v1/notes/ID  POST /v1/notes {"text": …}
            POST /v1/token (five uses)  GET /v1/private (Authorization: Bearer TOKEN)
            PUT  /v1/upload  GET /v1/download[?bytes=N] (ranges), /v1/zeros[?bytes=N]  GET /v1/cached (ETag)  GET /v1/gzip
            GET  /v1/busy (503 twice of three)  GET /v1/slow[?seconds=N]  GET /v1/status/CODE  GET /v1/redirect/N
            GET  /v1/events[?count=N&each=M] (an event stream)  GET /v1/lines
            POST /v1/chat/completions (Authorization: Bearer demo; an event stream)  POST /v1/reports (a form with files)
            POST /v1/login (a form: user=joe&password=pw[&remember=on])  GET /v1/login, /v1/profile (its cookie)  POST /v1/logout
            GET  /v1/basic, /v1/digest (joe, pw)  GET /v1/account (a token of the OAuth 2 server at /oauth/authorize, /oauth/token)
            GET  /v1/orders[?limit=N&after=ID|&offset=N|&page=N] (Link, next_cursor)  POST /v1/orders {"item": …}  DELETE /v1/orders/ID
            POST /v1/jobs (202 and a Location)  GET /v1/jobs/ID
            GET  /v1/envelope/user, /v1/envelope/denied, /v1/envelope/nothing  POST /v1/envelope/orders (409 and a code)
            POST /v1/mirror (the body, with its type)  GET /v1/problem (problem details)
            any  /v1/echo  GET /v1/articles, /v1/favorites, /v1/ip, /v1/photo

            """
        }
        addNotes(to: router)
        addTokens(to: router)
        addTrouble(to: router)
        addBodies(to: router)
        addSamples(to: router)
        addLists(to: router)
        addJobs(to: router)
        addChatAndForms(to: router)
        addFormats(to: router)
        addIdentity(to: router)
        return router
    }

    // MARK: - Notes and pages

    private final class Notes: Sendable {
        private let notes = Mutex([1: Note(id: 1, text: "Buy tea")])
        var all: [Note] { notes.withLock { $0.values.sorted { $0.id < $1.id } } }
        subscript(id: Int) -> Note? { notes.withLock { $0[id] } }
        func remove(_ id: Int) { notes.withLock { $0[id] = nil } }
        func add(_ text: String) -> Note {
            notes.withLock { notes in
                let note = Note(id: (notes.keys.max() ?? 0) + 1, text: text)
                notes[note.id] = note
                return note
            }
        }
    }

    private static func addNotes(to router: Router<BasicRequestContext>) {
        let notes = Notes()
        router.get("v1/notes") { request, context -> Response in
            var all = notes.all
            var headers = HTTPFields()
            if let page = request.uri.queryParameters.get("page", as: Int.self), page > 0 {
                let size = 10
                if all.count > page * size {
                    if let link = HTTPField.Name("Link") { headers[link] = "</v1/notes?page=\(page + 1)>; rel=\"next\"" }
                }
                all = Array(all.dropFirst((page - 1) * size).prefix(size))
            }
            var response = try context.responseEncoder.encode(all, from: request, context: context)
            response.headers.append(contentsOf: headers)
            return response
        }
        router.get("v1/notes/:id") { request, context -> Response in
            guard let note = notes[try context.parameters.require("id", as: Int.self)] else {
                return problem(.notFound, title: "There is no such note.")
            }
            return try context.responseEncoder.encode(note, from: request, context: context)
        }
        router.post("v1/notes") { request, context in
            let draft = try await request.decode(as: [String: String].self, context: context)
            return EditedResponse(status: .created, response: notes.add(draft["text"] ?? ""))
        }
        router.delete("v1/notes/:id") { _, context in
            notes.remove(try context.parameters.require("id", as: Int.self))
            return HTTPResponse.Status.noContent
        }
    }

    private static func problem(_ status: HTTPResponse.Status, title: String) -> Response {
        Response(
            status: status, headers: [.contentType: "application/problem+json"],
            body: .init(byteBuffer: ByteBuffer(string: #"{"title":"\#(title)","status":\#(status.code)}"#)))
    }

    // MARK: - Tokens that expire

    private static func addTokens(to router: Router<BasicRequestContext>) {
        let usesLeft = Mutex<[String: Int]>([:])
        router.post("v1/token") { _, _ in
            let token = UUID().uuidString
            usesLeft.withLock { $0[token] = 5 }
            return Token(accessToken: token, expiresIn: 60)
        }
        router.get("v1/private") { request, _ -> Response in
            let token = request.headers[.authorization]?.split(separator: " ").last.map(String.init) ?? ""
            let isValid = usesLeft.withLock { tokens in
                let left = tokens[token] ?? 0
                tokens[token] = max(0, left - 1)
                return left > 0
            }
            guard isValid else {
                var response = problem(.unauthorized, title: "The token has expired.")
                response.headers[.wwwAuthenticate] = #"Bearer error="invalid_token""#
                return response
            }
            return Response(status: .ok, body: .init(byteBuffer: ByteBuffer(string: "welcome")))
        }
    }

    // MARK: - Faults

    private static func addTrouble(to router: Router<BasicRequestContext>) {
        let turns = Mutex(0)
        router.get("v1/busy") { _, _ -> HTTPResponse.Status in
            let turn = turns.withLock { turns in
                turns += 1
                return turns
            }
            return turn % 3 == 0 ? .ok : .serviceUnavailable
        }
        router.get("v1/slow") { request, _ in
            try await Task.sleep(for: .seconds(request.uri.queryParameters.get("seconds", as: Double.self) ?? 60))
            return HTTPResponse.Status.ok
        }
        router.get("v1/status/:code") { _, context -> HTTPResponse.Status in
            let code = try context.parameters.require("code", as: Int.self)
            return (200...599).contains(code) ? .init(code: code) : .badRequest
        }
        router.get("v1/redirect/:count") { _, context -> Response in
            let count = try context.parameters.require("count", as: Int.self)
            guard count > 0 else { return Response(status: .ok, body: .init(byteBuffer: ByteBuffer(string: "arrived"))) }
            return Response(status: .found, headers: [.location: "/v1/redirect/\(count - 1)"])
        }
    }

    // MARK: - Bodies

    /// "compressed, as it should be\n" in gzip.
    private static let gzipped: [UInt8] = [
        0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x4b, 0xce, 0xcf, 0x2d, 0x28, 0x4a, 0x2d, 0x2e, 0x4e, 0x4d,
        0xd1, 0x51, 0x48, 0x2c, 0x56, 0xc8, 0x2c, 0x51, 0x28, 0xce, 0xc8, 0x2f, 0xcd, 0x49, 0x51, 0x48, 0x4a, 0xe5, 0x02, 0x00,
        0xf1, 0x7b, 0x57, 0xf5, 0x1c, 0x00, 0x00, 0x00,
    ]

    private static func addBodies(to router: Router<BasicRequestContext>) {
        router.get("v1/lines") { _, _ in
            Response(
                status: .ok,
                body: ResponseBody { writer in
                    for line in ["first", "", "third"] { try await writer.write(ByteBuffer(string: line + "\n")) }
                    try await writer.finish(nil)
                })
        }
        // Events 1 to `count`, after the last one that the client has. The connection ends after `each` of them.
        router.get("v1/events") { request, _ -> Response in
            let count = request.uri.queryParameters.get("count", as: Int.self) ?? 5
            let each = max(1, request.uri.queryParameters.get("each", as: Int.self) ?? count)
            let last = HTTPField.Name("Last-Event-ID").flatMap { request.headers[$0] }.flatMap { Int($0) } ?? 0
            guard last >= 0, last < count else { return Response(status: .noContent) }
            return Response(
                status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
                body: ResponseBody { writer in
                    try await writer.write(ByteBuffer(string: "retry: 50\n\n"))
                    for number in (last + 1)...min(count, last + each) {
                        try await writer.write(ByteBuffer(string: "id: \(number)\nevent: tick\ndata: {\"number\":\(number)}\n\n"))
                        try await Task.sleep(for: .milliseconds(100))
                    }
                    try await writer.finish(nil)
                })
        }
        router.get("v1/gzip") { request, _ -> Response in
            guard request.headers[.acceptEncoding]?.contains("gzip") == true else {
                return Response(status: .ok, body: .init(byteBuffer: ByteBuffer(string: "compressed, as it should be\n")))
            }
            return Response(status: .ok, headers: [.contentEncoding: "gzip"], body: .init(byteBuffer: ByteBuffer(bytes: gzipped)))
        }
        router.put("v1/upload") { request, _ in
            var count = 0
            for try await chunk in request.body { count += chunk.readableBytes }
            return "\(count)"
        }
        router.get("v1/cached") { request, _ -> Response in
            let headers: HTTPFields = [.eTag: "\"1\"", .cacheControl: "max-age=60", .contentType: "text/plain"]
            guard request.headers[.ifNoneMatch] != "\"1\"" else { return Response(status: .notModified, headers: headers) }
            return Response(status: .ok, headers: headers, body: .init(byteBuffer: ByteBuffer(string: "the same for a minute\n")))
        }
        router.get("v1/zeros") { request, _ in
            let total = max(0, request.uri.queryParameters.get("bytes", as: Int.self) ?? 1_000_000)
            let chunk = ByteBuffer(repeating: 0, count: 256 * 1024)
            return Response(
                status: .ok,
                body: ResponseBody(contentLength: total) { writer in
                    var left = total
                    while left > 0 {
                        try await writer.write(chunk.getSlice(at: 0, length: min(left, 256 * 1024)) ?? ByteBuffer())
                        left -= 256 * 1024
                    }
                    try await writer.finish(nil)
                })
        }
        router.get("v1/download") { request, _ -> Response in
            let total = max(0, request.uri.queryParameters.get("bytes", as: Int.self) ?? 1_000_000)
            var range = 0..<total
            var status = HTTPResponse.Status.ok
            var headers: HTTPFields = [.eTag: "\"\(total)\"", .acceptRanges: "bytes", .contentType: "application/octet-stream"]
            // Only one range is supported. Several ranges would need a multipart body. A server may send the whole content instead.
            if let asked = request.headers[.range].flatMap({ ByteRange.parse($0) }), asked.count == 1,
                let bytes = asked[0].resolved(length: Int64(total))
            {
                range = Int(bytes.lowerBound)..<Int(bytes.upperBound)
                status = .partialContent
                headers[.contentRange] = ContentRange(bytes, completeLength: Int64(total))?.description
            }
            headers[.contentLength] = "\(range.count)"
            return Response(status: status, headers: headers, body: Self.pattern(range))
        }
    }

    /// A body whose bytes depend on their position, sent chunk by chunk.
    private static func pattern(_ range: Range<Int>) -> ResponseBody {
        ResponseBody(contentLength: range.count) { writer in
            var offset = range.lowerBound
            while offset < range.upperBound {
                let count = min(64 * 1024, range.upperBound - offset)
                try await writer.write(ByteBuffer(bytes: (offset..<(offset + count)).lazy.map { UInt8(truncatingIfNeeded: $0 &* 31) }))
                offset += count
            }
            try await writer.finish(nil)
        }
    }
}
