internal import ErrandCore
internal import ErrandFormats
internal import ErrandHashing
internal import Synchronization

/// The content of an upload, which can be read from any byte: a file, or a body that can be sent again.
struct UploadContent: Sendable {
    private enum Source: Sendable {
        case file(path: String, range: Range<Int64>?)
        case body(RequestBody)
    }

    private let source: Source
    /// The length in bytes.
    let length: Int64
    /// The name of the file, without its folder; `nil` if the content is not a file.
    let fileName: String?
    /// The path of the file; `nil` if the content is not a file.
    let path: String?
    /// The state of the file at the beginning of the run; `nil` if the content is not a file, or the file is missing.
    private let stamp: FileStamp?
    /// The identity of the content in all runs; `nil` for a stream without an identity. In a build without the trait `Crypto`, content in
    /// memory has only the identity that the app has set.
    let contentID: String?

    /// Examines a body.
    ///
    /// - Throws: ``TransferError`` if the body can be sent only once, or if its length is not known; `FileReadError`.
    init(_ body: RequestBody, options: UploadOptions) async throws {
        guard body.replay.canRestart else {
            throw TransferError(.notReplayable, "the body can be sent only once; use a file, or a stream that can be opened again")
        }
        guard let length = body.length else { throw TransferError(.invalidRequest, "the length of the body is not known") }
        self.length = length
        if let file = body.file {
            source = .file(path: file.path, range: file.range)
            path = file.path
            fileName = Self.name(of: file.path)
            stamp = try await BlockingWork.run { try FileStamp(path: file.path) }
            contentID = options.contentID ?? file.range.map { "\($0.lowerBound)-\($0.upperBound)" } ?? ""
        } else {
            source = .body(body)
            (path, fileName, stamp) = (nil, nil, nil)
            contentID = options.contentID ?? body.bufferedData.flatMap { Self.identity(of: $0) }
        }
    }

    /// Describes a file that does not exist, for an upload that will be cancelled.
    init(missing path: String, options: UploadOptions) {
        (source, length, self.path, stamp) = (.file(path: path, range: nil), 0, path, nil)
        fileName = Self.name(of: path)
        contentID = options.contentID ?? ""
    }

    private static func name(of path: String) -> String { String(path.split(atOctet: UInt8(ascii: "/")).last ?? "") }

    /// Returns the SHA-256 of a content in memory; `nil` without the trait `Crypto`.
    private static func identity(of data: Data) -> String? {
        #if Crypto
        hex(OctetHash.of(data, by: .sha256))
        #else
        nil
        #endif
    }

    /// Whether a later run can recognize the content.
    var isRecognizable: Bool { contentID != nil }

    /// Returns a record of this content without an upload.
    func record(_ uploadProtocol: UploadProtocol, target: String) -> UploadResumption {
        var record = UploadResumption(uploadProtocol, target: target, total: length)
        (record.fileName, record.modified, record.contentID) = (fileName, stamp?.modified, contentID)
        return record
    }

    /// Returns whether a record describes this content.
    func isContent(of record: UploadResumption) -> Bool {
        record.total == length && record.modified == stamp?.modified && record.contentID == contentID && isRecognizable
    }

    /// Checks that the file is the same as at the beginning of the run.
    ///
    /// - Throws: ``TransferError`` with the code `fileChanged`; `FileReadError`.
    func checkUnchanged() async throws {
        guard let path, let stamp else { return }
        guard try await BlockingWork.run({ try FileStamp(path: path) }) != stamp else { return }
        throw TransferError(.fileChanged, "the file \(path.shownSafely()) has changed during the upload")
    }

    /// Returns the bytes of a part. The body can be opened at each byte of the part.
    ///
    /// - Throws: `FileReadError`.
    func body(_ part: Range<Int64>) async throws -> RequestBody {
        let isWhole = part == 0..<length
        switch source {
        case .file(let path, let range):
            let start = range?.lowerBound ?? 0
            let bytes = isWhole ? range : (start + part.lowerBound)..<(start + part.upperBound)
            return try await BlockingWork.run { try RequestBody.file(atPath: path, range: bytes) }
        case .body(let body):
            if let data = body.bufferedData { return .data(Data(data.dropFirst(Int(part.lowerBound)).prefix(part.count))) }
            return .stream(length: Int64(part.count), replay: .seekable) { offset in
                let first = part.lowerBound + offset
                let base = try await body.open(from: body.replay.canSeek ? first : 0)
                return PartBodySource(base, skipping: body.replay.canSeek ? 0 : first, count: part.upperBound - first)
            }
        }
    }

    /// Returns the bytes of a part in memory.
    ///
    /// - Throws: the errors of reading the content; ``TransferError`` if the content ends before the end of the part; `CancellationError`.
    func data(_ part: Range<Int64>) async throws -> Data {
        let source = try await body(part).open()
        defer { source.abandon() }
        var data = Data()
        while data.count < part.count, let chunk = try await source.next() { data += chunk }
        try Task.checkCancellation()
        guard data.count == part.count else {
            throw TransferError(.fileChanged, "the content ended after \((part.lowerBound + Int64(data.count)).counted("byte"))")
        }
        return data
    }
}

/// A source of some bytes of another source.
private final class PartBodySource: BodySource {
    private struct Rest {
        var skipped: Int64
        var count: Int64
    }

    private let base: any BodySource
    private let rest: Mutex<Rest>

    /// - Parameters:
    ///   - skipping: the number of bytes of the base before the part.
    ///   - count: the number of bytes in the part.
    init(_ base: any BodySource, skipping: Int64, count: Int64) {
        self.base = base
        rest = Mutex(Rest(skipped: skipping, count: count))
    }

    func next() async throws -> Data? {
        while rest.withLock({ $0.count > 0 }) {
            guard let chunk = try await base.next() else { return nil }
            let taken = rest.withLock { rest -> Data in
                let dropped = Int(min(rest.skipped, Int64(chunk.count)))
                rest.skipped -= Int64(dropped)
                let taken = chunk.dropFirst(dropped).prefix(Int(min(rest.count, Int64(chunk.count))))
                rest.count -= Int64(taken.count)
                return taken
            }
            if !taken.isEmpty { return taken }
        }
        base.abandon()
        return nil
    }

    func abandon() { base.abandon() }
    func fail(with error: any Error) { base.fail(with: error) }
}
