#if MockServer
public import ErrandCore

/// A fault on the wire, as a value. An open set: see ``MockResponse/fault(_:at:)``.
///
/// ```swift
/// server.enqueue(.text("hello").fault(.close, at: .responseBody))
/// ```
///
/// The effect of each fault on HTTP/1.1, at the points before the head (``FaultPoint/requestStart``, ``FaultPoint/requestBody``,
/// ``FaultPoint/responseStart``) and after it (``FaultPoint/responseBody``, ``FaultPoint/responseEnd``):
///
/// - ``close`` closes the connection. If request bytes are unread, the system turns this into a reset.
/// - ``reset`` resets the connection.
/// - ``stall`` stops reading and sending. The connection stays open until the client closes it or the server stops.
/// - ``halfClose`` closes the sending side. The server reads on until the client closes the connection.
/// - ``truncatedChunk``, before the head, sends a head and half of a chunk, and then closes the connection. After the head, it sends half
///   of the rest of the body in a chunk that announces more; at the end, it omits the last chunk. Then it closes the connection.
/// - ``wrongContentLength`` sends a head that declares more than follows, and half of the body (at the end, the whole body). Then it closes
///   the connection.
/// - ``garbage``, before the head, sends octets that are not HTTP in place of the head, and then stalls. After the head of a chunked
///   response, it sends them in place of a chunk, or of the last chunk; at the end of a response with a `Content-Length`, after the
///   message.
/// - ``slowDrip``, before the head, reads the request and sends the response slowly. After the head, it sends the rest slowly.
///
/// A body of unknown length can't have a wrong one: the connection is closed instead. If a client closes its connection after octets that a
/// stalled server does not read, the server does not notice that before it stops.
///
/// On HTTP/2, ``close``, ``reset`` and ``halfClose`` affect the whole connection, ``stall`` only the stream. A truncated chunk is a DATA
/// frame that is longer than its content, garbage is a frame of an impossible length, and a wrong `Content-Length` ends the stream too
/// early ([RFC 9113, section 8.1.1](https://www.rfc-editor.org/rfc/rfc9113#section-8.1.1)). On HTTP/1.1, the faults of HTTP/2 have the
/// effect of ``close``. Over TLS, connections are broken without a `close_notify`.
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
    /// The name of the fault.
    public let description: String

    /// Closes the connection in both directions.
    public static let close = Fault(kind: .close, description: "close")
    /// Resets the connection (`RST`), which may discard bytes that the client has not read yet.
    public static let reset = Fault(kind: .reset, description: "reset")
    /// Stops sending and reading.
    public static let stall = Fault(kind: .stall, description: "stall")
    /// Closes the server's sending side (`FIN`); the server reads on.
    public static let halfClose = Fault(kind: .halfClose, description: "halfClose")
    /// Announces a chunk that is longer than its content.
    public static let truncatedChunk = Fault(kind: .truncatedChunk, description: "truncatedChunk")
    /// Declares 16 bytes more than it sends.
    public static let wrongContentLength = wrongContentLength(missingBytes: 16)
    /// Sends octets that are not HTTP of any version.
    public static let garbage = garbage(Data(repeating: 0xFF, count: 16) + Data("no HTTP\r\n\r\n".utf8))
    /// Sends a byte every 10 ms.
    public static let slowDrip = slowDrip(bytes: 1, every: .milliseconds(10))

    /// Declares a length that is not that of the body.
    ///
    /// - Parameter missingBytes: how many bytes more the head declares than are sent; if negative, how many bytes are sent beyond the
    ///   declared length. Not 0.
    public static func wrongContentLength(missingBytes: Int) -> Fault {
        precondition(missingBytes != 0, "missingBytes must not be 0 (is \(missingBytes))")
        return Fault(kind: .wrongContentLength(missingBytes: missingBytes), description: "wrongContentLength(\(missingBytes))")
    }

    /// Sends octets of your own that are not HTTP.
    public static func garbage(_ octets: Data) -> Fault { Fault(kind: .garbage(octets), description: "garbage") }

    /// Sends only `bytes` at a time, with a pause on the server's clock before each. Request bytes that the system buffers are not slowed
    /// down.
    ///
    /// - Precondition: `bytes` is at least 1, and the pause is at least zero.
    public static func slowDrip(bytes: Int, every pause: Duration) -> Fault {
        precondition(bytes > 0, "bytes must be at least 1 (is \(bytes))")
        precondition(pause >= .zero, "every must be at least zero (is \(pause))")
        return Fault(kind: .slowDrip(bytes: bytes, every: pause), description: "slowDrip")
    }

    /// HTTP/2: sends GOAWAY ([RFC 9113, section 6.8](https://www.rfc-editor.org/rfc/rfc9113#section-6.8)).
    ///
    /// - Parameters:
    ///   - includesStream: whether the last stream that it names is this one, to which the server then responds. If not, it states that the
    ///     server did not process the request, and nothing follows.
    ///   - code: the error code; 0, the default, is no error.
    public static func goAway(includesStream: Bool, code: UInt32 = 0) -> Fault {
        Fault(kind: .goAway(includesStream: includesStream, code: code), description: "goAway(includesStream: \(includesStream))")
    }

    /// HTTP/2: refuses the stream, without processing the request ([RFC 9113, section
    /// 8.7](https://www.rfc-editor.org/rfc/rfc9113#section-8.7)).
    public static let refusedStream = Fault(kind: .resetStream(code: 7), description: "refusedStream")

    /// HTTP/2: resets the stream with this error code ([RFC 9113, section 7](https://www.rfc-editor.org/rfc/rfc9113#section-7)).
    public static func resetStream(code: UInt32) -> Fault { Fault(kind: .resetStream(code: code), description: "resetStream(\(code))") }

    /// All faults of both versions, with their default parameters.
    public static let all: [Fault] = [.close, .reset, .stall, .halfClose, .truncatedChunk, .wrongContentLength, .garbage, .slowDrip]
}

/// The point of an exchange at which a ``Fault`` happens. An open set.
public struct FaultPoint: Sendable, Hashable, CustomStringConvertible {
    /// The name of the point.
    public let description: String

    /// After the head of the request was read.
    public static let requestStart = FaultPoint(description: "requestStart")
    /// After the first part of the request's body was read; at the end of a request without a body.
    public static let requestBody = FaultPoint(description: "requestBody")
    /// After the whole request was read, in place of the head of the response.
    public static let responseStart = FaultPoint(description: "responseStart")
    /// After half of the response's body; after the first part of a body of unknown length.
    public static let responseBody = FaultPoint(description: "responseBody")
    /// After the last byte of the response's body: before the end of a chunked message, and after a message with a `Content-Length`. On
    /// HTTP/2, before the end of the stream.
    public static let responseEnd = FaultPoint(description: "responseEnd")

    /// All points, in the order of an exchange.
    public static let all: [FaultPoint] = [.requestStart, .requestBody, .responseStart, .responseBody, .responseEnd]

    var isBeforeHead: Bool { self != .responseBody && self != .responseEnd }
}

/// A fault of a connection before any request: see ``MockServer/failConnections(_:next:)``. An open set.
public struct ConnectionFault: Sendable, Hashable, CustomStringConvertible {
    enum Kind: Sendable, Hashable { case close, reset, stall, handshake }

    let kind: Kind
    /// The name of the fault.
    public let description: String

    /// Closes the connection as soon as it is accepted.
    public static let close = ConnectionFault(kind: .close, description: "close")
    /// Resets the connection as soon as it is accepted.
    public static let reset = ConnectionFault(kind: .reset, description: "reset")
    /// Accepts the connection, and neither reads nor writes: over TLS, the handshake never ends.
    public static let stall = ConnectionFault(kind: .stall, description: "stall")
    /// Refuses the TLS handshake with an alert (`handshake_failure`, [RFC 8446, section
    /// 6.2](https://www.rfc-editor.org/rfc/rfc8446#section-6.2)). Without TLS, it has the effect of ``close``.
    public static let handshake = ConnectionFault(kind: .handshake, description: "handshake")

    /// All faults of connections.
    public static let all: [ConnectionFault] = [.close, .reset, .stall, .handshake]
}
#endif
