public import ErrandCore
internal import ErrandFormats

/// A request as a stub or a mock server saw it, with its body read.
public struct RecordedRequest: Sendable, CustomStringConvertible {
    public let request: Request
    /// What was read of the body; at most 16 MiB. Grows while an answer that streams both ways (``StubResponse/echo``) is under way.
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
    public var queryItems: [URLQuery.Item] {
        guard let target = request.head.path, let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) else { return [] }
        return FormURLEncoded.decode(target[target.utf8.index(after: mark)...], plusIsSpace: false).map(URLQuery.Item.init)
    }

    /// Names and values of a form (`application/x-www-form-urlencoded`), decoded, in order; empty for any other body.
    public var formItems: [URLQuery.Item] {
        guard MediaType(headers[.contentType] ?? "")?.essence == FormURLEncoded.mediaType else { return [] }
        return FormURLEncoded.decode(text).map(URLQuery.Item.init)
    }

    /// The parts of a multipart body (RFC 2046, 5.1); empty for any other, and for one that can't be read.
    public var parts: [MultipartPart] {
        guard let type = MediaType(headers[.contentType] ?? ""), type.type == "multipart" else { return [] }
        return MultipartPart.parts(of: Array(body), boundary: type[parameter: "boundary"]) ?? []
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

    /// Nil where `body` is not made of parts between `boundary`, each with fields that can be read.
    fileprivate static func parts(of body: [UInt8], boundary: String?) -> [MultipartPart]? {
        guard let sections = MultipartSection.wholeParts(of: body, boundary: boundary) else { return nil }
        var parts: [MultipartPart] = []
        for section in sections {
            guard let headers = fields(of: body[section.head]) else { return nil }
            parts.append(MultipartPart(headers: headers, body: Data(body[section.content])))
        }
        return parts
    }

    private static func fields(of head: ArraySlice<UInt8>) -> HTTPFields? {
        var headers = HTTPFields()
        for line in head.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
                let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
            else { return nil }
            // What stands around the value is trimmed.
            headers.append(HTTPField(name: name, value: String(decoding: line[(colon + 1)...], as: UTF8.self)))
        }
        return headers
    }
}
