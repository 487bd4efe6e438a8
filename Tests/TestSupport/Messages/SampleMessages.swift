public import ErrandCore

public func request(_ method: HTTPRequest.Method = .get, body: RequestBody = .empty) throws -> Request {
    try Request(method, url: "https://a.example/x", body: body)
}

/// The chunks of a streamed body, which is never complete before it is read.
public let streamed = [Data("one".utf8), Data("two".utf8), Data("three".utf8)]

public func get(_ target: String, headers: HTTPFields = HTTPFields()) throws -> Request {
    try Request(.get, url: "https://a.example" + target, headers: headers)
}

public func post(_ target: String, _ body: RequestBody, type: String? = nil) throws -> Request {
    var headers = HTTPFields()
    if let type { headers[.contentType] = type }
    return try Request(.post, url: "https://a.example" + target, headers: headers, body: body)
}
