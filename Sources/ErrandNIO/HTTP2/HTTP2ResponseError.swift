#if SWIFT_NIO
internal import ErrandCore

/// The reason why frames are not an HTTP/2 response, in words ([RFC 9113, section 8](https://www.rfc-editor.org/rfc/rfc9113#section-8)).
///
/// The value of a field is never shown, because the value may be a secret.
enum HTTP2ResponseError: SafelyDescribedError, Equatable {
    case missingStatus
    case invalidStatus
    case pseudoField(String)
    case fieldInUpperCase(String)
    case invalidFieldName(String)
    case invalidFieldValue(name: String)
    case connectionField(String)
    case invalidContentLength
    case differentContentLengths
    case tooManyFields(limit: Int)
    case headTooLong(limitBytes: Int)
    case switchingProtocols
    case interimEnds(Int)
    case tooManyInterimResponses(limit: Int)
    case dataBeforeHead
    case fieldsInBody
    case bodyTooLong
    case bodyTooShort(missingBytes: Int64)
    case streamError(String)
    case windowUpdate(HTTP2Code)

    var description: String {
        switch self {
        case .missingStatus: "the response has no ':status'"
        case .invalidStatus: "the response's ':status' is not a three-digit number from 100 to 999"
        case .pseudoField(let name): "the response has the pseudo-field '\(name)'; only one ':status', before all fields, is allowed"
        case .fieldInUpperCase(let name): "the field name '\(name)' is not in lower case (RFC 9113, section 8.2.1)"
        case .invalidFieldName(let name): "the field name '\(name)' is not a token: letters, digits and !#$%&'*+-.^_`|~"
        case .invalidFieldValue(let name):
            "the value of the field '\(name)' contains a control character (RFC 9113, section 8.2.1)"
        case .connectionField(let name): "the response has the field '\(name)', which HTTP/2 does not allow (RFC 9113, section 8.2.2)"
        case .invalidContentLength: "the response's Content-Length is not a number of digits below 2^63"
        case .differentContentLengths: "the response has several different values of Content-Length"
        case .tooManyFields(let limit): "the response has more than \(limit.counted("field")) in one section"
        case .headTooLong(let limit): "the fields of the response are longer than \(limit.counted("byte"))"
        case .switchingProtocols: "the server sent the status 101, which HTTP/2 does not allow (RFC 9113, section 8.6)"
        case .interimEnds(let status): "the interim response \(status) ends the stream: there is no final response"
        case .tooManyInterimResponses(let limit): "the server sent more than \(limit.counted("interim response")) (1xx)"
        case .dataBeforeHead: "the body or the end of the stream comes before the head of the response"
        case .fieldsInBody: "the response has trailer fields, but its stream does not end after these fields"
        case .bodyTooLong: "the body is longer than the response's head allows"
        case .bodyTooShort(let missing):
            "the stream ended \(missing.counted("byte")) before the end of the body that Content-Length declares"
        case .streamError(let text): text
        case .windowUpdate(let code):
            "the server changed a window of the request in an invalid way (RFC 9113, section 6.9); the stream was reset with \(code)"
        }
    }
}

/// An error for a server that has broken the rules of HTTP/2, or has ended a stream or the connection.
enum HTTP2ConnectionError: SafelyDescribedError, Equatable {
    /// The connection was closed by this side.
    case closed(HTTP2Code, text: String)
    case push
    case pushSetting
    case tooManyMalformedResponses(limit: Int)
    case tooManyFrames(FrameAllowance.Excess)
    case slowField

    case invalidFieldNumber

    /// The code of the GOAWAY, if ``FrameGuard`` has found the error; otherwise `nil`.
    var codeOfGuard: HTTP2Code? {
        switch self {
        case .tooManyFrames, .slowField: .enhanceYourCalm
        case .invalidFieldNumber: .compressionError
        default: nil
        }
    }

    case noPong(after: Duration)
    case goAway(HTTP2Code)
    case notProcessed(HTTP2Code)
    case reset(HTTP2Code)

    /// Whether the server refuses the request, and requires HTTP/1.1.
    var needsHTTP1: Bool { self == .reset(.http11Required) || self == .notProcessed(.http11Required) }

    var description: String {
        switch self {
        case .closed(let code, let text): "\(text); the connection was closed with \(code)"
        case .push: "the server pushed a response, which the client does not allow; the connection was closed with PROTOCOL_ERROR"
        case .pushSetting:
            "the server sent SETTINGS_ENABLE_PUSH, which only a client may set (RFC 9113, section 6.5.2); the connection was closed with "
                + "PROTOCOL_ERROR"
        case .tooManyMalformedResponses(let limit):
            "more than \(limit.counted("malformed response")) arrived on one connection; the connection was closed with ENHANCE_YOUR_CALM"
        case .tooManyFrames(.frames(let limit)):
            "within \(HTTP2Limits.otherFrames.time.inWords), the server sent more than \(limit.counted("frame")) that are not part of a "
                + "response; the connection was closed with ENHANCE_YOUR_CALM"
        case .tooManyFrames(.bytes(let limit)):
            "within \(HTTP2Limits.otherFrames.time.inWords), the server sent more than \(limit.counted("byte")) of frames that are "
                + "not part of a response; the connection was closed with ENHANCE_YOUR_CALM"
        case .tooManyFrames(.resets(let limit)):
            "the server reset too many streams: more than \(limit); the connection was closed with ENHANCE_YOUR_CALM"
        case .tooManyFrames(.unread(let limit)):
            "within \(HTTP2Limits.otherFrames.time.inWords), the server sent more than \(limit.counted("byte")) on streams that the "
                + "client has reset; the connection was closed with ENHANCE_YOUR_CALM"
        case .slowField:
            "the server sent a field whose name is longer than \(SlowFieldScan.nameBytes) bytes, or an invalid ':status'; "
                + "the connection was closed with ENHANCE_YOUR_CALM"
        case .invalidFieldNumber:
            "the fields of a response can't be read: a number has more than 32 bits (RFC 7541, section 5.1); "
                + "the connection was closed with COMPRESSION_ERROR"
        case .noPong(let time): "the server did not respond to a ping within \(time.inWords)"
        case .goAway(let code): "connection closed by the server, after GOAWAY with \(code)"
        case .notProcessed(let code): "the server did not process the request: GOAWAY with \(code)"
        case .reset(let code): "the server reset the stream with \(code)"
        }
    }
}
#endif
