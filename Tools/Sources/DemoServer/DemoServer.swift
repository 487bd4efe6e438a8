import Hummingbird
import Logging
import Synchronization

/// A small API on a free loopback port, in this process.
enum DemoServer {
    struct Note: ResponseCodable, Sendable {
        var id: Int
        var text: String
    }

    /// Serves while `body` runs.
    static func run(_ body: @escaping @Sendable (_ port: Int) async throws -> Void) async throws {
        var logger = Logger(label: "demo")
        logger.logLevel = .critical
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let app = Application(
            router: router(),
            configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in port.yield(channel.localAddress?.port ?? 0) },
            logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await app.run() }
            guard let port = await ports.first(where: { _ in true }) else { return }
            defer { group.cancelAll() }
            try await body(port)
        }
    }

    private static func router() -> Router<BasicRequestContext> {
        let router = Router()
        let notes = Notes()
        router.get("v1/notes") { _, _ in notes.all }
        router.get("v1/notes/:id") { request, context -> Response in
            guard let note = notes[try context.parameters.require("id", as: Int.self)] else {
                var headers = HTTPFields()
                headers[.contentType] = "application/problem+json"
                return Response(
                    status: .notFound, headers: headers,
                    body: .init(byteBuffer: ByteBuffer(string: #"{"title":"There is no such note.","status":404}"#)))
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
        let busy = Mutex(2)
        router.get("v1/busy") { _, _ -> HTTPResponse.Status in
            let isBusy = busy.withLock { left in
                defer { left -= 1 }
                return left > 0
            }
            return isBusy ? .serviceUnavailable : .ok
        }
        router.get("v1/slow") { _, _ in
            try await Task.sleep(for: .seconds(60))
            return HTTPResponse.Status.ok
        }
        router.get("v1/lines") { _, _ in
            Response(
                status: .ok,
                body: ResponseBody { writer in
                    for line in ["first", "", "third"] { try await writer.write(ByteBuffer(string: line + "\n")) }
                    try await writer.finish(nil)
                })
        }
        router.put("v1/upload") { request, _ in
            var count = 0
            for try await chunk in request.body { count += chunk.readableBytes }
            return "\(count)"
        }
        return router
    }

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
}
