public import ErrandCore
internal import ErrandFormats

/// A description of an unfinished upload: the protocol, the upload's URL, the number of bytes at the server, and the state of the file.
///
/// The value has no header field of the request, and neither the URL nor the query of the request. The value has the URL that the server
/// has chosen for the upload. A program that knows this URL may be able to continue or to cancel the upload. Therefore keep the coded value
/// in a private place. The description and mirrors do not show the URL. ``Upload`` writes its journal with permissions for the owner only.
///
/// The value names the file without its folder, so the folder may move.
///
/// ```swift
/// do {
///     response = try await upload.response()
/// } catch {
///     saved = try JSONEncoder().encode(upload.resumption)      // for a later Upload(…, resuming:)
///     throw error
/// }
/// ```
public struct UploadResumption: Sendable, Hashable, Codable, CustomStringConvertible, HidesStorage {
    /// The version of the coded form.
    static let schema = 1
    /// The longest upload URL that is kept.
    static let urlLimitBytes = 8 * 1024
    /// The longest identity of a content that is kept.
    static let contentIDLimitBytes = 1024

    /// The name of the uploaded file, without its folder; `nil` if the content is not a file.
    public internal(set) var fileName: String?
    /// The number of bytes that the server has confirmed. The server may have more bytes.
    public internal(set) var bytes: Int64 = 0
    /// The length of the whole content in bytes.
    public internal(set) var total: Int64
    /// The time after which the server may remove the unfinished upload; `nil` if the server has not said a time.
    public internal(set) var expires: Date?
    /// The protocol of the upload.
    let uploadProtocol: UploadProtocol
    /// The hash of the request's target. A later run with another target does not continue the upload.
    let target: String
    /// The modification time of the file, in nanoseconds since 1970; `nil` if the content is not a file.
    var modified: Int64?
    /// The identity of the content that the app or the body has given.
    var contentID: String?
    /// The URL of the upload at the server; `nil` before the server has created the upload.
    var url: HTTPURL?
    /// The origin of the request that created the upload. Only this origin gets the credentials of the request.
    var origin: Origin?
    /// Whether all bytes were sent, and the response was lost.
    var mayBeComplete = false

    init(_ uploadProtocol: UploadProtocol, target: String, total: Int64) {
        (self.uploadProtocol, self.target, self.total) = (uploadProtocol, target, total)
    }

    /// Whether a later run can continue the upload.
    public var canContinue: Bool { url != nil }

    /// Returns a description of the same content before the server has created an upload.
    var startingAgain: UploadResumption {
        var record = UploadResumption(uploadProtocol, target: target, total: total)
        (record.fileName, record.modified, record.contentID) = (fileName, modified, contentID)
        return record
    }

    /// The name, the number of bytes, and whether the upload can continue: `archive.zip, 4096 of 8192 bytes, can continue`. The text has no
    /// URL.
    public var description: String {
        let ending = canContinue ? "can continue" : "starts again"
        return "\(fileName.map { $0.shownSafely() } ?? "content"), \(bytes) of \(total) bytes, \(ending)"
    }

    private enum CodingKeys: String, CodingKey {
        case schema, uploadProtocol = "protocol", target, fileName, bytes, total, expires, modified, contentID, url, origin, mayBeComplete
    }

    /// Decodes a value, and checks each part: the data may come from anywhere.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func refuse(_ key: CodingKeys, _ reason: String) -> DecodingError {
            .dataCorruptedError(forKey: key, in: container, debugDescription: reason)
        }
        func url(_ key: CodingKeys) throws -> HTTPURL? {
            guard let text = try container.decodeIfPresent(String.self, forKey: key) else { return nil }
            guard text.utf8.count <= Self.urlLimitBytes, let url = try? HTTPURL(text) else { throw refuse(key, "not an http URL") }
            return url
        }
        guard try container.decode(Int.self, forKey: .schema) == Self.schema else { throw refuse(.schema, "not schema 1") }
        guard let name = UploadProtocol(try container.decode(String.self, forKey: .uploadProtocol)) else {
            throw refuse(.uploadProtocol, "unknown protocol")
        }
        uploadProtocol = name
        target = try container.decode(String.self, forKey: .target)
        guard target.utf8.count <= 64 else { throw refuse(.target, "too long") }
        fileName = try container.decodeIfPresent(String.self, forKey: .fileName)
        if let fileName {
            guard !fileName.isEmpty, fileName.utf8.count <= 255, !fileName.utf8.contains(where: { $0 == 0 || $0 == UInt8(ascii: "/") })
            else { throw refuse(.fileName, "not the name of a file") }
        }
        bytes = try container.decode(Int64.self, forKey: .bytes)
        total = try container.decode(Int64.self, forKey: .total)
        guard bytes >= 0 else { throw refuse(.bytes, "negative") }
        guard total >= bytes else { throw refuse(.total, "less than bytes") }
        expires = try container.decodeIfPresent(Int64.self, forKey: .expires).map { Date(timeIntervalSince1970: Double($0)) }
        modified = try container.decodeIfPresent(Int64.self, forKey: .modified)
        contentID = try container.decodeIfPresent(String.self, forKey: .contentID)
        guard contentID?.utf8.count ?? 0 <= Self.contentIDLimitBytes else { throw refuse(.contentID, "too long") }
        self.url = try url(.url)
        origin = try url(.origin)?.origin
        mayBeComplete = try container.decodeIfPresent(Bool.self, forKey: .mayBeComplete) ?? false
    }

    /// Encodes the value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Self.schema, forKey: .schema)
        try container.encode("\(uploadProtocol)", forKey: .uploadProtocol)
        try container.encode(target, forKey: .target)
        try container.encodeIfPresent(fileName, forKey: .fileName)
        try container.encode(bytes, forKey: .bytes)
        try container.encode(total, forKey: .total)
        try container.encodeIfPresent(expires.map { Int64(clampingSeconds: $0.timeIntervalSince1970) }, forKey: .expires)
        try container.encodeIfPresent(modified, forKey: .modified)
        try container.encodeIfPresent(contentID, forKey: .contentID)
        try container.encodeIfPresent(url?.description, forKey: .url)
        try container.encodeIfPresent(origin.map { "\($0.scheme)://\($0.authority)" }, forKey: .origin)
        if mayBeComplete { try container.encode(true, forKey: .mayBeComplete) }
    }
}

extension Int64 {
    /// Returns whole seconds. A number beyond the range becomes the nearest number of the range, and NaN becomes 0.
    fileprivate init(clampingSeconds seconds: Double) {
        self = seconds.isNaN ? 0 : Int64(Swift.min(Swift.max(seconds, -9e15), 9e15))
    }
}
