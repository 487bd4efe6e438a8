import Errand

// The samples of the article "EventStreams", unchanged: `ReadmeTests` compares each sample with this file.

func watchPrices(_ client: APIClient) async throws {
    for try await event in client.events("/prices", query: ["symbol": "AAPL"]) {
        print(event.lastEventID, event.type, event.data)  // 17 message {"price":1.5}
    }
}

nonisolated struct Answer: Decodable, Sendable {
    var text: String
}

func answer(_ question: String, _ client: APIClient) async throws -> String {
    let chat = Endpoint<Void>.post("/v1/chat", body: .json(["question": question]))
    var text = ""
    for try await part in client.events(chat, as: Answer.self, terminator: "[DONE]") { text += part.text }
    return text
}

func watchPatiently(_ client: APIClient, after lastEventID: String, show: @escaping @Sendable (String) -> Void) async throws {
    let policy = EventStreamPolicy(maxReconnects: 20, silenceTimeout: .seconds(45))
    for try await event in client.events("/prices", lastEventID: lastEventID, policy: policy, onState: { show("\($0)") }) {
        show(event.data)
    }
}

@MainActor final class Ticker {
    private(set) var prices: [String] = []
    private(set) var status = ""

    func run(_ client: APIClient) async throws {
        let (states, continuation) = AsyncStream.makeStream(of: EventStreamState.self)
        let watching = Task { for await state in states { status = "\(state)" } }
        defer { continuation.finish() }
        for try await event in client.events("/prices", onState: { continuation.yield($0) }) { prices.append(event.data) }
        continuation.finish()
        await watching.value
    }
}

func watchUntilItFails(_ client: APIClient) async throws {
    do {
        for try await event in client.events("/prices") { print(event.data) }
        print("the server has closed the stream for good")  // 204
    } catch let error as EventStreamError where error.code == .silent {
        print("a proxy may buffer the stream: \(error)")
    } catch let error as StatusError {
        print("refused: \(error.status)")
    }
}

nonisolated struct LogEntry: Decodable, Sendable {
    var message: String
}

func printLog(_ client: APIClient) async throws {
    let log = Endpoint<Void>.get("/log", headers: [.acceptEncoding: "identity"]).with(\.timeout, .off)
    let response = try await client.send(log)
    for try await entry in response.ndjson(as: LogEntry.self, onInvalid: { print("skipped: \($0)") }) { print(entry.message) }
}
