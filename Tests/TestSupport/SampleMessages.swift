public import ErrandCore

public func request(_ method: HTTPRequest.Method = .get, body: RequestBody = .empty) throws -> Request {
    try Request(method, url: "https://a.example/x", body: body)
}

/// A body of three chunks that is never whole before it is read.
public let streamed = [Data("one".utf8), Data("two".utf8), Data("three".utf8)]
