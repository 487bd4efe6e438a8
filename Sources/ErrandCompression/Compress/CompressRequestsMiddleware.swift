public import ErrandCore
internal import ErrandFormats

/// Compresses the bodies of requests, for servers that are known to decode compressed bodies ([RFC 9110, section
/// 8.4](https://www.rfc-editor.org/rfc/rfc9110#section-8.4)).
///
/// ```swift
/// let stack = HTTPStack.default.compressRequests(nil).retry()         // none, unless a request asks for it
/// request.options.compressRequests = .gzip
///
/// let logs = HTTPStack.default.compressRequests(.gzip).retry()        // all
/// ```
///
/// The middleware sets `Content-Encoding`. A body in memory of at most 64 KiB is compressed before the request is sent. If
/// compression does not make the body smaller, the body is sent uncompressed.
///
/// Any other body is compressed while it is sent. The length of the compressed body is unknown until its end, so the body is sent in
/// chunks. If a body can be sent again, its compressed form can also be sent again, from the first byte.
///
/// A request is sent unchanged in these cases:
/// - The body is empty.
/// - The request has a `Content-Encoding` already.
/// - A field describes the bytes of the body: `Content-Range`, `Content-Digest`, `Repr-Digest`, `Digest` or `Content-MD5`.
///
/// **Refusals:** a server responds with status 415 to an unknown coding, and should list the known codings in `Accept-Encoding`
/// ([RFC 7694, section 3](https://www.rfc-editor.org/rfc/rfc7694#section-3)). If the body can be sent again, the request is sent once
/// more, uncompressed. The first response is in the `attempts` of the metadata. If `Accept-Encoding` lists the coding, the coding is
/// not the reason for the status, and the response is returned.
///
/// An origin that refuses a coding gets uncompressed bodies for an hour, or until one of its responses lists the coding in
/// `Accept-Encoding`. A 415 without `Accept-Encoding` may have a different reason. This 415 is treated as a refusal only if the
/// uncompressed request gets a different status, or can't be sent. At most 1,000 refusals are remembered.
///
/// **Place:** inside `validateStatus`. Inside `redirect` and `retry`, each hop and each attempt is compressed as its origin
/// requires. Middleware that signs a body, computes its digest, or counts bytes on the wire belongs inside this layer.
///
/// **Per request:** with `request.options.compressRequests = .gzip`, this request is compressed. With `.off`, this request is sent
/// uncompressed.
public struct CompressRequestsMiddleware: HTTPMiddleware {
    /// The largest body in memory that is compressed before the request is sent, in bytes. Compressing 64 KiB takes one or two
    /// milliseconds.
    static let atOnceLimitBytes = 64 * 1024

    private let compression: RequestCompression?
    private let refused: RefusedCodings
    private let clock: any Clock<Duration>

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - compression: the compression of all requests. Default: ``RequestCompression/gzip``. `nil`: only requests with an option
    ///     are compressed.
    ///   - clock: measures the age of remembered refusals, and the wait for the body of a refusal, at most 100 ms.
    public init(_ compression: RequestCompression? = .gzip, clock: any Clock<Duration> = ContinuousClock()) {
        (self.compression, self.clock) = (compression, clock)
        refused = RefusedCodings(clock)
    }

    public var place: MiddlewarePlace { .compressRequests }

    public var neighbors: [MiddlewareNeighbor] {
        [.inside(.validateStatus, because: "a 415 would be refused before the request is sent again uncompressed")]
    }

    public var label: String { "compressRequests(\(compression.map { "\($0)" } ?? "by option"))" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard let coding = coding(for: request), request.isCompressible else { return try await next.send(request) }
        let origin = request.origin
        guard !refused.contains(coding, at: origin), let compressed = request.compressed(in: coding) else {
            let response = try await next.send(request)
            if let isAccepted = coding.isAccepted(by: response.headers) { refused.record(coding, at: origin, isAccepted: isAccepted) }
            return response
        }
        let response = try await next.send(compressed)
        let isAccepted = coding.isAccepted(by: response.headers)
        if let isAccepted { refused.record(coding, at: origin, isAccepted: isAccepted) }
        guard response.head.status == .unsupportedMediaType, isAccepted != true else { return response }
        guard request.body.canBeSent else {
            refused.record(coding, at: origin, isAccepted: false)
            return response
        }
        let second = try await sendUncompressed(request, after: response, compressed, to: next)
        if isAccepted == nil, second.head.status != .unsupportedMediaType { refused.record(coding, at: origin, isAccepted: false) }
        return second
    }

    private func coding(for request: Request) -> ContentCoding? {
        switch request.options.compressRequests {
        case .inherited: compression?.coding
        case .off: nil
        case .use(let compression): compression.coding
        }
    }

    private func sendUncompressed(
        _ request: Request, after refusal: Response, _ compressed: Request, to next: some HTTPSender
    ) async throws -> Response {
        var attempts = CallAttempts()
        var request = request
        request.options.resendCount = compressed.options.resendCount
        request = try await attempts.followUp(with: request, after: .success(refusal), on: clock)
        return attempts.adding(to: try await attempts.send(request, to: next))
    }
}

extension Request {
    /// Whether the body may be compressed: the body has bytes and no coding yet, no field describes its bytes, and the bytes are not a part
    /// of a resumable upload.
    fileprivate var isCompressible: Bool {
        let describing: [HTTPField.Name] = [.contentEncoding, .contentRange, .contentDigest, .reprDigest, .digest, .contentMD5]
        return !body.isEmpty && !options.call.keepsBodyBytes && !describing.contains { head.headerFields.contains($0) }
    }

    /// Returns the request with a compressed body; `nil` if compression does not make the body smaller.
    fileprivate func compressed(in coding: ContentCoding) -> Request? {
        var request = self
        if let data = body.bufferedData, data.count <= CompressRequestsMiddleware.atOnceLimitBytes {
            request.body = body.transformed(by: ContentEncoder(coding))
            guard let length = request.body.length, length < data.count else { return nil }
        } else {
            request.body = body.transformedWhileSent(by: ContentEncoder(coding))
        }
        request.head.headerFields[.contentEncoding] = coding.rawValue
        request.head.headerFields[.contentLength] = nil
        return request
    }
}

extension HTTPField.Name {
    fileprivate static let contentDigest = known("Content-Digest")
    fileprivate static let reprDigest = known("Repr-Digest")
    fileprivate static let digest = known("Digest")
    fileprivate static let contentMD5 = known("Content-MD5")
}

private enum CompressRequestsOptionKey: CrossOriginOptionKey {
    static var defaultValue: OptionOverride<RequestCompression> { .inherited }
    static var requiredMiddleware: MiddlewarePlace { .compressRequests }
}

extension RequestOptions {
    /// Replaces the stack's compression for the body of this request, for example with `.gzip`. `.off`: the body is not compressed.
    /// Default: `.inherited`, the stack's compression.
    ///
    /// If the option has a coding, and the stack has no `compressRequests`, the request fails with ``/ErrandCore/UnsupportedOptionError``.
    public var compressRequests: OptionOverride<RequestCompression> {
        get { self[CompressRequestsOptionKey.self] }
        set { self[CompressRequestsOptionKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Compresses the bodies of requests. See ``CompressRequestsMiddleware``.
    ///
    /// ```swift
    /// stack.compressRequests(nil)     // only requests that have an option: request.options.compressRequests = .gzip
    /// ```
    ///
    /// - Parameters:
    ///   - compression: the compression of all requests. Default: gzip. `nil`: only requests with an option are compressed.
    ///   - clock: measures the age of remembered refusals, and the wait for the body of a refusal, at most 100 ms.
    public func compressRequests(
        _ compression: RequestCompression? = .gzip, clock: any Clock<Duration> = ContinuousClock()
    ) -> HTTPStack { wrapped(by: CompressRequestsMiddleware(compression, clock: clock)) }
}
