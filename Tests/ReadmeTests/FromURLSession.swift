import Errand
import ErrandTesting
import ErrandURLSession
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

// The samples of the article "From URLSession", unchanged: `ReadmeTests` compares each sample with this file.

func note(at url: URL) async throws -> Note {
    let response = try await HTTPStack.default.validateStatus().send(Request(.get, url: url))
    return try await response.json(as: Note.self)
}

func note(_ id: Int, from api: APIClient) async throws -> Note {
    try await api.get("/notes/\(id, "id")", timeout: .seconds(10))
}

func draft(_ url: URL, from sender: String) throws -> Request {
    var request = try Request(.put, url: url, body: .json(["text": "Buy tea"]))
    request.headers[.custom("X-Tenant")] = "blue"  // a literal
    try request.headers.set("X-Sender", sender)  // from data
    request.query["draft"] = "true"
    request.options.timeout = .seconds(10)
    return request
}

func inTheLanguageOfTheDevice(_ stack: HTTPStack) -> HTTPStack {
    stack.transformRequest { if $0.headers[.acceptLanguage] == nil { $0.headers[.acceptLanguage] = AcceptLanguage().value } }
}

struct Filter: Encodable {
    var tags: [String]
    var page = 1
}

func search(_ pasted: String, _ filter: Filter) throws -> Request {
    // https://notes.example/straße: https://notes.example/stra%C3%9Fe?tags=a&tags=b&page=1
    try Request(.get, url: HTTPURL(pasted: pasted), query: URLQuery(encoding: filter))
}

func data(for urlRequest: URLRequest, over stack: HTTPStack) async throws -> (Data, HTTPURLResponse?) {
    let response = try await stack.send(Request(urlRequest))
    let data = try await response.data()
    return (data, urlRequest.url.flatMap { HTTPURLResponse(response.head, url: $0) })
}

func head(of request: Request, from session: URLSession) async throws -> HTTPResponse? {
    let (_, response) = try await session.data(for: URLRequest(request))
    return (response as? HTTPURLResponse).flatMap { HTTPResponse($0) }
}

func backUp(_ file: URL, from api: APIClient, to copy: URL) async throws {
    try await api.upload("/archive", method: .put, body: .file(file, contentType: "application/zip")) { print($0) }
    try await api.download("/archive", to: copy) { print($0) }
}

func follow(_ stack: HTTPStack, each line: (String) -> Void) async throws {
    let response = try await stack.send(Request(.get, "/changes"))
    for try await text in response.body.lines { line(text) }
}

func stackWithFewConnections() -> HTTPStack {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = 2
    return HTTPStack.sorted(around: URLSessionTransport(configuration)).redirect().decompress()
}

// swift-format-ignore
func patient(_ stack: HTTPStack, at gate: NetworkGate) -> HTTPStack {
    stack
        .waitForNetwork(upTo: .seconds(30), at: gate)
        .retry(.standard.waitingForNetwork(at: gate))
        .timeout(.seconds(60))
}

func showWaits(at gate: NetworkGate, _ show: (String?) -> Void) async {
    for await count in gate.waitingCounts() {
        show(count == 0 ? nil : "Waiting for a network.")
    }
}

func photo(_ id: Int, over path: NetworkPath) -> Endpoint<Void> {
    .get("/photos/\(id, "id")", query: ["size": path.isExpensive || path.isConstrained ? "small" : "large"])
}

func aCallWaitsForTheNetwork() async throws {
    let monitor = ScriptedPathMonitor(.unsatisfied)
    let gate = NetworkGate(monitor)
    let stub = StubTransport(Stub().responds(.json(Note(id: 7, text: "Buy tea"))))
    let api = APIClient(stub.waitForNetwork(upTo: .seconds(30), at: gate).server("https://notes.example"))
    async let loaded = note(7, from: api)
    for await count in gate.waitingCounts() where count == 1 { break }
    assert(stub.requests.isEmpty)
    monitor.change(to: .wifi)
    let text = try await loaded.text
    assert(text == "Buy tea" && stub.requests.count == 1)
}

func noteIsLoaded() async throws {
    let stub = StubTransport(Stub(.get, "/notes/{id}").responds(.json(Note(id: 7, text: "Buy tea"))))
    let loaded = try await note(7, from: APIClient(stub.server("https://notes.example")))
    assert(loaded.text == "Buy tea" && stub.requests.count == 1)
}
