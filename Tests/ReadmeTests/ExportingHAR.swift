import Errand
import ErrandRecording

// The samples of the article "ExportingHAR", unchanged: `ReadmeTests` compares each sample with this file.

func exportSession(over network: HTTPStack, to path: String, _ work: (APIClient) async throws -> Void) async throws {
    try await network.exportHAR(toPath: path) { recorded in  // replaces the file
        try await work(APIClient(recorded.retry().server("https://desk.example")))
    }
}

func printSession(_ recording: Recording) {
    for entry in recording.log.entries { print(entry.request.method, entry.request.url, entry.response.status) }
    // GET https://desk.example/tickets?api_key=REDACTED 200
}

/// Records while a person asks for it.
actor Diagnostics {
    private let network: HTTPStack
    private var recording: Recording?

    init(network: HTTPStack) { self.network = network }

    var api: APIClient {
        var stack = network
        if let recording { stack = stack.record(on: recording) }
        return APIClient(stack.retry().server("https://desk.example"))
    }

    func start(path: String) throws { recording = try Recording(atPath: path, mode: .all, bodyLimitBytes: 64 * 1024) }

    func stop() throws {
        try recording?.save()
        recording = nil  // releases the recorded exchanges
    }
}

func makeRecorded(_ network: HTTPStack, on recording: Recording) -> APIClient {
    let stack = network.wrapped(by: RecordMiddleware(recording), when: .path("/tickets/**"))
    return APIClient(stack.server("https://desk.example"))
}

func signInUnrecorded(_ api: APIClient, _ password: String) async throws {
    try await api.post("/session", body: .json(["password": password])) { $0.record = .off }
}

func hideCards(_ api: APIClient, _ card: String) async throws {
    try await api.post("/payments", body: .json(["card": card])) { options in
        options.sensitivity.formUnion(Sensitivity(fields: [], queryNames: ["card"]))
    }
}
