public import ErrandCore
internal import ErrandFormats

/// A request as a stub received it, with its body.
public struct RecordedRequest: Sendable, CustomStringConvertible {
    /// The request with its options, as the transport got it.
    public let request: Request
    /// The bytes that were read of the body, at most 16 MiB. They grow while a response that streams both ways (``StubResponse/echo``) is in progress.
    public internal(set) var body: Data
    /// The request's trailer fields ([RFC 9110, section 6.5](https://www.rfc-editor.org/rfc/rfc9110#section-6.5)), once its body was read; `nil` without
    /// any.
    public internal(set) var trailers: HTTPFields?
    /// The text at each `{name}` of the stub's path, percent-decoded; empty if no stub matched.
    public internal(set) var pathValues: [String: String] = [:]

    /// A request for tests of your own matchers.
    ///
    /// - Parameters:
    ///   - request: method, target, fields and options. Its own body is not read.
    ///   - body: the bytes of the body; none by default.
    ///   - trailers: none by default.
    public init(request: Request, body: Data = Data(), trailers: HTTPFields? = nil) {
        (self.request, self.body, self.trailers) = (request, body, trailers)
    }

    /// The method.
    public var method: HTTPRequest.Method { request.method }

    /// The path, percent-encoded, without the query.
    public var path: String { request.path }

    /// The header fields.
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

    /// The parts of a multipart body ([RFC 2046, section 5.1](https://www.rfc-editor.org/rfc/rfc2046#section-5.1)); empty for any other body, and for
    /// one that is not valid.
    public var parts: [MultipartPart] {
        guard let type = MediaType(headers[.contentType] ?? ""), type.type == "multipart" else { return [] }
        return MultipartPart.parts(of: Array(body), boundary: type[parameter: "boundary"]) ?? []
    }

    /// The body as UTF-8. Invalid bytes become U+FFFD.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// The body as JSON.
    ///
    /// - Parameters:
    ///   - type: `JSONValue.self` for a body of any shape.
    ///   - coding: ``/ErrandCore/JSONCoding/standard`` by default, as a client has. Pass the client's own if it has another.
    /// - Throws: `DecodingError`.
    public func json<Value: Decodable>(as type: Value.Type = Value.self, coding: JSONCoding = .standard) throws -> Value {
        try coding.decode(type, from: body)
    }

    /// Method and URL, without secrets.
    public var description: String { request.description }
}

extension RecordedRequest: CustomReflectable {
    public var customMirror: Mirror {
        Mirror(self, children: ["request": request, "body": "\(body.count) bytes"] as KeyValuePairs<String, Any>)
    }
}

/// One part of a multipart body.
public struct MultipartPart: Sendable, Hashable {
    /// The header fields of the part.
    public let headers: HTTPFields
    /// The bytes of the part.
    public let body: Data

    /// The `name` of its `Content-Disposition` ([RFC 7578, section 4.2](https://www.rfc-editor.org/rfc/rfc7578#section-4.2)); `nil` without one.
    public var name: String? { disposition?[parameter: "name"] }
    /// The `filename` of its `Content-Disposition`; `nil` without one.
    public var filename: String? { disposition?[parameter: "filename"] }

    /// `form-data` reads like a media type behind a slash.
    private var disposition: MediaType? { headers[.contentDisposition].flatMap { MediaType("x/" + $0) } }

    /// Nil unless `body` is made of parts between `boundary`, each with valid fields.
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
