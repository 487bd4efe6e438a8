import ArgumentParser
import DemoServer
import Errand
import ErrandNIO
import ErrandTesting
import Foundation
import Logging
import ServiceLifecycle
import Synchronization

struct Note: Codable, Sendable, Equatable {
    var id: Int
    var text: String
}

struct Draft: Codable, Sendable {
    var text: String
}

/// An event of the demo server.
struct Tick: Codable, Sendable {
    var number: Int
}

/// The calls of the demo server, as an app would write them.
enum Notes {
    static let all: Endpoint<[Note]> = .get("/notes")
    static func one(_ id: Int) -> Endpoint<Note> { .get("/notes/\(id, "id")") }
    static func add(_ text: String) -> Endpoint<Note> { .post("/notes", body: .json(Draft(text: text))) }
    static func remove(_ id: Int) -> Endpoint<Void> { .delete("/notes/\(id, "id")") }
}

struct TourCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tour", abstract: "Shows the library step by step, with a local server.",
        usage: "errand tour")

    func run() async throws {
        do {
            try await Tour.run()
        } catch {
            Terminal.say("errand: the tour ended early: \(error)")
            throw ExitCode(1)
        }
    }
}

/// The steps of the tour. Each step shows its code and its result.
enum Tour {
    static func run() async throws {
        try await DemoServer.run { port in
            try await withTransport(NIOTransport()) { transport in
                try await walk(transport, port: port)
            }
            try await connect(port)
            try await record("http://127.0.0.1:\(port)/v1")
            try await TourOfAuthentication.walk(port: port)
            try await TourOfTypedCalls.walk(port: port)
            try await TourOfCaching.walk(port: port)
            try await TourOfTransfers.walk(port: port)
            try await control("http://127.0.0.1:\(port)/v1")
            try await serve("http://127.0.0.1:\(port)/v1/notes")
        }
        try await TourOfConnections.walk()
        try await rehearse()
        try await waitForANetwork()
        print("\nThe tour is over: every step had the expected result.")
    }

    private static func walk(_ transport: NIOTransport, port: Int) async throws {
        var logger = Logger(label: "tour")
        logger.logLevel = .critical
        let client = APIClient(
            transport
                .wrapped(by: Wire())
                .decompress()
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

        step("A stack can sort its layers", "HTTPStack.sorted(around: transport).retry().redirect()…")
        let plain = HTTPStack.sorted(around: transport)
        let sorted = plain.retry().redirect().timeout(.seconds(5)).server("http://127.0.0.1:\(port)/v1")
        let again = plain.server("http://127.0.0.1:\(port)/v1").timeout(.seconds(5)).redirect().retry()
        try expect(sorted.description == again.description && sorted.orderProblems.isEmpty, "\(sorted)")

        step("Get a value", "let notes = try await client.value(Notes.all)")
        let notes = try await client.value(Notes.all)
        try expect(notes == [Note(id: 1, text: "Buy tea")], "\(notes)")

        step("Send a value, and get a value back", "let note = try await client.response(Notes.add(\"Pour tea\"))")
        let added = try await client.response(Notes.add("Pour tea"))
        try expect(added.status == .created && added.value.text == "Pour tea", "\(added.status.code) \(added.value)")

        step("A response without a body", "try await client.value(Notes.remove(2))")
        try await client.value(Notes.remove(added.value.id))
        try expect(true, "gone")

        step("An unexpected status is an error, with the body of the response", "try await client.value(Notes.one(99))")
        do {
            _ = try await client.value(Notes.one(99))
            try expect(false, "no error")
        } catch let error as StatusError {
            try expect(error.problem?.title == "There is no such note.", "\(error)")
        }

        step("A server that is busy twice, and a retry", "let response = try await client.send(Request(.get, \"/busy\"))")
        let busy = try await client.send(Request(.get, "/busy"))
        try expect(busy.metadata.attempts.count == 2, "\(busy.status.code) after \(busy.metadata.attempts)")

        step("Redirects are followed, and listed", "response.metadata.redirects")
        let arrived = try await client.send(Request(.get, "/redirect/2"))
        try expect(arrived.metadata.redirects.count == 2, "\(arrived.status.code) by \(arrived.metadata.redirects.map(\.from))")

        step("A gzip body is decoded", "try await client.get(\"/gzip\", as: String.self)")
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

        step("Lines as they arrive, empty ones included", "for try await line in response.body.lines { … }")
        let lines = try await client.stack.withResponse(to: Request(.get, "/lines")) { response in
            try await response.body.lines.reduce(into: []) { $0.append($1) }
        }
        try expect(lines == ["first", "", "third"], "\(lines)")

        step("A body is transformed and observed while it is read", "response.body.observed { … }.transformed(by: Capitals())")
        let chunks = Mutex(0)
        let loud = try await client.stack.withResponse(to: Request(.get, "/lines")) { response in
            let body = response.body.observed { event in
                if case .chunk = event { chunks.withLock { $0 += 1 } }
            }
            return try await body.transformed(by: Capitals()).lines.reduce(into: []) { $0.append($1) }
        }
        try expect(loud == ["FIRST", "", "THIRD"], "\(loud), chunks received: \(chunks.withLock { $0 })")

        step("A file is uploaded without being loaded", "try await client.put(\"/upload\", body: .file(url))")
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("errand-tour-\(UUID().uuidString)")
        try Data(count: 8_000_000).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let received = try await client.put("/upload", body: .file(file), as: String.self)
        try expect(received == "8000000", "the server counted \(received) bytes")

        step("An event stream, over as many connections as it takes", "for try await tick in client.events(ticks, as: Tick.self) { … }")
        let ticks = Endpoint<Void>.get("/events", query: ["count": 3, "each": 2])
        let policy = EventStreamPolicy(backoff: .immediate)
        var numbers: [Int] = []
        for try await tick in client.events(ticks, as: Tick.self, policy: policy) { numbers.append(tick.number) }
        try expect(numbers == [1, 2, 3], "\(numbers): the server ended the first connection after two")

        step("A request as a curl command, without its secrets", "try request.curl()")
        let shown = try Request(
            .post, url: "https://a.example/notes", headers: [.authorization: "Bearer tr0mbone", .contentType: "application/json"],
            body: .text(#"{"text":"It's tea","token":"tr0mbone"}"#))
        let text = try shown.curl()
        try expect(!text.contains("tr0mbone"), text)

        step("A value can't leave its segment of the path", "PathTemplate(\"/notes/\\(id)\")")
        let hostile = try Request(.get, "/notes/\("a/../b?c", "id")")
        try expect(hostile.head.path == "/notes/a%2F..%2Fb%3Fc", "\(hostile.head.path ?? "")")
    }

    /// A real exchange, recorded to a file and replayed without the server.
    private static func record(_ url: String) async throws {
        step("Record exchanges, without secrets", "transport.record(on: Recording(atPath: \"notes.har\", mode: .once))")
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("errand-tour-\(UUID().uuidString).har").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let recording = try Recording(atPath: path, mode: .once, secrets: ["tr0mbone"])
        let notes = try await recording.saving {
            try await withTransport(NIOTransport()) { transport in
                try await APIClient(transport.record(on: recording).server(url, headers: [.authorization: "Bearer tr0mbone"])).value(
                    Notes.all)
            }
        }
        let file = try String(contentsOfFile: path, encoding: .utf8)
        try expect(!file.contains("tr0mbone"), "\(SafeText.counted(file.utf8.count, "byte")) of HAR 1.2, without the token")

        step("Replay them without a network", "APIClient(try ReplayTransport(atPath: \"notes.har\").server(url))")
        let replayed = try await APIClient(try ReplayTransport(atPath: path).server(url)).value(Notes.all)
        try expect(replayed == notes, "\(replayed)")
    }

    /// Without a server: stubs, and a manual clock.
    private static func rehearse() async throws {
        step("An upload over a slow network, on a clock that the test owns", "StubTransport(…, conditions: .edge, clock: ManualClock())")
        let clock = ManualClock()
        let stub = StubTransport(Stub(.put, "/file").responds(.status(.created)), conditions: .edge, clock: clock)
        let started = clock.now
        let upload = try Request(.put, url: "https://a.example/file", body: .data(Data(count: 1_000_000)))
        let response = try await clock.advancingToSleepers { try await stub.send(upload) }
        try expect(response.status == .created, "a megabyte took \(Int(started.duration(to: clock.now) / .seconds(1))) s of simulated time")

        step("A POST with an idempotency key is retried", "request.options.idempotencyKey = .attached")
        let lost = TransportError(.connectionLost, phase: .response, request: nil, delivery: .unknown)
        let orders = StubTransport(Stub(.post, "/orders").responds(.failure(lost), .status(.created)))
        var order = try Request(.post, url: "https://a.example/orders", body: .text("tea"))
        order.options.idempotencyKey = .attached
        let sent = order
        let created = try await clock.advancingToSleepers { try await orders.retry(clock: clock).send(sent) }
        try expect(created.status == .created && orders.requests.count == 2, "\(created.status.code) after \(created.metadata.attempts)")

        step("A server that never responds", "stack.phaseTimeouts(firstByte: .seconds(2))")
        let silent = StubTransport(Stub().responds(.never)).phaseTimeouts(firstByte: .seconds(2), clock: clock)
        do {
            _ = try await clock.advancingToSleepers { try await silent.send(Request(.get, url: "https://a.example/")) }
            try expect(false, "no error")
        } catch let error as TransportError {
            try expect(error.phase == .response, "\(error)")
        }
    }

    /// A phone in a tunnel, whose network path is scripted.
    private static func waitForANetwork() async throws {
        step("A phone in a tunnel: the call waits for a network", "stack.waitForNetwork(upTo: .seconds(30), at: gate).profile()")
        let network = ScriptedPathMonitor(.unsatisfied)
        let gate = NetworkGate(network)
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let stack = stub.waitForNetwork(upTo: .seconds(30), at: gate).profile()
        async let call = stack.send(Request(.get, url: "https://a.example/"))
        for await count in gate.waitingCounts() where count > 0 { break }
        try expect(stub.requests.isEmpty, "\(gate)")
        network.change(to: .cellular)
        let response = try await call
        _ = try await response.body.collect()
        let profile = response.metadata.profile?.description ?? ""
        for line in profile.split(separator: "\n") { print("     \(line)") }
        try expect(response.status == .ok && profile.contains("waitForNetwork"), "\(gate)")
    }

    /// The transport over SwiftNIO: connections, addresses, event loops and pins.
    private static func connect(_ port: Int) async throws {
        step("The transport over SwiftNIO, with an address of the app's choice", "try HostOverrides([\"notes.example:\(port):127.0.0.1\"])")
        var configuration = NIOTransport.Configuration()
        configuration.resolver = try HostOverrides(["notes.example:\(port):127.0.0.1"])
        try await withTransport(NIOTransport(configuration)) { transport in
            let stack = transport.profile().server("http://notes.example:\(port)/v1")
            func phases() async throws -> [String] {
                let response = try await stack.send(Request(.get, "/notes"))
                _ = try await response.body.collect()
                return response.metadata.timings?.exchanges.last?.phases.map(\.name) ?? []
            }
            let first = try await phases()
            try expect(first.starts(with: ["queue", "dns", "connect"]), "a new connection: " + first.joined(separator: ", "))
            let second = try await phases()
            try expect(!second.contains("dns"), "the same again: " + second.joined(separator: ", "))

            step("A call that runs on the event loop of its connection", "withTaskExecutorPreference(transport.executors[0]) { … }")
            let status = try await withTaskExecutorPreference(transport.executors[0]) {
                try await stack.send(Request(.get, "/notes")).status.code
            }
            try expect(status == 200, "\(status), over \(transport.openConnections.compactMap(\.authority).joined(separator: ", "))")
        }

        step("Pins without a backup are refused", "try CertificatePins([\"a.example\": [\"sha256/…\"]])")
        do {
            _ = try CertificatePins(["a.example": ["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]])
            try expect(false, "no error")
        } catch let error as TLSSettingsError {
            result("\(error)")
        }
    }

    /// Limits that protect the client and the server.
    private static func control(_ url: String) async throws {
        step("At most two requests at once, the urgent one first", "transport.concurrencyLimit(2)")
        try await withTransport(NIOTransport()) { transport in
            let middleware = ConcurrencyLimitMiddleware(.fixed(2), per: .all)
            let stack = transport.wrapped(by: middleware).validateStatus()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<6 {
                    group.addTask {
                        var request = try Request(.get, url: "\(url)/notes")
                        request.options.priority = number == 5 ? .high : .normal
                        _ = try await stack.send(request).body.collect()
                    }
                }
                try await group.waitForAll()
            }
            result("six responses, over \(SafeText.counted(transport.openConnections.count, "connection"))")
        }

        step("An origin that keeps failing gets no requests", "stack.circuitBreaker(breaker)")
        let breaker = CircuitBreaker(CircuitBreakerPolicy(minimumCalls: 3))
        let broken = StubTransport(Stub().responds(.status(.serviceUnavailable))).circuitBreaker(breaker)
        for _ in 0..<3 { _ = try await broken.send(Request(.get, url: "https://a.example/")) }
        do {
            _ = try await broken.send(Request(.get, url: "https://a.example/"))
            try expect(false, "no error")
        } catch let error as CircuitBreakerError {
            result("\(error)")
        }

        step("A slow request is hedged by a second one", "stack.hedge(HedgePolicy(.fixed(.milliseconds(50))))")
        let clock = ManualClock()
        let slow = StubTransport(Stub().responds(.never, .status(.ok)), clock: clock)
            .hedge(HedgePolicy(.fixed(.milliseconds(50))), clock: clock)
        let hedged = try await clock.advancingToSleepers { try await slow.send(Request(.get, url: "https://a.example/")) }
        try expect(
            hedged.metadata.hedge?.winner == 2,
            "attempt \(hedged.metadata.hedge?.winner ?? 0) of \(hedged.metadata.hedge?.attempts ?? 0) was faster")

        step("A profile shows where the time went", "stack.profile()")
        try await withTransport(NIOTransport()) { transport in
            let response = try await transport.redirect().standardResilience().profile().send(Request(.get, url: "\(url)/redirect/1"))
            _ = try await response.body.collect()
            for line in (response.metadata.profile?.description ?? "").split(separator: "\n") { print("     \(line)") }
            try expect(
                response.metadata.timings?.redirectCount == 1,
                "one redirect, \(SafeText.counted(response.metadata.timings?.exchanges.count ?? 0, "request"))")
        }
    }

    /// The transport as a service of a server: a graceful shutdown ends it.
    private static func serve(_ url: String) async throws {
        step("A transport as a service", "ServiceGroup(services: [TransportService(transport)], logger: logger)")
        let transport = NIOTransport()
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

    /// Text in capitals.
    private struct Capitals: BodyTransform {
        mutating func next(_ input: inout Data) -> Data? {
            defer { input = Data() }
            return input.isEmpty ? nil : Data(input.map { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) ? $0 - 32 : $0 })
        }
    }

    /// Shows each request and the status of its response.
    private struct Wire: HTTPMiddleware {
        func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
            print("     > \(request)")
            let response = try await next.send(request)
            print("     < \(response.status.code) \(response.status.reasonPhrase)")
            return response
        }
    }

    static func step(_ title: String, _ code: String) { print("\n== \(title)\n   \(code)") }

    static func result(_ text: String) { print("   → \(text)") }

    static func expect(_ isRight: Bool, _ text: String) throws {
        result(text)
        guard isRight else { throw StepFailed() }
    }

    private struct StepFailed: Error, CustomStringConvertible { let description = "this step did not have the expected result" }
}
