#if MockServer
public import ErrandCore
internal import ErrandFormats
internal import Synchronization

/// Resumable uploads of a ``MockServer``, by interop version 8 of the
/// [IETF draft](https://datatracker.ietf.org/doc/draft-ietf-httpbis-resumable-upload/).
///
/// ```swift
/// let uploads = server.acceptUploads(at: "/files")
/// uploads.cut(afterBytes: 100_000)  // the first request with content breaks off
/// // Upload a file of 300 kB to `server.url("/files")`.
/// #expect(uploads.all.map(\.offset) == [300_000])
/// ```
///
/// A request with `Upload-Complete` and `Upload-Draft-Interop-Version: 8` creates an upload. The server sends `104` with the `Location`
/// before it reads the content. HEAD, PATCH and DELETE to this location work as in the draft, with its three types of problem details. A
/// request for an upload that is in progress ends the earlier request first. A request with another version, or without a version, can't
/// create or reach a resumable upload: its whole content is a conventional upload.
public final class MockUploads: Sendable {
    /// The limits that the server enforces and announces in `Upload-Limit`. `nil`, the default of each: no limit.
    public struct Limits: Sendable, Hashable {
        /// The largest size of an upload (`max-size`). A larger upload gets the status 413.
        public var maxSizeBytes: Int?
        /// The smallest size of an upload (`min-size`). An upload whose announced size is smaller gets the status 400.
        public var minSizeBytes: Int?
        /// The largest content of one request (`max-append-size`). A larger request gets the status 413.
        public var maxAppendBytes: Int?
        /// The smallest content of one request that does not complete the upload (`min-append-size`). A smaller request gets the status
        /// 400. An empty creation is allowed.
        public var minAppendBytes: Int?
        /// The remaining lifetime in seconds (`max-age`). The server only announces this limit: ``MockUploads/forget()`` ends uploads.
        public var maxAgeSeconds: Int?

        /// Creates limits that limit nothing.
        public init() {}
    }

    /// An upload, whole or not.
    public struct Upload: Sendable, CustomStringConvertible, HidesStorage {
        /// The largest size of ``content``: 16 MiB.
        public static let keptBytes = 16 * 1024 * 1024

        /// The path of the upload resource; `nil` for a conventional upload.
        public let resourcePath: String?
        /// The request that created the upload.
        public let creation: HTTPRequest
        /// The number of bytes that the server has.
        public internal(set) var offset = 0
        /// The size that the client announced; `nil` if the client did not announce a size yet.
        public internal(set) var length: Int?
        /// Whether the client has completed the upload.
        public internal(set) var isComplete = false
        /// Whether the upload resource exists: false after DELETE, after ``MockUploads/forget()``, and after content beyond the size.
        public internal(set) var isActive = true
        /// The first 16 MiB of the content.
        public internal(set) var content = Data()
        /// The SHA-256 of the bytes that the server has, in hexadecimal digits.
        public var sha256: String { hash.digits }
        var hash = ContentHash()

        /// The path and the sizes. The content is not shown.
        public var description: String {
            "\(resourcePath ?? "conventional upload"): \(offset) of \(length.map { "\($0)" } ?? "unknown") bytes"
                + (isComplete ? ", complete" : "") + (isActive ? "" : ", ended")
        }

        init(_ creation: HTTPRequest, resourcePath: String?) { (self.creation, self.resourcePath) = (creation, resourcePath) }
    }

    /// The target of creations. The path of an upload resource begins with this path.
    public let path: String
    let sendsInformational: Bool
    let progressBytes: Int?
    let respond: @Sendable (Upload) async throws -> MockResponse
    let state: Mutex<UploadState>

    init(
        path: String, limits: Limits, sendsInformational: Bool, progressBytes: Int?,
        respond: @escaping @Sendable (Upload) async throws -> MockResponse
    ) {
        (self.path, self.sendsInformational, self.progressBytes, self.respond) = (path, sendsInformational, progressBytes, respond)
        state = Mutex(UploadState(limits: limits))
    }

    /// The uploads so far, in the order of their creations.
    public var all: [Upload] { state.withLock { $0.uploads } }

    /// The limits. A change applies to later requests.
    public var limits: Limits {
        get { state.withLock { $0.limits } }
        set { state.withLock { $0.limits = newValue } }
    }

    /// Makes a later request break off: the connection is closed (HTTP/2: the stream is reset) when the server has kept `bytes` bytes of
    /// the request's content. With as many bytes as the content has, the upload is not complete and the client gets no response.
    ///
    /// Each call affects one request with content. Several calls affect several requests, in order.
    ///
    /// - Parameter bytes: the number of bytes that are kept; at least 0. A request with less content is not affected, and uses up the cut.
    public func cut(afterBytes bytes: Int) {
        precondition(bytes >= 0, "bytes must be at least 0 (is \(bytes))")
        state.withLock { $0.cuts.append(bytes) }
    }

    /// Ends all upload resources. Later requests for these resources get the status 404.
    public func forget() {
        state.withLock { state in
            for index in state.uploads.indices { state.uploads[index].isActive = false }
        }
    }
}

extension MockServer {
    /// Adds a dispatcher that accepts resumable uploads. See ``MockUploads``.
    ///
    /// - Parameters:
    ///   - path: the target of creations, which begins with `/` and does not end with `/`. Default: `/uploads`.
    ///   - limits: the limits for uploads. Default: no limits.
    ///   - sendsInformational: whether a creation gets `104` with the `Location`. Default: true. Pass false to test a client whose
    ///     informational responses are lost.
    ///   - progressBytes: the number of bytes after which the server sends `104` with the offset; at least 1. `nil`, the default: the
    ///     server sends no progress.
    ///   - respond: the closure that returns the response to a complete upload. The server adds `Upload-Complete: ?1` to the response.
    ///     Default: 200 without a body.
    /// - Returns: the uploads, for the test.
    @discardableResult
    public func acceptUploads(
        at path: String = "/uploads", limits: MockUploads.Limits = MockUploads.Limits(), sendsInformational: Bool = true,
        progressBytes: Int? = nil, respond: @escaping @Sendable (MockUploads.Upload) async throws -> MockResponse = { _ in .status(.ok) }
    ) -> MockUploads {
        precondition(path.hasOctetPrefix("/") && !path.hasOctetSuffix("/"), "path must begin with / and not end with / (is \(path))")
        precondition(progressBytes ?? 1 > 0, "progressBytes must be at least 1 (is \(progressBytes ?? 1))")
        let uploads = MockUploads(
            path: path, limits: limits, sendsInformational: sendsInformational, progressBytes: progressBytes, respond: respond)
        dispatch { try await UploadExchange(uploads: uploads, request: $0).response() }
        return uploads
    }
}
#endif
