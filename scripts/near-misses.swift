// Code that newcomers wrote: each of these lines must get the message that names the remedy. See scripts/check-near-misses.

import ErrandAPI
import ErrandCore
import ErrandFormats
import ErrandMiddleware
import Foundation

struct User: Codable, Sendable { var name = "Ann" }

func paths(_ client: APIClient, _ path: String, _ url: URL, _ id: Int?) async throws {
    let _: User = try await client.get(path)  // for a path in a variable, write PathTemplate(verbatim: path)
    let _: User = try await client.get("/users/" + path)  // for a path in a variable, write PathTemplate(verbatim: path)
    let _: Endpoint<User> = .get(path)  // for a path in a variable, write PathTemplate(verbatim: path)
    _ = try Request(.get, path)  // write PathTemplate(verbatim: path)
    let _: User = try await client.get("/users/\(id)")  // unwrap the value
    let file = try await client.download(path, to: url)  // for a path in a variable, write PathTemplate(verbatim: path)
    _ = file.headers[.eTag]
    let _: User = try await client.upload(path, body: .file(url)) { _ in }  // for a path in a variable, write PathTemplate(verbatim: path)
    try await client.upload("/files/" + path, body: .file(url)) { _ in }  // for a path in a variable, write PathTemplate(verbatim: path)
    for try await event in client.events(path) { print(event.data) }  // for a path in a variable, write PathTemplate(verbatim: path)
    let _ = try await client.get(url, as: User.self)  // write .url(url)
}

func queriesAndFields(_ client: APIClient, _ filter: User, _ request: Request) async throws {
    let _: User = try await client.get("/users", query: filter)  // write query: try URLQuery(encoding: value, coding: client.jsonCoding)
    let _: User = try await client.get("/users", headers: ["X-Tenant": "a"])  // write headers: [.custom("X-Tenant"): value]
    _ = request.headers["X-Tenant"]  // write headers[.custom("X-Tenant")]
}

func bodies(_ client: APIClient, _ user: User, _ data: Data, _ text: String, _ file: URL) async throws {
    let _: User = try await client.post("/x", body: user)  // write body: .json(value)
    try await client.post("/x", body: ["a": 1])  // write body: .json(value)
    let _: Endpoint<User> = .post("/x", body: user)  // write body: .json(value)
    try await client.post("/x", body: data)  // write body: .json(value), or .data(data)
    try await client.post("/x", body: file)  // write body: .json(value), or .data(data), .text(text) or .file(url)
    try await client.post("/x", body: .json(["q": text, "stream": true]))  // write JSONValue(x) around each variable
    _ = try Request(.post, "/x", body: .json(["q": text, "stream": true]))  // write JSONValue(x) around each variable
}

func timeouts(_ stack: HTTPStack) {
    _ = stack.timeout(30)  // write timeout(.seconds(30))
}

func retries(_ stack: HTTPStack) {
    _ = stack.retry(.seconds(3))  // write retry(RetryPolicy(backoff: .constant(.seconds(3))))
}

func refusals(_ error: StatusError) {
    _ = error.statusCode  // write status.code
    _ = error.body  // write bodyPrefix
}

func stacks(_ stack: HTTPStack) {
    _ = stack.header("X-Tenant", "a")  // write server(headers: [.custom("X-Tenant"): value])
}

// What these messages say.
func remedies(
    _ client: APIClient, _ stack: HTTPStack, _ path: String, _ url: URL, _ user: User, _ data: Data, _ text: String
) async throws {
    let _: User = try await client.get(PathTemplate(verbatim: path), timeout: .seconds(5))
    try await client.head("/users/\(path, "name")")
    let _ = try await client.send(Request(.get, url: url)).json(as: User.self)
    let _: User = try await client.get(
        "/users", query: try URLQuery(encoding: user, coding: client.jsonCoding), headers: [.custom("X-Tenant"): "a"])
    try await client.post("/x", body: .json(user))
    try await client.post("/x", body: .json(["q": JSONValue(text), "stream": true]))
    try await client.post("/x", body: .json(["q": "a", "stream": true, "none": nil, "list": [1, "a"]]))
    try await client.post("/x", body: .json(["q": text, "r": text]))
    try await client.post("/x", body: .json(["user": user]))
    _ = try Request(.post, "/x", body: .json(["q": JSONValue(text), "stream": true]))
    try await client.post("/x", body: .data(data))
    try await client.post("/x", body: .text(text))
    try await client.post("/x", body: .file(url))
    _ = Endpoint<User>.post("/x", body: .json(user))
    _ = stack.timeout(.seconds(30))
    _ = stack.retry(RetryPolicy(backoff: .constant(.seconds(3))))
    try await client.download(PathTemplate(verbatim: path), to: url)
    try await client.upload(PathTemplate(verbatim: path), body: .file(url)) { _ in }
    for try await event in client.events(PathTemplate(verbatim: path)) { print(event.data) }
    _ = stack.server(headers: [.custom("X-Tenant"): "a"])
}
