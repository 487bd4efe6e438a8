#if MockServer
public import ErrandCore

/// Something that goes wrong on the wire, as a value. An open set: see ``MockResponse/fault(_:at:)``.
///
/// What each does on HTTP/1.1, at the points before the head (``FaultPoint/requestStart``, ``FaultPoint/requestBody``,
/// ``FaultPoint/responseStart``) and behind it (``FaultPoint/responseBody``, ``FaultPoint/responseEnd``):
///
/// | Fault | Before the head | Behind the head |
/// |---|---|---|
/// | ``close`` | the connection is closed; where bytes of the request wait unread, the system makes a reset of it | the same |
/// | ``reset`` | the connection is reset | the same |
/// | ``stall`` | nothing more is read or sent; the connection stays open until the client closes or the server stops | the same |
/// | ``halfClose`` | the sending side is closed, and the server reads on until the client closes | the same |
/// | ``truncatedChunk`` | a head, and half of a chunk; then the connection is closed | half of the rest of the body in a chunk that announces more, then closed; at the end: no last chunk, then closed |
/// | ``wrongContentLength`` | a head that declares more than comes, half of the body, then closed | the same; at the end: the whole body, then closed |
/// | ``garbage`` | octets that are no HTTP in place of the head; then as ``stall`` | chunked: in place of a chunk, or of the last chunk; with a `Content-Length`, at the end: behind the message |
/// | ``slowDrip`` | the request is read slowly, and the response is sent so | the rest is sent slowly |
///
/// A body whose length is not known before it is sent can't have a wrong one: the connection is closed instead. A client that goes away
/// behind octets that a stalled server does not read is not noticed before the server stops.
///
/// On HTTP/2 ``close``, ``reset`` and ``halfClose`` happen to the whole connection, ``stall`` to the stream. A truncated chunk is a DATA
/// frame that is longer than what comes, garbage is a frame of an impossible length, and a wrong `Content-Length` ends the stream too early
/// (RFC 9113, 8.1.1). On HTTP/1.1 the faults of HTTP/2 alone do as ``close`` does. Over TLS, connections are broken without a
/// `close_notify`.
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
    public let description: String

    /// The connection is closed, both ways.
    public static let close = Fault(kind: .close, description: "close")
    /// The connection is reset (`RST`), which may take along what the client has not read yet.
    public static let reset = Fault(kind: .reset, description: "reset")
    /// Nothing more is sent or read.
    public static let stall = Fault(kind: .stall, description: "stall")
    /// The server's sending side is closed (`FIN`); it reads on.
    public static let halfClose = Fault(kind: .halfClose, description: "halfClose")
    /// A chunk is announced longer than what comes of it.
    public static let truncatedChunk = Fault(kind: .truncatedChunk, description: "truncatedChunk")
    /// The head declares 16 bytes more than come.
    public static let wrongContentLength = wrongContentLength(missingBytes: 16)
    /// Octets that are no HTTP of any version.
    public static let garbage = garbage(Data(repeating: 0xFF, count: 16) + Data("no HTTP\r\n\r\n".utf8))
    /// A byte every 10 ms.
    public static let slowDrip = slowDrip(bytes: 1, every: .milliseconds(10))

    /// A declared length that is not that of the body.
    ///
    /// - Parameter missingBytes: how many bytes more the head declares than come; if negative, so many come beyond what it declares.
    public static func wrongContentLength(missingBytes: Int) -> Fault {
        precondition(missingBytes != 0, "missingBytes must not be 0 (is \(missingBytes))")
        return Fault(kind: .wrongContentLength(missingBytes: missingBytes), description: "wrongContentLength(\(missingBytes))")
    }

    /// Octets of your own in a place where they are no HTTP.
    public static func garbage(_ octets: Data) -> Fault { Fault(kind: .garbage(octets), description: "garbage") }

    /// So few bytes at a time, with a pause on the server's clock before each. What the system holds of a request comes on top.
    public static func slowDrip(bytes: Int, every pause: Duration) -> Fault {
        precondition(bytes > 0, "bytes must be at least 1 (is \(bytes))")
        precondition(pause >= .zero, "every must be at least zero (is \(pause))")
        return Fault(kind: .slowDrip(bytes: bytes, every: pause), description: "slowDrip")
    }

    /// HTTP/2: the server says goodbye (RFC 9113, 6.8).
    ///
    /// - Parameters:
    ///   - includesStream: whether the last stream that it names is this one, which it then answers; if not, it says that it did
    ///     nothing of it, and nothing more comes.
    ///   - code: of the error; 0, none, by default.
    public static func goAway(includesStream: Bool, code: UInt32 = 0) -> Fault {
        Fault(kind: .goAway(includesStream: includesStream, code: code), description: "goAway(includesStream: \(includesStream))")
    }

    /// HTTP/2: the stream is refused; the server did nothing of it (RFC 9113, 8.7).
    public static let refusedStream = Fault(kind: .resetStream(code: 7), description: "refusedStream")

    /// HTTP/2: the stream is reset with this error (RFC 9113, 7).
    public static func resetStream(code: UInt32) -> Fault { Fault(kind: .resetStream(code: code), description: "resetStream(\(code))") }

    /// Those of both versions, as they are without parameters.
    public static let all: [Fault] = [.close, .reset, .stall, .halfClose, .truncatedChunk, .wrongContentLength, .garbage, .slowDrip]
}

/// Where in an exchange a ``Fault`` happens. An open set.
public struct FaultPoint: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    /// As soon as the head of the request was read.
    public static let requestStart = FaultPoint(description: "requestStart")
    /// When the first part of the request's body was read; at the end of a request that has none.
    public static let requestBody = FaultPoint(description: "requestBody")
    /// When the whole request was read, in place of the head of the response.
    public static let responseStart = FaultPoint(description: "responseStart")
    /// Behind half of the response's body; behind the first part of one whose length is not known before.
    public static let responseBody = FaultPoint(description: "responseBody")
    /// Behind the last byte of the response's body: before the end of a chunked message, behind that of one with a
    /// `Content-Length`. On HTTP/2 before the end of the stream.
    public static let responseEnd = FaultPoint(description: "responseEnd")

    public static let all: [FaultPoint] = [.requestStart, .requestBody, .responseStart, .responseBody, .responseEnd]

    var isBeforeHead: Bool { self != .responseBody && self != .responseEnd }
}

/// Something that goes wrong with a connection before any request: see ``MockServer/failConnections(_:next:)``. An open set.
public struct ConnectionFault: Sendable, Hashable, CustomStringConvertible {
    enum Kind: Sendable, Hashable { case close, reset, stall, handshake }

    let kind: Kind
    public let description: String

    /// Closed as soon as it is accepted.
    public static let close = ConnectionFault(kind: .close, description: "close")
    /// Reset as soon as it is accepted.
    public static let reset = ConnectionFault(kind: .reset, description: "reset")
    /// Accepted, and neither read from nor written to: over TLS, a handshake that never ends.
    public static let stall = ConnectionFault(kind: .stall, description: "stall")
    /// The handshake of TLS is refused by an alert (`handshake_failure`, RFC 8446, 6.2). Without TLS, as ``close``.
    public static let handshake = ConnectionFault(kind: .handshake, description: "handshake")

    public static let all: [ConnectionFault] = [.close, .reset, .stall, .handshake]
}
#endif
