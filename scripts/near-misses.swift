// What a newcomer writes first: each of these lines must get the message that ends it. See scripts/check-near-misses.

import ErrandAPI
import ErrandCore
import ErrandFormats
import ErrandMiddleware
import Foundation

struct User: Codable, Sendable { var name = "Ann" }
struct Opaque: Sendable {}

func pathsOfCalls(_ client: APIClient, _ path: String, _ file: URL, _ user: User) async throws {
    let _: User = try await client.get(path)  // write PathTemplate(verbatim: path)
    try await client.get(path)  // write PathTemplate(verbatim: path)
    let _: User = try await client.post(path)  // write PathTemplate(verbatim: path)
    try await client.post(path)  // write PathTemplate(verbatim: path)
    let _: User = try await client.put(path)  // write PathTemplate(verbatim: path)
    try await client.put(path)  // write PathTemplate(verbatim: path)
    let _: User = try await client.patch(path)  // write PathTemplate(verbatim: path)
    try await client.patch(path)  // write PathTemplate(verbatim: path)
    let _: User = try await client.delete(path)  // write PathTemplate(verbatim: path)
    try await client.delete(path)  // write PathTemplate(verbatim: path)
    try await client.head(path)  // write PathTemplate(verbatim: path)
    try await client.options(path)  // write PathTemplate(verbatim: path)
    _ = try await client.download(path, to: file)  // write PathTemplate(verbatim: path)
    let _: User = try await client.upload(path, body: .json(user)) { _ in }  // write PathTemplate(verbatim: path)
    try await client.upload(path, body: .json(user)) { _ in }  // write PathTemplate(verbatim: path)
}

func timeouts(_ client: APIClient, _ stack: HTTPStack, _ file: URL, _ user: User) async throws {
    let _: User = try await client.get("/x", timeout: 5)  // write timeout: .seconds(5)
    try await client.get("/x", timeout: 5)  // write timeout: .seconds(5)
    let _: User = try await client.post("/x", timeout: 5)  // write timeout: .seconds(5)
    try await client.post("/x", timeout: 5)  // write timeout: .seconds(5)
    let _: User = try await client.put("/x", timeout: 5)  // write timeout: .seconds(5)
    try await client.put("/x", timeout: 5)  // write timeout: .seconds(5)
    let _: User = try await client.patch("/x", timeout: 5)  // write timeout: .seconds(5)
    try await client.patch("/x", timeout: 5)  // write timeout: .seconds(5)
    let _: User = try await client.delete("/x", timeout: 5)  // write timeout: .seconds(5)
    try await client.delete("/x", timeout: 5)  // write timeout: .seconds(5)
    try await client.head("/x", timeout: 5)  // write timeout: .seconds(5)
    try await client.options("/x", timeout: 5)  // write timeout: .seconds(5)
    _ = try await client.download("/x", to: file, timeout: 5)  // write timeout: .seconds(5)
    let _: User = try await client.upload("/x", body: .json(user), timeout: 5)  // write timeout: .seconds(5)
    try await client.upload("/x", body: .json(user), timeout: 5) { _ in }  // write timeout: .seconds(5)
    _ = stack.timeout(30)  // write timeout(.seconds(30))
    _ = stack.timeout(0.5)  // write timeout(.seconds(0.5))
}

func bodies(_ client: APIClient, _ user: User) async throws {
    let _: User = try await client.post("/x", body: user)  // write body: .json(value)
    try await client.post("/x", body: ["a": 1])  // write body: .json(value)
    let _: Endpoint<User> = .post("/x", body: user)  // write body: .json(value)
    let _: User = try await client.put("/x", body: user)  // write body: .json(value)
    try await client.put("/x", body: ["a": 1])  // write body: .json(value)
    let _: Endpoint<User> = .put("/x", body: user)  // write body: .json(value)
    let _: User = try await client.patch("/x", body: user)  // write body: .json(value)
    try await client.patch("/x", body: ["a": 1])  // write body: .json(value)
    let _: Endpoint<User> = .patch("/x", body: user)  // write body: .json(value)
    let _: User = try await client.upload("/x", body: user) { _ in }  // write body: .json(value)
    try await client.upload("/x", body: ["a": 1])  // write body: .json(value)
}

func kindsOfBodies(_ client: APIClient, _ data: Data, _ text: String, _ file: URL) async throws {
    let _: User = try await client.post("/x", body: data)  // write body: .data(data)
    try await client.post("/x", body: data)  // write body: .data(data)
    let _: User = try await client.put("/x", body: data)  // write body: .data(data)
    try await client.put("/x", body: data)  // write body: .data(data)
    let _: User = try await client.patch("/x", body: data)  // write body: .data(data)
    try await client.patch("/x", body: data)  // write body: .data(data)
    let _: User = try await client.post("/x", body: text)  // write body: .text(text)
    try await client.post("/x", body: text)  // write body: .text(text)
    let _: User = try await client.put("/x", body: text)  // write body: .text(text)
    try await client.put("/x", body: text)  // write body: .text(text)
    let _: User = try await client.patch("/x", body: text)  // write body: .text(text)
    try await client.patch("/x", body: text)  // write body: .text(text)
    let _: User = try await client.post("/x", body: file)  // write body: .file(url)
    try await client.post("/x", body: file)  // write body: .file(url)
    let _: User = try await client.put("/x", body: file)  // write body: .file(url)
    try await client.put("/x", body: file)  // write body: .file(url)
    let _: User = try await client.patch("/x", body: file)  // write body: .file(url)
    try await client.patch("/x", body: file)  // write body: .file(url)
}

func endpoints(_ path: String) {
    let _: Endpoint<User> = .get(path)  // write PathTemplate(verbatim: path)
    let _: Endpoint<Void> = .get(path)  // write PathTemplate(verbatim: path)
    let _: Endpoint<Opaque> = .get("/x")  // write Endpoint(.get, path, decoding: …)
    let _: Endpoint<User> = .post(path)  // write PathTemplate(verbatim: path)
    let _: Endpoint<Void> = .post(path)  // write PathTemplate(verbatim: path)
    let _: Endpoint<Opaque> = .post("/x")  // write Endpoint(.post, path, decoding: …)
    let _: Endpoint<User> = .put(path)  // write PathTemplate(verbatim: path)
    let _: Endpoint<Void> = .put(path)  // write PathTemplate(verbatim: path)
    let _: Endpoint<Opaque> = .put("/x")  // write Endpoint(.put, path, decoding: …)
    let _: Endpoint<User> = .patch(path)  // write PathTemplate(verbatim: path)
    let _: Endpoint<Void> = .patch(path)  // write PathTemplate(verbatim: path)
    let _: Endpoint<Opaque> = .patch("/x")  // write Endpoint(.patch, path, decoding: …)
    let _: Endpoint<User> = .delete(path)  // write PathTemplate(verbatim: path)
    let _: Endpoint<Void> = .delete(path)  // write PathTemplate(verbatim: path)
    let _: Endpoint<Opaque> = .delete("/x")  // write Endpoint(.delete, path, decoding: …)
    let _: Endpoint<Void> = .head(path)  // write PathTemplate(verbatim: path)
    let _: Endpoint<Void> = .options(path)  // write PathTemplate(verbatim: path)
}

func requests(_ path: String, _ request: Request) throws {
    _ = try Request(.get, path)  // write PathTemplate(verbatim: path)
    _ = try Request(.get, url: "/users/\(7, "id")")  // write Request(.get, path) without a label
    _ = request.headers["X-Tenant"]  // write headers[.custom("X-Tenant")]
}

func clients(_ client: APIClient, _ endpoint: Endpoint<User>, _ url: URL) async throws {
    _ = try await client.get(endpoint)  // write value(endpoint)
    _ = APIClient("https://api.example.com")  // write APIClient(.default.server("https://api.example.com"))
    _ = APIClient(url)  // write APIClient(.default.server(url))
}

func forms(_ title: String) {
    var form = MultipartForm()
    form.append("title", title)  // write append(name, .text(value))
}

// Beside them, what these messages say.
func remedies(_ client: APIClient, _ stack: HTTPStack, _ path: String, _ file: URL, _ user: User) async throws {
    let _: User = try await client.get(PathTemplate(verbatim: path), timeout: .seconds(5))
    try await client.post("/x", body: .json(user))
    try await client.head("/users/\(path, "name")")
    _ = try await client.download("/x", to: file, timeout: .seconds(5))
    let _: User = try await client.upload("/x", body: .json(user)) { _ in }
    try await client.upload("/x", body: .json(["a": 1]), timeout: .seconds(5)) { _ in }
    _ = Endpoint<User>.post("/x", body: .json(user))
    _ = stack.timeout(.seconds(30))
    var form: MultipartForm = ["title": "Sunset"]
    form.append("title", "Sunset")
    form.append("path", .text(path))
}

func endpointsOfListsAndJobs(_ client: APIClient, _ next: NextPage<User>, _ id: Int?, _ json: JSONValue) async throws {
    _ = client.pages("/items", next: next)  // write client.pages(.get
    let _: TypedResponse<User> = try await client.poll("/jobs/7")  // write client.poll(.get
    let _: User = try await client.get("/users/\(id)")  // unwrap the value
    var json = json
    json[0] = 1  // write try json.set
    json.name = "Ann"
}
