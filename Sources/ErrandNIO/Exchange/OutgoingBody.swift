#if SWIFT_NIO
internal import ErrandCore
internal import ErrandFormats

/// A request's body, and the way in which the body is sent.
struct OutgoingBody {
    /// The maximum size of an in-memory body that is written together with the head: 16 KiB.
    static let joinedBytes = 16 * 1024

    /// Whether a request has a body, and when the body is sent.
    enum Kind: Sendable, Equatable {
        case none
        /// The body follows the head.
        case present
        /// The body follows when the server sends 100 (Continue), or when the wait for 100 (Continue) is over.
        case afterContinue
    }

    enum Content {
        case none
        case memory(Data)
        case stream
    }

    let content: Content
    let framing: RequestEncoder.BodyFraming
    let kind: Kind

    /// - Parameter expects: whether the `Expect` field of the request is sent.
    init(_ request: Request, expects: Bool = true) {
        let body = request.body
        if body.isEmpty {
            (content, framing, kind) = (.none, .none, .none)
            return
        }
        content = body.bufferedData.map { .memory($0) } ?? .stream
        framing = body.length.map { .length($0) } ?? .chunked
        // RFC 9110, section 10.1.1
        kind = expects && request.headers[.expect]?.isExactlyIgnoringCase("100-continue") == true ? .afterContinue : .present
    }
}

extension Exchange {
    /// The body for the next attempt.
    var outgoingBody: OutgoingBody { OutgoingBody(request, expects: !hasLostExpect) }
}
#endif
