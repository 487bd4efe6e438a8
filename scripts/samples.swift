// The names that samples of doc comments use and don't declare. See scripts/check-samples. Nothing here runs.

func omitted<Value>() -> Value { preconditionFailure("a sample with context does not run") }
func omitted() async throws {}

// MARK: Stacks and calls
var transport: HTTPStack { omitted() }
var stack: HTTPStack { omitted() }
var client: APIClient { omitted() }
var api: APIClient { omitted() }
var next: HTTPStack { omitted() }
var stub: StubTransport { omitted() }
var request: Request {
    get { omitted() }
    set {}
}
var response: Response { omitted() }
var logger: Logger { omitted() }
var configuration: NIOTransport.Configuration {
    get { omitted() }
    set {}
}

// MARK: Values
var id: Int { 7 }
var name: String { "name" }
var text: String { "text" }
var path: String { "/path" }
var key: String { "key" }
var password: String { "password" }
var data: Data { Data() }
var url: URL { omitted() }
var folder: URL { omitted() }
var file: URL { omitted() }
var json: JSONValue {
    get { omitted() }
    set {}
}
var user: User { omitted() }
var tokens: TokenSource { omitted() }

struct User: Codable, Sendable, Equatable {
    var id = 7
    var name = "Ada"
    var joined: Date?
}
struct Order: Codable, Sendable { var id = 1 }
struct Photo: Codable, Sendable { var id = 1 }
struct Page: Codable, Sendable { var items: [User] }
