#if AsyncHTTPClient
internal import AsyncHTTPClient
internal import ErrandCore
internal import NIOCore
internal import NIOHTTP1

extension HTTPClient.Request {
    /// The message that the client sends for `request`.
    ///
    /// - Throws: ``InvalidURLError`` if there is no URL, ``TransportError`` with the code `invalidRequest` if the client refuses it, `unsupported` for
    ///   `OPTIONS *`.
    init(_ request: Request, body: HTTPClient.Body?) throws {
        guard request.head.path != "*" || request.method != .options else {
            throw TransportError(
                .unsupported, phase: .request, message: "this transport can't send the target '*' (RFC 9112, 3.2.4)", request: request,
                delivery: .notSent)
        }
        let url = try request.urlText()
        guard request.head.headerFields.lazy.filter({ $0.name.canonicalName == "host" }).prefix(2).count < 2 else {
            throw TransportError(
                .invalidRequest, phase: .request, message: "there is more than one Host field (RFC 9112, 3.2)", request: request,
                delivery: .notSent)
        }
        var headers = HTTPHeaders()
        headers.reserveCapacity(request.head.headerFields.count)
        for field in request.head.headerFields {
            // How the body is framed is decided by the body.
            if field.name == .contentLength || field.name == .transferEncoding { continue }
            headers.add(name: field.name.rawName, value: field.value)
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
    /// Nil for a status that is none.
    init?(_ head: HTTPResponseHead) {
        guard (100...999).contains(head.status.code) else { return nil }
        var fields = HTTPFields()
        fields.reserveCapacity(head.headers.count)
        for (name, value) in head.headers {
            guard let name = HTTPField.Name(name) else { continue }  // the parser lets only tokens through
            fields.append(HTTPField(name: name, value: value))
        }
        self.init(status: Status(code: Int(head.status.code), reasonPhrase: head.status.reasonPhrase), headerFields: fields)
    }
}

extension HTTPResponse {
    /// Drops the fields that describe the coded body, as RFC 9110, 8.4, requires of whoever decodes; returns the coding's name. Nil, and
    /// nothing is dropped, where the client decodes nothing.
    mutating func removeDecodedCoding(of method: HTTPRequest.Method) -> String? {
        let coding = ContentCoding.decoded(
            headerFields[values: .contentEncoding], status: status.code, contentLength: headerFields[values: .contentLength].first,
            answersHead: method == .head)
        guard let coding else { return nil }
        headerFields[.contentEncoding] = nil
        headerFields[.contentLength] = nil
        return coding
    }
}

extension HTTPResponse {
    /// The length of the body behind this head, in bytes; nil where only its end tells, or where the client may decode it
    /// (RFC 9112, 6.3).
    func bodyLength(answering method: HTTPRequest.Method) -> Int64? {
        if method == .head || status.code == 204 || status.code == 304 { return 0 }
        guard headerFields[.transferEncoding] == nil, headerFields[.contentEncoding] == nil else { return nil }
        return headerFields[.contentLength].flatMap { Int64($0) }
    }

    /// How many bytes a reader may expect; nil also where the declared length is not that of this body (RFC 9110, 8.6).
    func expectedLength(answering method: HTTPRequest.Method) -> Int64? {
        if method == .head || status.code == 204 || status.code == 304 { return nil }
        return headerFields[.contentLength].flatMap { Int64($0) }
    }
}
#endif
