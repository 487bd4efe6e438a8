#if AsyncHTTPClient
internal import AsyncHTTPClient
internal import ErrandCore
internal import ErrandFormats
internal import NIOCore
internal import NIOHTTP1

extension HTTPClient.Request {
    /// The message that the client sends for `request`.
    ///
    /// - Throws: ``/ErrandCore/InvalidURLError`` if the request has no URL, ``/ErrandCore/TransportError`` with the code
    ///   `invalidRequest` if the client refuses the request, `unsupported` for `OPTIONS *`.
    init(_ request: Request, body: HTTPClient.Body?) throws {
        guard request.head.path != "*" || request.method != .options else {
            throw TransportError(
                .unsupported, phase: .request, message: "this transport can't send the target '*' (RFC 9112, section 3.2.4)",
                request: request,
                delivery: .notSent)
        }
        let url = try request.urlText()
        let fields = request.head.headerFields.withOneCookie
        var (headers, hosts) = (HTTPHeaders(), 0)
        headers.reserveCapacity(fields.count)
        for field in fields {
            if field.name.canonicalName == "host" { hosts += 1 }
            // The client derives the framing from the body.
            if field.name == .contentLength || field.name == .transferEncoding { continue }
            // AsyncHTTPClient sends the credentials of its own proxy. The credentials of a request must never reach an origin.
            if field.name == .proxyAuthorization { continue }
            headers.add(name: field.name.rawName, value: field.value)
        }
        guard hosts < 2 else {
            throw TransportError(
                .invalidRequest, phase: .request, message: "the request has more than one Host field (RFC 9112, section 3.2)",
                request: request,
                delivery: .notSent)
        }
        do {
            try self.init(url: url, method: HTTPMethod(rawValue: request.method.rawValue), headers: headers, body: body)
        } catch {
            throw TransportError(
                .invalidRequest, phase: .request, message: FailureMapping.text(of: error), underlying: error, request: request,
                delivery: .notSent)
        }
    }
}

extension HTTPResponse {
    /// `nil` if the status is not from 100 to 999.
    init?(_ head: HTTPResponseHead) {
        guard (100...999).contains(head.status.code) else { return nil }
        var fields = HTTPFields()
        fields.reserveCapacity(head.headers.count)
        for (name, value) in head.headers {
            guard let name = UsualNames.name(name) ?? HTTPField.Name(name) else { continue }  // the parser accepts only tokens as names
            fields.append(HTTPField(name: name, value: value))
        }
        self.init(status: Status(code: Int(head.status.code), reasonPhrase: head.status.reasonPhrase), headerFields: fields)
    }
}

/// The names of fields that most responses have, in their most frequent spelling. These names need no check and no copy in lower case.
enum UsualNames {
    /// The names, by their length in octets.
    private static let byLength: [[HTTPField.Name]] = {
        let names = [
            "Accept-Ranges", "Access-Control-Allow-Origin", "Age", "Alt-Svc", "Cache-Control", "Connection", "Content-Encoding",
            "Content-Length", "Content-Security-Policy", "Content-Type", "Date", "ETag", "Expires", "Keep-Alive", "Last-Modified", "Link",
            "Location", "Server", "Set-Cookie", "Strict-Transport-Security", "Transfer-Encoding", "Vary", "Via", "X-Content-Type-Options",
            "X-Frame-Options", "X-Request-Id",
        ]
        var byLength: [[HTTPField.Name]] = []
        for name in (names + names.map { $0.lowercased() }).compactMap({ HTTPField.Name($0) }) {
            let count = name.rawName.utf8.count
            while byLength.count <= count { byLength.append([]) }
            byLength[count].append(name)
        }
        return byLength
    }()

    /// Returns the name for a text. `nil` if the table does not contain exactly this text.
    static func name(_ text: String) -> HTTPField.Name? {
        let (names, count) = (byLength, text.utf8.count)
        return count < names.count ? names[count].first { $0.rawName == text } : nil
    }
}

extension HTTPResponse {
    /// The length of the body after this head, in bytes.
    ///
    /// - Returns: `onTheWire` is `nil` if only the end of the body shows its length, or if the client may decode the body
    ///   (RFC 9112, 6.3). `expected` is the number of bytes that a reader may expect. `expected` is also `nil` if the declared
    ///   length is not the length of this body (RFC 9110, 8.6).
    func bodyLengths(to method: HTTPRequest.Method) -> (onTheWire: Int64?, expected: Int64?) {
        if method == .head || status.code == 204 || status.code == 304 { return (0, nil) }
        var declared: String?
        var (declarations, isCoded) = (0, false)
        // One pass finds all three fields, and compares lengths first. Three searches cost more than the rest of the head.
        for field in headerFields {
            switch field.name.canonicalName.utf8.count {
            case 14 where field.name == .contentLength: (declared, declarations) = (field.value, declarations + 1)
            case 16 where field.name == .contentEncoding: isCoded = true
            case 17 where field.name == .transferEncoding: isCoded = true
            default: break
            }
        }
        // Several declarations are not a number, even if they are equal.
        let length = declarations == 1 ? declared.flatMap { Int64($0) } : nil
        return (isCoded ? nil : length, length)
    }
}
#endif
