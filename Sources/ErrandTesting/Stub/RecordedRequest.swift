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
    ///
    /// They are read as `response.parts()` reads those of a response: lines end with CR LF, and the boundary must be valid.
    public var parts: [Part] {
        guard let type = MediaType(headers[.contentType] ?? ""), type.type == "multipart",
            let boundary = type[parameter: "boundary"].flatMap({ MultipartBoundary($0) })
        else { return [] }
        return Part.parts(of: body, boundary: boundary) ?? []
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

extension RecordedRequest: HidesStorage {
    package var shownFields: KeyValuePairs<String, Any> { ["request": request, "body": "\(body.count) bytes"] }
}

extension RecordedRequest {
    /// One part of a multipart body.
    public struct Part: Sendable, Hashable {
        private let head: MultipartHead
        /// The bytes of the part.
        public let body: Data

        /// The header fields of the part.
        public var headers: HTTPFields { head.headers }
        /// The `name` of its `Content-Disposition` ([RFC 7578, section 4.2](https://www.rfc-editor.org/rfc/rfc7578#section-4.2)); `nil` if it is
        /// missing.
        public var name: String? { head.name }
        /// The file's name in its `Content-Disposition`: `filename*` takes precedence over `filename`; `nil` if it is missing.
        public var fileName: String? { head.fileName }

        /// Returns the parts of a body; `nil` if it is not valid or not complete.
        fileprivate static func parts(of body: Data, boundary: MultipartBoundary) -> [Part]? {
            var reader = MultipartReader(boundary: boundary, maxHeadBytes: .max, maxParts: .max)
            reader.append(body)
            var (parts, head, content) = ([Part](), MultipartHead(headers: HTTPFields()), Data())
            do {
                while let event = try reader.next() {
                    switch event {
                    case .head(let next): (head, content) = (next, Data())
                    case .content(let bytes): content.append(contentsOf: bytes)
                    case .end: parts.append(Part(head: head, body: content))
                    }
                }
                try reader.finish()
            } catch {
                return nil
            }
            return parts
        }
    }
}
