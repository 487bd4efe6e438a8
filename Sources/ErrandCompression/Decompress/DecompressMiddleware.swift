public import ErrandCore

/// Requests compressed content, and decodes it while the body is read.
///
/// ```swift
/// let stack = HTTPStack(NIOTransport()).decompress().redirect()
/// let response = try await stack.send(Request(.get, url: "https://a.example/report"))
/// print(response.metadata)        // HTTP/2, body was gzip
/// ```
///
/// The middleware adds `Accept-Encoding: gzip, deflate`. With the package's trait `Brotli`, the field also has `br`
/// ([RFC 7932](https://www.rfc-editor.org/rfc/rfc7932)). With the trait `Zstandard`, the field also has `zstd`, with a window of at
/// most 8 MiB ([RFC 9659](https://www.rfc-editor.org/rfc/rfc9659)). Several codings are decoded in reverse order, the last coding
/// first ([RFC 9110, section 8.4](https://www.rfc-editor.org/rfc/rfc9110#section-8.4)).
///
/// A decoded response has no `Content-Encoding` and no `Content-Length`. The metadata of the response has the codings of the body
/// (``/ErrandCore/ResponseMetadata/contentCoding``) and both fields as the server sent them
/// (``/ErrandCore/ResponseMetadata/encodedFields``).
///
/// A response is returned unchanged in these cases:
/// - The request already had an `Accept-Encoding` or a `Range`.
/// - A coding of the response is not supported.
/// - The status is 206.
/// - The response has no body: it is a response to HEAD, has the status 204 or 304, or has the length 0.
///
/// The request for a client's event stream has `Accept-Encoding: identity`. If the server still compresses the stream, the stream is
/// decoded.
///
/// If a body can't be decoded, ends early, or exceeds the ``DecompressionLimits``, reading the body throws ``ContentDecodingError``.
///
/// **Over URLSession:** `URLSession` decodes gzip, deflate and Brotli itself, even with `request.options.decompress = .off`. The
/// ``DecompressionLimits`` do not apply, and there is no other limit on the decoded size. A damaged body is a
/// ``/ErrandCore/TransportError`` with the code `invalidResponse`, and not a ``ContentDecodingError``. To ask for a body
/// without a coding, set `Accept-Encoding` to `identity`.
///
/// **Place:** outside `cache`, which stores the bytes on the wire; inside `redirect` and `validateStatus`. Observers of sizes on
/// the wire, such as `metrics`, belong inside this layer.
///
/// **Per request:** with `request.options.decompress = .off`, this middleware requests and decodes no compressed content. With
/// `.use(limits)`, these limits replace the limits of the stack.
public struct DecompressMiddleware: HTTPMiddleware {
    private let limits: DecompressionLimits

    /// Creates the middleware.
    ///
    /// - Parameter limits: the limits against decompression bombs. Default: ``DecompressionLimits/standard``.
    public init(_ limits: DecompressionLimits = .standard) { self.limits = limits }

    public var place: MiddlewarePlace { .decompress }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .inside(.validateStatus, because: "the body of a refused response would be kept encoded"),
            .outside(.cache, because: "the cache would store decoded bytes with the validators of the encoded bytes"),
            .once(because: "the inner decompress would decode nothing, and its limits would not apply"),
        ]
    }

    public var label: String { "decompress" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        let fields = request.head.headerFields
        let (asks, decodesUnrequested) = (!fields.contains(.acceptEncoding), request.options.call.decodesUnrequestedCodings)
        guard let limits = request.options.decompress.resolved(limits), asks || decodesUnrequested, fields[.range] == nil else {
            return try await next.send(request)
        }
        var request = request
        if asks { request.head.headerFields[.acceptEncoding] = ContentCoding.accepted }
        var response = try await next.send(request)
        guard response.headers.contains(.contentEncoding) else { return response }
        let codings: [ContentCoding]
        do {
            codings = try ContentCoding.toDecode(response.head, to: request.method, atMost: limits.maxCodings)
        } catch {
            response.discard()
            throw ContentDecodingError(error, request: request, response: response.head)
        }
        guard !codings.isEmpty else { return response }
        let decoder = ContentDecoder(codings.reversed(), limits, request: request, response: response.head)
        response.metadata.contentCoding = codings.map(\.rawValue).joined(separator: ", ")
        response.metadata.encodedFields = response.head.removeEncodedFields()
        response.body = response.body.transformed(by: decoder)
        return response
    }
}

private enum DecompressOptionKey: CrossOriginOptionKey {
    static var defaultValue: OptionOverride<DecompressionLimits> { .inherited }
    static var requiredMiddleware: MiddlewarePlace { .decompress }
}

extension RequestOptions {
    /// Replaces the stack's decompression limits for this request. `.off`: the body is returned as the transport received it.
    /// Default: `.inherited`, the stack's limits. `URLSession` decodes content itself. Over `URLSession`, this option does not
    /// change the decoding.
    public var decompress: OptionOverride<DecompressionLimits> {
        get { self[DecompressOptionKey.self] }
        set { self[DecompressOptionKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Requests compressed content, and decodes it. See ``DecompressMiddleware``.
    ///
    /// ```swift
    /// stack.decompress(DecompressionLimits(limitBytes: 100_000_000))
    /// ```
    public func decompress(_ limits: DecompressionLimits = .standard) -> HTTPStack { wrapped(by: DecompressMiddleware(limits)) }
}
