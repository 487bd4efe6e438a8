import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import ErrandAPI

/// A call as a value, and the request that it becomes. Nothing is sent.
@Suite(.timeLimit(.minutes(5))) struct EndpointTests {
    private struct Item: Codable, Sendable, Equatable { var itemName: String }

    /// The factories for each method, with and without a value.
    private static let factories: [(any Sendable & CustomStringConvertible, HTTPRequest.Method)] = [
        (Endpoint<Item>.get("/x"), .get), (Endpoint<Item>.post("/x"), .post), (Endpoint<Item>.put("/x"), .put),
        (Endpoint<Item>.patch("/x"), .patch), (Endpoint<Item>.delete("/x"), .delete), (Endpoint<Void>.get("/x"), .get),
        (Endpoint<Void>.head("/x"), .head), (Endpoint<Void>.options("/x"), .options), (Endpoint<Void>.post("/x"), .post),
        (Endpoint<Void>.put("/x"), .put), (Endpoint<Void>.patch("/x"), .patch), (Endpoint<Void>.delete("/x"), .delete),
    ]

    @Test func eachFactoryHasItsMethod() {
        for (endpoint, method) in Self.factories { #expect(endpoint.description == "\(method.rawValue) /x") }
    }

    @Test func aFactoryTakesAllPartsOfTheCall() throws {
        let item = Item(itemName: "tea")
        let endpoint = Endpoint<Item>.put("/items/\(7, "id")", query: ["page": 2], headers: [.ifMatch: "\"1\""], body: .json(item))
        let request = try endpoint.request(json: JSONCoding(keys: .snakeCase))
        #expect(request.method == .put && request.head.path == "/items/7?page=2")
        #expect(request.headers[.ifMatch] == "\"1\"" && request.headers[.contentType] == "application/json")
        #expect(request.body.bufferedData == Data(#"{"item_name":"tea"}"#.utf8))
        #expect(request.options.urlTemplate == "/items/{id}")
        #expect(request.options.fallbackHeaders[.accept] == "application/json")
    }

    @Test func aCallWithoutAValueAcceptsAnything() throws {
        let request = try Endpoint<Void>.delete("/x").request()
        #expect(request.options.fallbackHeaders.isEmpty && request.headers.isEmpty && request.body.isEmpty)
    }

    @Test func fieldsOfTheCallReplaceFieldsOfTheBody() throws {
        let headers: HTTPFields = [.contentType: "application/vnd.a+json"]
        let request = try Endpoint<Item>.post("/x", headers: headers, body: .json(["a": 1])).request()
        #expect(request.headers[values: .contentType] == ["application/vnd.a+json"])
        var accepting = Endpoint<Item>.get("/x")
        accepting.options.fallbackHeaders[.accept] = "text/x"
        #expect(try accepting.request().options.fallbackHeaders[values: .accept] == ["text/x"])
    }

    @Test func aCallKeepsItsOwnTemplate() throws {
        #expect(try Endpoint<Void>.get("/items/\(7, "id")").with(\.urlTemplate, "mine").request().options.urlTemplate == "mine")
    }

    @Test func optionsAreChangedInACopy() {
        let plain = Endpoint<Item>.get("/x")
        let one = plain.with(\.timeout, .use(.seconds(2)))
        let two = one.with { options in
            options.tags["a"] = "b"
            options.validateStatus = .off
        }
        #expect(plain.options.timeout == .inherited && one.options.timeout == .use(.seconds(2)) && one.options.tags.isEmpty)
        #expect(two.options.timeout == .use(.seconds(2)) && two.options.tags == ["a": "b"])
    }

    @Test(arguments: [(Duration?.none, OptionOverride<Duration>.use(.seconds(9))), (.seconds(2), .use(.seconds(2)))])
    func theTimeoutOfAVerbReplacesTheTimeoutOfTheCall(timeout: Duration?, expected: OptionOverride<Duration>) {
        let call = Endpoint<Item>.get("/x").with(\.timeout, .use(.seconds(9)))
        #expect(call.with(timeout: timeout) { _ in }.options.timeout == expected)
        #expect(call.with(timeout: timeout) { $0.timeout = .off }.options.timeout == .off, "the closure runs last")
    }

    @Test func aConvertedCallIsTheSameCall() throws {
        let call = Endpoint<Item>.post("/items/\(7, "id")", query: ["page": 2], headers: [.ifMatch: "x"], body: .text("t"))
            .with(\.timeout, .use(.seconds(2)))
        let converted = call.map(\.itemName)
        let (one, two) = (try call.request(), try converted.request())
        #expect(one.head == two.head && one.body.bufferedData == two.body.bufferedData)
        #expect(converted.options.timeout == .use(.seconds(2)) && two.options.urlTemplate == one.options.urlTemplate)
        #expect(two.options.fallbackHeaders == one.options.fallbackHeaders)
    }

    @Test func theDescriptionHasNoSecrets() {
        let endpoint = Endpoint<Item>.get(
            "/items/\("s3cret", "token")?a=1", query: ["token": "s3cret"], headers: [.authorization: "s3cret"])
        #expect(endpoint.description == "GET /items/{token}?a=1&token=REDACTED")
        var dumped = ""
        dump(endpoint, to: &dumped)
        #expect(!dumped.contains("s3cret") && !String(reflecting: endpoint).contains("s3cret"))
    }

    @Test func aPathWithAnEmptyValueIsRefused() {
        #expect(throws: InvalidURLError.self) { try Endpoint<Item>.get("/items/\("", "id")").request() }
    }
}
