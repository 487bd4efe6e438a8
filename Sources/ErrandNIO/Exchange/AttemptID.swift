#if SWIFT_NIO
/// The identity of one attempt at an exchange on one connection.
///
/// An exchange may begin again on the same connection: after REFUSED_STREAM, or after the challenge of a proxy. A late callback must not
/// change the new attempt. Late callbacks come from the task that reads the body, from a write, and from the reader of the response.
/// Therefore, each callback carries the identity of its attempt, and the state machine of the connection decides whether the callback is
/// stale.
struct AttemptID: Sendable, Hashable, CustomStringConvertible {
    /// Over HTTP/2, the number is the identifier of the stream. Over HTTP/1.1, the attempts of a connection are numbered from 1. Numbers
    /// are never reused.
    let number: Int64

    init(_ number: some BinaryInteger) { self.number = Int64(number) }

    var description: String { "attempt \(number)" }
}

/// An event of an attempt. The attempt may have ended before the event reaches the connection.
enum AttemptCallback: Sendable, Hashable, CaseIterable {
    /// Pieces of the body, from the task that reads the body.
    case piece
    /// The end of the body, from the task that reads the body.
    case uploadEnd
    /// The failure of the task that reads the body.
    case uploadFailure
    /// A write of the body is complete.
    case progress
    /// The last write of the request is complete.
    case requestSent
    /// The reader of the response can take more data.
    case readOn
    /// The reader has abandoned the response.
    case abandoned

    /// Whether the callback is ignored if no upload is in progress.
    var isOfUpload: Bool { self == .piece || self == .uploadEnd || self == .uploadFailure }
}
#endif
