internal import ErrandCore
internal import ErrandFormats

/// A description of the bytes of an unfinished download: the name of the file, the number of bytes, and the known facts about the content,
/// such as its length, validator, coding and digest.
///
/// The value has no secrets: neither the URL nor a header field of the request. The value names the file without its folder, so the folder
/// may move.
///
/// ```swift
/// do {
///     file = try await download.file()
/// } catch {
///     saved = try JSONEncoder().encode(download.resumption)      // for a later Download(…, resuming:)
///     throw error
/// }
/// ```
///
/// ``Download`` also writes the value to its journal, and reads the journal itself. Therefore most apps do not need to keep the value.
public struct DownloadResumption: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The version of the coded form.
    static let schema = 1

    /// The name of the finished file, without its folder.
    public internal(set) var fileName: String
    /// The number of bytes at the beginning of the partial file that are certainly on the disk.
    public internal(set) var bytes: Int64
    /// The length of the whole content in bytes; `nil` if the length is not known.
    public internal(set) var total: Int64?
    /// The strong validator of the content, as the value of an `If-Range` field; `nil` if the server sent no strong validator.
    var validator: String?
    /// The content coding of the bytes, such as `gzip`; `nil` for bytes without a content coding.
    var coding: String?
    /// The digest of the whole content, if the server has sent a digest.
    var digest: IntegrityDigest?
    /// Whether the whole content did not match its digest. The next run starts from the first byte.
    var isRejected = false

    init(fileName: String) { (self.fileName, bytes) = (fileName, 0) }

    /// Whether the download can continue after ``bytes``. If false, the next run starts from the first byte.
    public var canContinue: Bool { bytes > 0 && validator != nil && !isRejected }

    /// The name, the number of bytes, and whether the download can continue: `archive.zip, 4096 of 8192 bytes, can continue`.
    public var description: String {
        let ending = canContinue ? "can continue" : "starts again"
        return "\(fileName.shownSafely()), \(total.map { "\(bytes) of \($0)" } ?? "\(bytes)") bytes, \(ending)"
    }

    private enum CodingKeys: String, CodingKey { case schema, fileName, bytes, total, validator, coding, digest, isRejected }

    /// Decodes a value, and checks its parts, because the data may come from an untrusted source.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func refuse(_ key: CodingKeys, _ reason: String) -> DecodingError {
            .dataCorruptedError(forKey: key, in: container, debugDescription: reason)
        }
        guard try container.decode(Int.self, forKey: .schema) == Self.schema else { throw refuse(.schema, "not schema 1") }
        fileName = try container.decode(String.self, forKey: .fileName)
        guard !fileName.isEmpty, fileName.utf8.count <= 255, !fileName.utf8.contains(where: { $0 == 0 || $0 == UInt8(ascii: "/") }) else {
            throw refuse(.fileName, "not the name of a file")
        }
        bytes = try container.decode(Int64.self, forKey: .bytes)
        total = try container.decodeIfPresent(Int64.self, forKey: .total)
        guard bytes >= 0 else { throw refuse(.bytes, "negative") }
        if let total, total < bytes { throw refuse(.total, "less than bytes") }
        validator = try container.decodeIfPresent(String.self, forKey: .validator)
        if let validator, !Self.isValidator(validator) { throw refuse(.validator, "not a strong validator") }
        coding = try container.decodeIfPresent(String.self, forKey: .coding)
        if let coding, !Self.isCoding(coding) { throw refuse(.coding, "not a content coding") }
        digest = try container.decodeIfPresent(IntegrityDigest.self, forKey: .digest)
        isRejected = try container.decodeIfPresent(Bool.self, forKey: .isRejected) ?? false
    }

    /// Returns whether a text can be the value of an `If-Range` field: a strong entity tag or a date, of at most 8 KiB.
    private static func isValidator(_ text: String) -> Bool {
        guard text.utf8.count <= FieldLimits.valueBytes else { return false }
        return EntityTag(text).map { !$0.isWeak } ?? (HTTPDate(text, now: HTTPDate(Date())) != nil)
    }

    /// Returns whether a text can be the value of a `Content-Encoding` field that is kept.
    static func isCoding(_ text: String) -> Bool { text.utf8.count <= FieldLimits.valueBytes && HTTPField.isValidValue(text) }

    /// Encodes the value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Self.schema, forKey: .schema)
        try container.encode(fileName, forKey: .fileName)
        try container.encode(bytes, forKey: .bytes)
        try container.encodeIfPresent(total, forKey: .total)
        try container.encodeIfPresent(validator, forKey: .validator)
        try container.encodeIfPresent(coding, forKey: .coding)
        try container.encodeIfPresent(digest, forKey: .digest)
        if isRejected { try container.encode(true, forKey: .isRejected) }
    }
}
