internal import ErrandCore

/// The abilities of a session, which differ between Apple's platforms and Linux.
struct SessionAbilities: Sendable {
    /// Whether a suspended task stops receiving. On Linux, a suspended task continues to receive, and sends its request again when it is
    /// resumed.
    let canSuspend: Bool
    /// Whether a stream may have a `Content-Length`. On Linux, the session sends every stream in chunks. If the request also had a
    /// `Content-Length`, a server could see the end of the request at the wrong place (RFC 9112, 6.3).
    let declaresStreamLength: Bool
    /// Whether a request with a stream needs a session of its own. On Linux, the body of a stream blocks the queue of its session.
    let streamNeedsOwnSession: Bool
    /// Whether the session repeats requests without a body. If the server closes a kept connection before the response, such a session
    /// sends the request again, with any method. A session without earlier tasks has no kept connection, and therefore repeats no request.
    let repeatsWithoutBody: Bool
    /// Whether the session drops the fraction of a second of an idle timeout. With such a session, a timeout below 1 s would end each task
    /// immediately.
    let countsWholeSeconds: Bool
    /// Whether the session shows the certificates of a server, and takes client certificates.
    let canEvaluateTrust: Bool
    /// The codings that the session decodes.
    let decodedCodings: [String]
    let capabilities: TransportCapabilities

    /// The body of a request for a session.
    enum Body {
        case none
        case inMemory
        /// A stream or a file.
        case stream
    }

    /// Whether a request needs a session of its own. A reason can be a stream as the body. Another reason is that a shared session could
    /// repeat a request that is not idempotent.
    func needsOwnSession(_ method: String, body: Body) -> Bool {
        switch body {
        case .stream: streamNeedsOwnSession
        case .inMemory: false
        case .none: repeatsWithoutBody && HTTPRequest.Method(method)?.isIdempotent != true
        }
    }

    static let apple = SessionAbilities(
        canSuspend: true, declaresStreamLength: true, streamNeedsOwnSession: false, repeatsWithoutBody: false, countsWholeSeconds: false,
        canEvaluateTrust: true, decodedCodings: ReceivedHead.decodedCodings,
        capabilities: [.decodesContent, .streamingDownload, .networkAccess, .waitsForConnectivity, .serverTrust])

    static let linux = SessionAbilities(
        canSuspend: false, declaresStreamLength: false, streamNeedsOwnSession: true, repeatsWithoutBody: true, countsWholeSeconds: true,
        canEvaluateTrust: false, decodedCodings: ReceivedHead.decodedCodings + ["zstd"], capabilities: [.decodesContent])

    #if canImport(FoundationNetworking) && !ERRAND_APPLE_CHECK
    static let current = linux
    #else
    static let current = apple
    #endif
}
