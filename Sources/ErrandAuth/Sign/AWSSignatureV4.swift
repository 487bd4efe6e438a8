#if Auth
public import ErrandCore
internal import ErrandFormats
internal import ErrandHashing

/// Credentials of Amazon Web Services. Descriptions and mirrors show no credentials.
public struct AWSCredentials: Sendable, Hashable, CustomStringConvertible, HidesStorage {
    /// The ID of the access key.
    public let accessKeyID: String
    /// The secret of the access key.
    public let secretAccessKey: String
    /// The token of temporary credentials; `nil` for the long-term credentials of a user.
    public let sessionToken: String?

    /// Creates credentials.
    public init(accessKeyID: String, secretAccessKey: String, sessionToken: String? = nil) {
        (self.accessKeyID, self.secretAccessKey, self.sessionToken) = (accessKeyID, secretAccessKey, sessionToken)
    }

    /// `AWS credentials`, or `temporary AWS credentials` if there is a session token.
    public var description: String { sessionToken == nil ? "AWS credentials" : "temporary AWS credentials" }
}

/// Signs requests for Amazon Web Services, and for other services that accept the same signatures
/// ([Signature Version 4](https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html)).
///
/// ```swift
/// stack.sign(with: .awsV4(AWSCredentials(accessKeyID: id, secretAccessKey: secret), region: "eu-central-1", service: "s3"))
/// ```
///
/// **Signed:** the method, the path, the query, the body and all fields that proxies do not change.
/// - If the request has a `Host` field, the value of `Host` is signed in place of the authority.
/// - The default port of the scheme is neither signed nor sent.
/// - Several `Cookie` fields are signed as one field, because servers join the fields.
/// - In the query, and for S3 in the path, all characters except letters, digits and `-._~` are percent-encoded. A plus sign is not
///   a space.
///
/// **Added:** `X-Amz-Date`, `Authorization`, `X-Amz-Security-Token` for temporary credentials, and `X-Amz-Content-Sha256` for S3.
///
/// **Bodies:** a body that is not in memory, but can be read again, is read one more time for its hash. If a body can be read only once, S3
/// gets `UNSIGNED-PAYLOAD` in place of the hash. S3 accepts this value over TLS. For other services, and without TLS, the request fails
/// with ``AuthenticationError``.
///
/// A request that already has `Authorization` is sent unchanged.
///
/// A signature is valid for only a few minutes. Therefore the clock of the machine must be right.
public struct AWSSignatureV4: RequestSigner {
    private let credentials: @Sendable () async throws -> AWSCredentials
    private let region: String
    private let service: String
    private let now: @Sendable () -> Date

    /// Creates a signer.
    ///
    /// - Parameters:
    ///   - region: the region of the service, such as `eu-central-1`.
    ///   - service: the name of the service, such as `s3`, `execute-api` or `bedrock`.
    ///   - now: a closure that returns the current date.
    ///   - credentials: a closure that returns the credentials, and is called for each attempt. The closure must itself fetch, keep and
    ///     renew temporary credentials.
    public init(
        region: String, service: String, now: @escaping @Sendable () -> Date = { Date() },
        credentials: @escaping @Sendable () async throws -> AWSCredentials
    ) {
        self.region = region
        self.service = service
        self.now = now
        self.credentials = credentials
    }

    public var label: String { "awsV4(\(region), \(service))" }

    /// The fields that are not signed, because proxies and transports change them.
    private static let unsigned: Set<String> = [  // octets: names of fields, in ASCII
        "authorization", "baggage", "connection", "content-length", "expect", "keep-alive", "proxy-authenticate", "proxy-authorization",
        "te",
        "traceparent", "tracestate", "trailer",
        "transfer-encoding", "upgrade", "user-agent", "x-amzn-trace-id",
    ]

    private static let contentHash = HTTPField.Name.known("X-Amz-Content-Sha256")
    private static let date = HTTPField.Name.known("X-Amz-Date")
    private static let securityToken = HTTPField.Name.known("X-Amz-Security-Token")

    private var isS3: Bool { service.isExactly("s3") || service.isExactly("s3express") || service.hasOctetPrefix("s3-") }

    /// Adds the signature and the fields that the signature needs.
    ///
    /// - Throws: ``AuthenticationError`` if the body can't be signed; the errors of `credentials`; the error of the body if the
    ///   body can't be read.
    public func sign(_ request: inout Request) async throws {
        guard request.head.authority != nil, request.head.headerFields[.authorization] == nil else { return }
        request.head.authority = request.head.authority.map { Self.host($0, scheme: request.head.scheme) }
        let credentials = try await credentials()
        let text = HTTPDate(now()).basicISO8601
        let day = String(text.prefix(8))
        request.head.headerFields[Self.date] = text
        if let token = credentials.sessionToken { request.head.headerFields[Self.securityToken] = token }
        if credentials.sessionToken != nil { request.options.sensitivity.formUnion(Sensitivity(fields: [Self.securityToken])) }

        let bodyHash = try await bodyHash(of: request)
        if isS3 || bodyHash == Self.unsignedPayload { request.head.headerFields[Self.contentHash] = bodyHash }

        let (names, fields) = Self.canonicalFields(request.head)
        request.head.path = strictlyEncoded(request.head.path ?? "/")
        let (path, query) = canonicalTarget(request.head.path ?? "/")
        let canonical = [request.method.rawValue, path, query, fields, names, bodyHash].joined(separator: "\n")
        let scope = "\(day)/\(region)/\(service)/aws4_request"
        let toSign = ["AWS4-HMAC-SHA256", text, scope, hex(OctetHash.of(canonical.utf8, by: .sha256))].joined(separator: "\n")
        var key = Array("AWS4\(credentials.secretAccessKey)".utf8)
        for part in [day, region, service, "aws4_request"] {
            key = KeyedHash.hmacSHA256.code(of: part.utf8, key: key)
        }
        let signature = hex(KeyedHash.hmacSHA256.code(of: toSign.utf8, key: key))
        request.head.headerFields[.authorization] =
            "AWS4-HMAC-SHA256 Credential=\(try checkedFieldValue(credentials.accessKeyID, "an access key ID"))/\(scope), "
            + "SignedHeaders=\(names), Signature=\(signature)"
    }

    private static let unsignedPayload = "UNSIGNED-PAYLOAD"

    private func bodyHash(of request: Request) async throws -> String {
        if let own = request.head.headerFields[Self.contentHash] { return own }
        if let data = request.body.bufferedData { return hex(OctetHash.of(data, by: .sha256)) }
        guard request.body.replay.canRestart else {
            guard isS3, request.head.scheme.isExactly("https") else {
                throw AuthenticationError(
                    .invalidCredentials("a body that can be read only once can't be signed"), request: request)
            }
            return Self.unsignedPayload
        }
        var hash = OctetHash(.sha256)
        let source = try await request.body.open()
        defer { source.abandon() }
        while let piece = try await source.next() { hash.update(piece) }
        return hex(hash.finalized())
    }

    /// Returns the authority without the default port of the scheme.
    private static func host(_ authority: String, scheme: String?) -> String {
        let ending = scheme.isExactly("http") ? ":80" : ":443"
        return authority.hasOctetSuffix(ending) ? String(authority.utf8.dropLast(ending.utf8.count)) ?? authority : authority
    }

    /// Returns the names of the signed fields, sorted and separated by `;`, and one line for each field in the same order.
    private static func canonicalFields(_ head: HTTPRequest) -> (names: String, lines: String) {
        var values: [String: [String]] = [:]
        for field in head.headerFields.withOneCookie where !unsigned.contains(field.name.canonicalName) {
            let words = field.value.split(atOctet: UInt8(ascii: " "))
            values[field.name.canonicalName, default: []].append(words.joined(separator: " "))
        }
        // If the request has a `Host` field, that field is sent.
        if values["host"] == nil { values["host"] = [head.authority ?? ""] }
        let sorted = values.sorted { $0.key < $1.key }
        return (sorted.map(\.key).joined(separator: ";"), sorted.map { "\($0.key):\($0.value.joined(separator: ","))\n" }.joined())
    }

    /// Returns the target with strict percent-encoding: in the query, and for S3 in the path, only unreserved characters stay
    /// unencoded. The signature covers this form. Some servers compare this form with the received target octet by octet.
    private func strictlyEncoded(_ target: String) -> String {
        let parts = target.split(atOctet: UInt8(ascii: "?"), maxSplits: 1, omittingEmptyPieces: false)
        func segments(_ path: Substring) -> [Substring] { path.split(atOctet: UInt8(ascii: "/"), omittingEmptyPieces: false) }
        let path = isS3 ? segments(parts[0]).map(Self.encoded).joined(separator: "/") : String(parts[0])
        guard parts.count == 2 else { return path }
        let items = parts[1].split(atOctet: UInt8(ascii: "&"), omittingEmptyPieces: false).map { item in
            Self.pair(item).map(Self.encoded).joined(separator: "=")
        }
        return path + "?" + items.joined(separator: "&")
    }

    /// Returns the name and the value of an item of a query; only the name if there is no equals sign.
    private static func pair(_ item: Substring) -> [Substring] {
        item.split(atOctet: UInt8(ascii: "="), maxSplits: 1, omittingEmptyPieces: false)
    }

    private static func encoded(_ text: Substring) -> String {
        // Octets that are not UTF-8 stay unchanged.
        PercentEncoding.decode(text).map { PercentEncoding.encode($0, allowing: .unreserved) } ?? String(text)
    }

    /// Returns the path and the sorted query. For all services except S3, the path is percent-encoded once more.
    private func canonicalTarget(_ target: String) -> (path: String, query: String) {
        let parts = target.split(atOctet: UInt8(ascii: "?"), maxSplits: 1, omittingEmptyPieces: false)
        var path = String(parts[0])
        if path.isEmpty { path = "/" }
        if !isS3 {
            path = PercentEncoding.encode(Self.withoutDots(path), allowing: .signedPath)
        }
        guard parts.count == 2 else { return (path, "") }
        let pairs = parts[1].split(atOctet: UInt8(ascii: "&")).map { item -> (String, String) in
            let pair = Self.pair(item)
            return (Self.encoded(pair[0]), pair.count == 2 ? Self.encoded(pair[1]) : "")
        }
        let sorted = pairs.sorted { ($0.0, $0.1) < ($1.0, $1.1) }
        return (path, sorted.map { "\($0.0)=\($0.1)" }.joined(separator: "&"))
    }

    /// Returns the path without `.`, `..` and empty segments
    /// ([RFC 3986, section 5.2.4](https://www.rfc-editor.org/rfc/rfc3986#section-5.2.4)).
    private static func withoutDots(_ path: String) -> String {
        var segments: [Substring] = []
        for segment in path.split(atOctet: UInt8(ascii: "/")) where !segment.isExactly(".") {
            if segment.isExactly("..") { _ = segments.popLast() } else { segments.append(segment) }
        }
        let joined = "/" + segments.joined(separator: "/")
        return path.hasOctetSuffix("/") && joined.utf8.count > 1 ? joined + "/" : joined
    }
}

extension RequestSigner where Self == AWSSignatureV4 {
    /// Signs for Amazon Web Services. See ``AWSSignatureV4``.
    ///
    /// - Parameters:
    ///   - credentials: the credentials. For temporary credentials that are renewed, use
    ///     ``AWSSignatureV4/init(region:service:now:credentials:)``.
    ///   - region: the region of the service, such as `eu-central-1`.
    ///   - service: the name of the service, such as `s3`.
    public static func awsV4(_ credentials: AWSCredentials, region: String, service: String) -> AWSSignatureV4 {
        AWSSignatureV4(region: region, service: service) { credentials }
    }
}

extension URLCharacterSet {
    /// The characters that are never percent-encoded ([RFC 3986, section 2.3](https://www.rfc-editor.org/rfc/rfc3986#section-2.3)).
    fileprivate static let unreserved = URLCharacterSet("-._~")
    fileprivate static let signedPath = URLCharacterSet("-._~/")
}
#endif
