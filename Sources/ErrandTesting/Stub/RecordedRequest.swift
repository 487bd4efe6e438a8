public import ErrandCore
internal import ErrandFormats

/// A request that a stub has received, with the request's body.
public struct RecordedRequest: Sendable, CustomStringConvertible {
    /// The request with its options, as the transport received it.
    public let request: Request
    /// The bytes of the body that were read, at most the first 16 MiB. While the request and the response are both in progress
    /// (``StubResponse/echo``), this property grows.
    public internal(set) var body: Data
    /// The request's trailer fields ([RFC 9110, section 6.5](https://www.rfc-editor.org/rfc/rfc9110#section-6.5)). `nil` before
    /// the body has been read, and `nil` for a request without trailer fields.
    public internal(set) var trailers: HTTPFields?
    /// The text at each `{name}` of the stub's path, percent-decoded. Empty if no stub matched.
    public internal(set) var pathValues: [String: String] = [:]

    /// Creates a recorded request, for tests of custom matchers.
    ///
    /// - Parameters:
    ///   - request: the request, with its method, target, fields and options. The request's own body is not read.
    ///   - body: the bytes of the body. Default: empty.
    ///   - trailers: the trailer fields. `nil`, the default, means that the request has no trailer fields.
    public init(request: Request, body: Data = Data(), trailers: HTTPFields? = nil) {
        (self.request, self.body, self.trailers) = (request, body, trailers)
    }

    /// The method.
    public var method: HTTPRequest.Method { request.method }

    /// The path, percent-encoded, without the query.
    public var path: String { request.path }

    /// The header fields.
    public var headers: HTTPFields { request.head.headerFields }

    /// The names and values of the query, decoded, in order.
    public var queryItems: [URLQuery.Item] {
        guard let target = request.head.path, let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) else { return [] }
        return FormURLEncoded.decode(target[target.utf8.index(after: mark)...], plusIsSpace: false).map(URLQuery.Item.init)
    }

    /// The names and values of a form (`application/x-www-form-urlencoded`), decoded, in order. Empty for any other body.
    public var formItems: [URLQuery.Item] {
        guard MediaType(headers[.contentType] ?? "")?.essence == FormURLEncoded.mediaType else { return [] }
        return FormURLEncoded.decode(text).map(URLQuery.Item.init)
    }

    /// The parts of a multipart body ([RFC 2046, section 5.1](https://www.rfc-editor.org/rfc/rfc2046#section-5.1)). Empty for any
    /// other body, and for an invalid body.
    ///
    /// The rules are the same as for `response.parts()`: lines end with CR LF, and the boundary must be valid.
    public var parts: [Part] {
        guard let type = MediaType(headers[.contentType] ?? ""), type.type.isExactly("multipart"),
            let boundary = type[parameter: "boundary"].flatMap({ MultipartBoundary($0) })
        else { return [] }
        return Part.parts(of: body, boundary: boundary) ?? []
    }

    /// The body as UTF-8. Invalid bytes become U+FFFD.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// The body as JSON.
    ///
    /// - Parameters:
    ///   - type: the type of the value. For a body of any shape, pass `JSONValue.self`.
    ///   - coding: the rules for decoding. Pass the coding of the client. Default: ``/ErrandCore/JSONCoding/standard``.
    /// - Throws: `DecodingError`, with a text that names the request and the coding.
    public func json<Value: Decodable>(as type: Value.Type = Value.self, coding: JSONCoding = .standard) throws -> Value {
        do {
            return try coding.decode(type, from: body)
        } catch let error as DecodingError {
            throw error.described { "\(self): the body can't be read with the parameter coding (\(coding)): \($0)" }
        }
    }

    /// The method and the URL, with the secrets of the URL replaced.
    public var description: String { request.description }
}

extension DecodingError {
    /// Returns this error with another text.
    fileprivate func described(_ text: (String) -> String) -> DecodingError {
        func changed(_ context: Context) -> Context {
            let text = text(context.debugDescription)
            return Context(codingPath: context.codingPath, debugDescription: text, underlyingError: context.underlyingError)
        }
        return switch self {
        case .typeMismatch(let type, let context): .typeMismatch(type, changed(context))
        case .valueNotFound(let type, let context): .valueNotFound(type, changed(context))
        case .keyNotFound(let key, let context): .keyNotFound(key, changed(context))
        case .dataCorrupted(let context): .dataCorrupted(changed(context))
        @unknown default: self
        }
    }
}

extension RecordedRequest: HidesStorage {
    package var shownFields: KeyValuePairs<String, Any> { ["request": request, "body": body.count.counted("byte")] }
}

extension RecordedRequest {
    /// One part of a multipart body.
    public struct Part: Sendable, Hashable {
        private let head: MultipartHead
        /// The bytes of the part.
        public let body: Data

        /// The header fields of the part.
        public var headers: HTTPFields { head.headers }
        /// The `name` in the part's `Content-Disposition`
        /// ([RFC 7578, section 4.2](https://www.rfc-editor.org/rfc/rfc7578#section-4.2)); `nil` if the name is missing.
        public var name: String? { head.name }
        /// The file name in the part's `Content-Disposition`: `filename*` takes precedence over `filename`. `nil` if the file name
        /// is missing.
        public var fileName: String? { head.fileName }

        /// Returns the parts of a body; `nil` if the body is invalid or incomplete.
        fileprivate static func parts(of body: Data, boundary: MultipartBoundary) -> [Part]? {
            var reader = MultipartReader(boundary: boundary, headLimitBytes: .max, maxParts: .max)
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
