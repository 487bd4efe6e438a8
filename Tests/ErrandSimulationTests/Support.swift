import Errand

func request(_ method: HTTPRequest.Method = .get, body: RequestBody = .empty) throws -> Request {
    try Request(method, url: "https://a.example/x", body: body)
}
