import ArgumentParser
import DemoServer
import Errand
import Foundation
import Logging
import ServiceLifecycle

struct Note: Codable, Sendable, Equatable {
    var id: Int
    var text: String
}

struct Draft: Codable, Sendable {
    var text: String
}

/// The demo server's calls, as an app would write them down.
enum Notes {
    static let all: Endpoint<[Note]> = .get("/notes")
    static func one(_ id: Int) -> Endpoint<Note> { .get("/notes/\(id, "id")") }
    static func add(_ text: String) -> Endpoint<Note> { .post("/notes", body: .json(Draft(text: text))) }
    static func remove(_ id: Int) -> Endpoint<Void> { .delete("/notes/\(id, "id")") }
}

struct TourCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tour", abstract: "Walks through what the library does today, against a server of its own.")

    func run() async throws {
        do {
            try await Tour.run()
        } catch {
            Terminal.say("errand: the tour ended early: \(error)")
            throw ExitCode(1)
        }
    }
}

/// A walk through what the library does today, each step with its lines of Swift and with what came of them.
enum Tour {
    static func run() async throws {
        try await DemoServer.run { port in
            try await withTransport(AsyncHTTPClientTransport.decompressing()) { transport in
                try await walk(transport, port: port)
            }
            try await serve("http://127.0.0.1:\(port)/v1/notes")
        }
        print("\nThe tour is over: every step did what it should.")
    }

    private static func walk(_ transport: AsyncHTTPClientTransport, port: Int) async throws {
        var logger = Logger(label: "tour")
        logger.logLevel = .critical
        let client = APIClient(
            transport
                .wrapped(by: Wire())
                .redirect()
                .retry()
                .validateStatus()
                .timeout(.seconds(5))
                .log(to: logger)
                .number()
                .server("http://127.0.0.1:\(port)/v1")
        )

        step("A stack describes itself", "print(client.stack)")
        result("\(client.stack)")

        step("A value", "let notes = try await client.value(Notes.all)")
        let notes = try await client.value(Notes.all)
        try expect(notes == [Note(id: 1, text: "Buy tea")], "\(notes)")

        step("A value goes there, and comes back", "let note = try await client.response(Notes.add(\"Pour tea\"))")
        let added = try await client.response(Notes.add("Pour tea"))
        try expect(added.status == .created && added.value.text == "Pour tea", "\(added.status.code) \(added.value)")

        step("Nothing comes back", "try await client.value(Notes.remove(2))")
        try await client.value(Notes.remove(added.value.id))
        try expect(true, "gone")

        step("A status that is not wanted is an error with its body", "try await client.value(Notes.one(99))")
        do {
            _ = try await client.value(Notes.one(99))
            try expect(false, "no error")
        } catch let error as StatusError {
            try expect(error.problem?.title == "There is no such note.", "\(error)")
        }

        step("A server that is busy twice", "let response = try await client.send(Request(.get, \"/busy\"))")
        let busy = try await client.send(Request(.get, "/busy"))
        try expect(busy.metadata.attempts.count == 2, "\(busy.status.code) after \(busy.metadata.attempts)")

        step("Redirects are followed, and told", "response.metadata.redirects")
        let arrived = try await client.send(Request(.get, "/redirect/2"))
        try expect(arrived.metadata.redirects.count == 2, "\(arrived.status.code) by \(arrived.metadata.redirects.map(\.from))")

        step("A body in gzip is decoded", "try await client.get(\"/gzip\", as: String.self)")
        let decoded = try await client.get("/gzip", as: String.self)
        try expect(decoded == "compressed, as it should be\n", decoded.trimmingCharacters(in: .newlines))

        step("A server that takes too long", "request.options.timeout = .use(.milliseconds(200))")
        var slow = try Request(.get, "/slow")
        slow.options.timeout = .use(.milliseconds(200))
        slow.options.retry = .off
        do {
            _ = try await client.send(slow)
            try expect(false, "no error")
        } catch let error as TransportError {
            try expect(error.code == .timedOut, "\(error)")
        }

        step("Lines as they come, empty ones kept", "for try await line in response.body.lines { … }")
        let lines = try await client.stack.withResponse(to: Request(.get, "/lines")) { response in
            try await response.body.lines.reduce(into: []) { $0.append($1) }
        }
        try expect(lines == ["first", "", "third"], "\(lines)")

        step("A file goes up without being loaded", "try await client.put(\"/upload\", body: .file(url))")
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("errand-tour-\(UUID().uuidString)")
        try Data(count: 8_000_000).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let received = try await client.put("/upload", body: .file(file), as: String.self)
        try expect(received == "8000000", "the server counted \(received) bytes")

        step("An id that would like to climb", "PathTemplate(\"/notes/\\(id)\")")
        let hostile = try Request(.get, "/notes/\("a/../b?c", "id")")
        try expect(hostile.head.path == "/notes/a%2F..%2Fb%3Fc", "\(hostile.head.path ?? "")")
    }

    /// As a server has it: the transport is a service, and a graceful shutdown ends it.
    private static func serve(_ url: String) async throws {
        step("A transport as a service", "ServiceGroup(services: [TransportService(transport)], logger: logger)")
        let transport = AsyncHTTPClientTransport()
        var logger = Logger(label: "services")
        logger.logLevel = .critical
        let group = ServiceGroup(services: [TransportService(transport)], logger: logger)
        async let running: Void = group.run()
        try expect(try await transport.validateStatus().send(Request(.get, url: url)).status == .ok, "it serves")
        await group.triggerGracefulShutdown()
        try await running
        do {
            _ = try await transport.validateStatus().send(Request(.get, url: url))
            try expect(false, "no error")
        } catch let error as TransportError {
            try expect(error.code == .shutDown, "\(error)")
        }
    }

    /// Shows what is sent, and what comes back.
    private struct Wire: HTTPMiddleware {
        func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
            print("     > \(request)")
            let response = try await next.send(request)
            print("     < \(response.status.code), \(response.body)")
            return response
        }
    }

    private static func step(_ title: String, _ code: String) { print("\n== \(title)\n   \(code)") }

    private static func result(_ text: String) { print("   → \(text)") }

    private static func expect(_ isRight: Bool, _ text: String) throws {
        result(text)
        guard isRight else { throw StepFailed() }
    }

    private struct StepFailed: Error, CustomStringConvertible { let description = "this step did not do what it should" }
}
