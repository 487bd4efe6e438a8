#if MockServer
public import ErrandCore

/// A failure that the mock server causes on the wire, as a value. See ``MockResponse/fault(_:at:)``. Other faults may be added.
///
/// On HTTP/1.1 the effect depends on the ``FaultPoint``. The points ``FaultPoint/requestStart``, ``FaultPoint/requestBody`` and
/// ``FaultPoint/responseStart`` are before the head of the response. ``FaultPoint/responseBody`` and ``FaultPoint/responseEnd`` are
/// after the head.
///
/// - ``close``: the connection is closed. If bytes of the request are unread, the operating system resets the connection instead.
/// - ``reset``: the connection is reset.
/// - ``stall``: the server reads and sends nothing more. The connection stays open until the client closes the connection or the server
///   stops.
/// - ``halfClose``: the server's sending side is closed. The server continues to read until the client closes the connection.
/// - ``truncatedChunk``: at the points before the head, the server sends a head and half of a chunk. In the body, the server sends half of
///   the remaining body in a chunk whose announced size is larger. At the end, the server does not send the last chunk. After the fault,
///   the server closes the connection.
/// - ``wrongContentLength``: the head declares more bytes than the server sends. The server closes the connection after half of the body.
///   At the point after the body, the server closes the connection after the whole body.
/// - ``garbage``: the server sends octets that are not HTTP. After these octets, the server reads and sends nothing more, as with
///   ``stall``. Before the head, the octets replace the head. After the head, the octets replace a chunk or the last chunk. At the end of a
///   message with a `Content-Length`, the octets follow the message.
/// - ``slowDrip``: the server sends the rest of the response slowly. At the points before the head, the server also reads the rest of the
///   request slowly.
///
/// If the length of a body is not known in advance, the server can't declare a wrong length, and closes the connection instead. A stalled
/// server does not read. If a client sends octets to a stalled server and disconnects, the server detects the disconnection only when the
/// server stops.
///
/// On HTTP/2, ``close``, ``reset`` and ``halfClose`` affect the whole connection, and ``stall`` affects the stream. A truncated chunk is a
/// DATA frame whose announced length is larger than its content. Garbage is a frame with an impossible length. A wrong `Content-Length`
/// ends the stream too early ([RFC 9113, section 8.1.1](https://www.rfc-editor.org/rfc/rfc9113#section-8.1.1)). On HTTP/1.1, faults that
/// exist only on HTTP/2 act like ``close``. Over TLS, connections end without a `close_notify` alert.
public struct Fault: Sendable, Hashable, CustomStringConvertible {
    enum Kind: Sendable, Hashable {
        case close, reset, stall, halfClose, truncatedChunk
        case wrongContentLength(missingBytes: Int)
        case garbage(Data)
        case slowDrip(bytes: Int, every: Duration)
        case goAway(includesStream: Bool, code: UInt32)
        case resetStream(code: UInt32)
    }

    let kind: Kind
    /// The fault's name.
    public let description: String

    /// Closes the connection in both directions.
    public static let close = Fault(kind: .close, description: "close")
    /// Resets the connection (`RST`). The client may lose data that it has not read yet.
    public static let reset = Fault(kind: .reset, description: "reset")
    /// Sends and reads nothing more.
    public static let stall = Fault(kind: .stall, description: "stall")
    /// Closes the server's sending side (`FIN`). The server continues to read.
    public static let halfClose = Fault(kind: .halfClose, description: "halfClose")
    /// Announces a chunk that is longer than its data.
    public static let truncatedChunk = Fault(kind: .truncatedChunk, description: "truncatedChunk")
    /// Declares 16 bytes more than the server sends.
    public static let wrongContentLength = wrongContentLength(missingBytes: 16)
    /// Sends octets that are not valid in any version of HTTP.
    public static let garbage = garbage(Data(repeating: 0xFF, count: 16) + Data("no HTTP\r\n\r\n".utf8))
    /// Sends one byte every 10 ms.
    public static let slowDrip = slowDrip(bytes: 1, every: .milliseconds(10))

    /// Declares a length that is not the length of the body.
    ///
    /// - Parameter missingBytes: the number of bytes that the head declares and the server does not send. If the number is
    ///   negative, the server sends this many bytes more than the head declares. The number must not be 0.
    public static func wrongContentLength(missingBytes: Int) -> Fault {
        precondition(missingBytes != 0, "missingBytes must not be 0 (is \(missingBytes))")
        return Fault(kind: .wrongContentLength(missingBytes: missingBytes), description: "wrongContentLength(\(missingBytes))")
    }

    /// Sends the given octets instead of HTTP.
    public static func garbage(_ octets: Data) -> Fault { Fault(kind: .garbage(octets), description: "garbage") }

    /// Sends and reads slowly: in pieces of `bytes` bytes, with a pause before each piece. The operating system reads bytes of a request
    /// into its receive buffer without these pauses.
    ///
    /// - Parameters:
    ///   - bytes: the number of bytes in each piece; at least 1.
    ///   - pause: the pause before each piece, on the server's clock; at least zero.
    public static func slowDrip(bytes: Int, every pause: Duration) -> Fault {
        precondition(bytes > 0, "bytes must be at least 1 (is \(bytes))")
        precondition(pause >= .zero, "every must be at least zero (is \(pause.inWords))")
        return Fault(kind: .slowDrip(bytes: bytes, every: pause), description: "slowDrip")
    }

    /// Only for HTTP/2: sends GOAWAY ([RFC 9113, section 6.8](https://www.rfc-editor.org/rfc/rfc9113#section-6.8)).
    ///
    /// - Parameters:
    ///   - includesStream: whether the frame names this stream as the last stream. With `true`, the server sends the response after the
    ///     frame. With `false`, the frame reports that the stream was not processed, and the server sends nothing more.
    ///   - code: the error code. Default: 0 (`NO_ERROR`).
    public static func goAway(includesStream: Bool, code: UInt32 = 0) -> Fault {
        Fault(kind: .goAway(includesStream: includesStream, code: code), description: "goAway(includesStream: \(includesStream))")
    }

    /// Only for HTTP/2: refuses the stream, without processing the request ([RFC 9113, section
    /// 8.7](https://www.rfc-editor.org/rfc/rfc9113#section-8.7)).
    public static let refusedStream = Fault(kind: .resetStream(code: 7), description: "refusedStream")

    /// Only for HTTP/2: resets the stream with an error code ([RFC 9113, section
    /// 7](https://www.rfc-editor.org/rfc/rfc9113#section-7)).
    public static func resetStream(code: UInt32) -> Fault { Fault(kind: .resetStream(code: code), description: "resetStream(\(code))") }

    /// The faults that both HTTP versions have, with their default parameters.
    public static let all: [Fault] = [.close, .reset, .stall, .halfClose, .truncatedChunk, .wrongContentLength, .garbage, .slowDrip]
}

/// The point of an exchange at which a ``Fault`` happens. Other points may be added.
public struct FaultPoint: Sendable, Hashable, CustomStringConvertible {
    /// The point's name.
    public let description: String

    /// The fault happens after the head of the request was read.
    public static let requestStart = FaultPoint(description: "requestStart")
    /// The fault happens after the first part of the request's body was read. For a request without a body, the point is at the end of the
    /// request.
    public static let requestBody = FaultPoint(description: "requestBody")
    /// The fault happens before the head of the response is sent. Some faults send a head themselves: see ``Fault``. The whole request was
    /// read before the fault, unless the response is early.
    public static let responseStart = FaultPoint(description: "responseStart")
    /// The fault happens after half of the response's body was sent. For a body of unknown length, the point is after the first part.
    public static let responseBody = FaultPoint(description: "responseBody")
    /// The fault happens after the last byte of the response's body was sent. In a chunked message, the point is before the last chunk. In
    /// a message with a `Content-Length`, the point is after the end of the message. On HTTP/2, the point is before the end of the stream.
    public static let responseEnd = FaultPoint(description: "responseEnd")

    /// All points, in the order in which they occur.
    public static let all: [FaultPoint] = [.requestStart, .requestBody, .responseStart, .responseBody, .responseEnd]
}

/// A failure of a connection before any request. See ``MockServer/failConnections(_:next:)``. Other faults may be added.
public struct ConnectionFault: Sendable, Hashable, CustomStringConvertible {
    enum Kind: Sendable, Hashable { case close, reset, stall, handshake }

    let kind: Kind
    /// The fault's name.
    public let description: String

    /// Closes the connection immediately after accepting it.
    public static let close = ConnectionFault(kind: .close, description: "close")
    /// Resets the connection immediately after accepting it.
    public static let reset = ConnectionFault(kind: .reset, description: "reset")
    /// Accepts the connection, then neither reads nor writes. Over TLS, the handshake never ends.
    public static let stall = ConnectionFault(kind: .stall, description: "stall")
    /// Refuses the TLS handshake with an alert (`handshake_failure`,
    /// [RFC 8446, section 6.2](https://www.rfc-editor.org/rfc/rfc8446#section-6.2)). Without TLS, the connection is closed, as with
    /// ``close``.
    public static let handshake = ConnectionFault(kind: .handshake, description: "handshake")

    /// All connection faults.
    public static let all: [ConnectionFault] = [.close, .reset, .stall, .handshake]
}
#endif
