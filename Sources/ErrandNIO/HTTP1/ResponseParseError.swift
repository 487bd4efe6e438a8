#if SWIFT_NIO
internal import ErrandCore

/// The reason why bytes are not an HTTP/1.1 response, in words.
///
/// Texts from the server are cut after 32 bytes, and bytes other than printable ASCII are escaped. The value of a field is never shown,
/// because the value may be a secret.
enum ResponseParseError: SafelyDescribedError, Equatable {
    /// A protocol other than HTTP/1.1. Instead of a status line, the server has sent the first bytes of this protocol.
    enum OtherProtocol: String, Sendable {
        case http2 = "HTTP/2"
        case socks5 = "SOCKS 5"
        case tls = "TLS"
    }

    // MARK: The status line

    case unexpectedBytes
    case notHTTP(String)
    case otherProtocol(OtherProtocol)
    case unsupportedVersion(String)
    case invalidStatusLine(String)
    case invalidStatusCode(Int)
    case tooManyInterimResponses(limit: Int)

    // MARK: Fields

    case bareLineFeed
    case bareCarriageReturn
    case continuesNothing
    case fieldWithoutColon(line: Int)
    case invalidFieldName(String)
    case invalidFieldValue(name: String)
    case headTooLong(limitBytes: Int)
    case tooManyFields(limit: Int)
    case trailersTooLong(limitBytes: Int)
    case tooManyTrailers(limit: Int)

    // MARK: The framing of the body

    case invalidContentLength
    case differentContentLengths
    case contentLengthAndTransferEncoding
    case transferEncodingInHTTP10
    case chunkedNotLast
    case unsupportedTransferCoding

    // MARK: Chunks

    case invalidChunkSize(String)
    case chunkSizeTooLong(limitDigits: Int)
    case invalidChunkExtension
    case chunkLineTooLong(limitBytes: Int)
    case chunkExtensionsTooLong(limitBytes: Int)
    case chunkWithoutLineEnd

    // MARK: The end of the connection

    case endedBeforeResponse
    case endedInHead
    case endedInBody(missingBytes: Int64)
    case endedInChunks
    case endedInTrailers
}

extension ResponseParseError: CustomStringConvertible {
    var description: String {
        switch self {
        case .unexpectedBytes: "the server sent bytes that belong to no response"
        case .notHTTP(let text): "the server's response begins with '\(text)', not with 'HTTP/1.'"
        case .otherProtocol(let other): "the server speaks \(other.rawValue), not HTTP/1.1"
        case .unsupportedVersion(let text): "the response's version is not HTTP/1.0 to HTTP/1.9: its status line begins with '\(text)'"
        case .invalidStatusLine(let text):
            "the status line '\(text)' is not a version, a status code of three digits and a reason phrase, with one space between them"
                + " (RFC 9112, section 4)"
        case .invalidStatusCode(let code): "the status code \(code) is not from 100 to 999"
        case .tooManyInterimResponses(let limit): "the server sent more than \(limit) interim responses (1xx)"
        case .bareLineFeed: "a line that must end with CR LF ends with LF alone"
        case .bareCarriageReturn: "the response contains a CR without an LF after it"
        case .continuesNothing:
            "the first line of the response's fields begins with a space or a tab, and continues no field (RFC 9112, section 2.2)"
        case .fieldWithoutColon(let line): "line \(line) of the response's fields has no colon"
        case .invalidFieldName(let name): "the field name '\(name)' is not a token: letters, digits and !#$%&'*+-.^_`|~"
        case .invalidFieldValue(let name): "the value of the field '\(name)' contains a control character"
        case .headTooLong(let limit): "the head of the response is longer than \(limit.counted("byte"))"
        case .tooManyFields(let limit): "the head of the response has more than \(limit.counted("field"))"
        case .trailersTooLong(let limit): "the trailers of the response are longer than \(limit.counted("byte"))"
        case .tooManyTrailers(let limit): "the response has more than \(limit) trailer fields"
        case .invalidContentLength: "the response's Content-Length is not a number of digits below 2^63"
        case .differentContentLengths: "the response has several different values of Content-Length"
        case .contentLengthAndTransferEncoding:
            "the response has both Content-Length and Transfer-Encoding, so its end is uncertain (RFC 9112, section 6.3)"
        case .transferEncodingInHTTP10: "the response has a Transfer-Encoding, which HTTP/1.0 does not have (RFC 9112, section 6.1)"
        case .chunkedNotLast: "'chunked' is not the last coding of the response's Transfer-Encoding, or occurs twice"
        case .unsupportedTransferCoding: "the response's Transfer-Encoding has an unsupported coding: only 'chunked' is supported"
        case .invalidChunkSize(let text): "the chunk size '\(text)' is not a hexadecimal number"
        case .chunkSizeTooLong(let limit): "a chunk size has more than \(limit.counted("digit"))"
        case .invalidChunkExtension: "the text after a chunk size is not a chunk extension (RFC 9112, section 7.1.1)"
        case .chunkLineTooLong(let limit): "the line of a chunk size is longer than \(limit.counted("byte"))"
        case .chunkExtensionsTooLong(let limit): "the chunk extensions of the response are longer than \(limit.counted("byte")) in all"
        case .chunkWithoutLineEnd: "the bytes of a chunk are not followed by CR LF, so the size of the chunk is wrong"
        case .endedBeforeResponse: "the connection ended before the response began"
        case .endedInHead: "the connection ended within the head of the response"
        case .endedInBody(let missing):
            "the connection ended \(missing.counted("byte")) before the end of the body that Content-Length declares"
        case .endedInChunks: "the connection ended before the last chunk of the body"
        case .endedInTrailers: "the connection ended after the last chunk of the body, within the trailers"
        }
    }

    /// The maximum number of bytes of a server's text that an error shows.
    static let shownBytes = 32

    /// Returns a text of the server for an error: at most ``shownBytes`` bytes, with `\xNN` for each byte that is not printable ASCII.
    static func shown(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var text: [UInt8] = []
        for byte in bytes.prefix(shownBytes) {
            switch byte {
            case UInt8(ascii: "\\"), UInt8(ascii: "'"): text += [UInt8(ascii: "\\"), byte]
            case 0x20...0x7E: text.append(byte)
            default: text += [UInt8(ascii: "\\"), UInt8(ascii: "x"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: text, as: UTF8.self) + (bytes.count > shownBytes ? "…" : "")
    }
}
#endif
