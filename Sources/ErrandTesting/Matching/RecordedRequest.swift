public import ErrandCore
internal import ErrandFormats

/// A request as a stub or a mock server saw it, with its body read.
public struct RecordedRequest: Sendable, CustomStringConvertible {
    public let request: Request
    /// What was read of the body; at most 16 MiB. Grows while an answer that streams both ways (``StubAnswer/echo``) is under way.
    public internal(set) var body: Data
    /// The request's trailer fields (RFC 9110, 6.5), once its body was read; nil where there were none.
    public internal(set) var trailers: HTTPFields?
    /// What stands at each `{name}` of the stub's path, decoded; empty where no stub matched.
    public internal(set) var pathValues: [String: String] = [:]

    /// - Parameters:
    ///   - request: the head that counts; its body is not read.
    ///   - body: the bytes that it stands for.
    public init(request: Request, body: Data = Data(), trailers: HTTPFields? = nil) {
        (self.request, self.body, self.trailers) = (request, body, trailers)
    }

    public var method: HTTPRequest.Method { request.method }

    /// The path, percent-encoded, without the query.
    public var path: String { String((request.head.path ?? "").prefix { $0 != "?" }) }

    public var headers: HTTPFields { request.head.headerFields }

    /// Names and values of the query, decoded, in order.
    public var queryItems: [Query.Item] {
        guard let target = request.head.path, let mark = target.firstIndex(of: "?") else { return [] }
        return Self.items(target[target.index(after: mark)...]) { PercentEncoding.decode($0) ?? String($0) }
    }

    /// Names and values of a form (`application/x-www-form-urlencoded`), decoded, in order; empty for any other body.
    public var formItems: [Query.Item] {
        guard MediaType(headers[.contentType] ?? "")?.essence == FormURLEncoded.mediaType else { return [] }
        let text = String(decoding: body, as: UTF8.self)
        return Self.items(text[...]) { PercentEncoding.decode($0.replacing("+", with: " ")) ?? String($0) }
    }

    private static func items(_ text: Substring, decode: (Substring) -> String) -> [Query.Item] {
        text.split(separator: "&").map { item in
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(decode)
            return Query.Item(name: parts[0], value: parts.count > 1 ? parts[1] : nil)
        }
    }

    /// The parts of a multipart body (RFC 2046, 5.1); empty for any other, and for one that can't be read.
    public var parts: [MultipartPart] {
        guard let type = MediaType(headers[.contentType] ?? ""), type.type == "multipart", let boundary = type[parameter: "boundary"]
        else { return [] }
        return MultipartPart.parts(of: body, boundary: boundary) ?? []
    }

    /// The body as UTF-8; other octets become U+FFFD.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// The body as JSON.
    public func json<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value { try JSONDecoder().decode(type, from: body) }

    public var description: String { request.description }
}

extension RecordedRequest: CustomReflectable {
    public var customMirror: Mirror {
        Mirror(self, children: ["request": request, "body": "\(body.count) bytes"] as KeyValuePairs<String, Any>)
    }
}

/// One part of a multipart body.
public struct MultipartPart: Sendable, Hashable {
    public let headers: HTTPFields
    public let body: Data

    /// The `name` of its `Content-Disposition` (RFC 7578, 4.2); nil if it has none.
    public var name: String? { disposition?[parameter: "name"] }
    /// The `filename` of its `Content-Disposition`; nil if it has none.
    public var filename: String? { disposition?[parameter: "filename"] }

    /// `form-data` reads like a media type behind a slash.
    private var disposition: MediaType? { headers[.contentDisposition].flatMap { MediaType("x/" + $0) } }

    /// Nil where `body` is not made of parts between `boundary`.
    static func parts(of body: Data, boundary: String) -> [MultipartPart]? {
        let (delimiter, lineEnd) = (Data("\r\n--\(boundary)".utf8), Data("\r\n".utf8))
        // The first delimiter may stand at the very front.
        let text = lineEnd + body
        var parts: [MultipartPart] = []
        guard var next = text.firstRange(of: delimiter) else { return nil }
        while true {
            let rest = text[next.upperBound...]
            if rest.starts(with: Data("--".utf8)) { return parts }
            guard let end = rest.firstRange(of: delimiter), let lineBreak = rest.firstRange(of: lineEnd),
                let part = part(text[lineBreak.upperBound..<max(end.lowerBound, lineBreak.upperBound)])
            else { return nil }
            parts.append(part)
            next = end
        }
    }

    private static func part(_ bytes: Data) -> MultipartPart? {
        // Without any field, a part begins with the empty line.
        let lineEnd = Data("\r\n".utf8)
        if bytes.starts(with: lineEnd) { return MultipartPart(headers: HTTPFields(), body: Data(bytes.dropFirst(2))) }
        guard let head = bytes.firstRange(of: lineEnd + lineEnd) else { return nil }
        var headers = HTTPFields()
        for line in String(decoding: bytes[..<head.lowerBound], as: UTF8.self).split(separator: "\r\n") {
            let field = line.split(separator: ":", maxSplits: 1)
            guard field.count == 2, let name = HTTPField.Name(String(field[0])) else { return nil }
            headers.append(HTTPField(name: name, value: String(field[1])))  // trims what stands around the value
        }
        return MultipartPart(headers: headers, body: Data(bytes[head.upperBound...]))
    }
}
