#if MockServer
internal import ErrandCore

/// The source of a response's body, with its length.
struct Plan {
    let source: any BodySource
    /// The length in bytes; `nil` if the length is not known in advance.
    let length: Int?
    private let declaresLength: Bool

    init(_ response: MockResponse, to request: IncomingBody) async throws {
        switch response.body.kind {
        case .chunks(let chunks, let hasLength):
            source = ChunksBodySource(chunks)
            length = chunks.reduce(0) { $0 + $1.count }
            declaresLength = hasLength
        case .source(let open):
            source = try await open()
            (length, declaresLength) = (nil, false)
        case .echo:
            // The echo begins with the part that a dispatcher has read, and continues with the rest as the rest arrives.
            source = ChunksBodySource([request.request.body], then: .source(request))
            (length, declaresLength) = (nil, false)
        case .raw:
            source = ChunksBodySource([])
            (length, declaresLength) = (0, false)
        }
    }

    /// Returns the bytes of the body that are known in advance.
    static func bytes(of response: MockResponse) -> Data {
        guard case .chunks(let chunks, _) = response.body.kind else { return Data() }
        return chunks.reduce(into: Data()) { $0.append($1) }
    }

    /// Returns the framing, and whether the body is sent. With some statuses, and for HEAD, no body is sent
    /// ([RFC 9112, section 6.3](https://www.rfc-editor.org/rfc/rfc9112#section-6.3)).
    func framing(of response: MockResponse, to request: MockRequest) -> (WireFraming, sendsBody: Bool) {
        let (status, fields) = (response.head.status.code, response.head.headerFields)
        let fault = response.fault?.fault
        if status == 204 || status == 304 { return (.none, false) }
        if request.method == .head {
            let isTold = declaresLength && fields[.transferEncoding] == nil
            return (isTold ? .length(length ?? 0) : .none, false)
        }
        if let fault, let length, case .wrongContentLength(let missing) = fault.kind {
            return (.length(missing > 0 ? length + missing : response.fault?.point == .responseBody ? length / 2 : length), true)
        }
        if let fault, fault == .truncatedChunk || fault.isGarbage && response.fault?.point == .responseBody { return (.chunked, true) }
        if response.framing == .untilClose { return (.untilClose, true) }
        if fields[.contentLength] != nil || fields[.transferEncoding] != nil { return (.byItself, true) }
        if declaresLength, response.framing == .automatic, response.trailers == nil { return (.length(length ?? 0), true) }
        return (request.httpVersion == .http1_0 ? .untilClose : .chunked, true)
    }
}

extension Fault {
    fileprivate var isGarbage: Bool { if case .garbage = kind { true } else { false } }
}

extension MockResponse {
    /// Whether the head of the response is sent before the request is complete.
    var startsEarly: Bool {
        if case .echo = body.kind { return true }
        return isEarly
    }
}
#endif
