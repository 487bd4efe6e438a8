/// A downloaded file, with the head, the request and the metadata of its response.
public struct DownloadedFile: Sendable {
    /// The URL of the file.
    public let url: URL
    /// The length of the file, in bytes.
    public let bytes: Int64
    /// The status and the header fields of the response.
    public let head: HTTPResponse
    /// The request that was sent last. After redirects, this request has the final URL.
    public let request: Request
    /// The metadata of the transport and the middleware, such as the number of attempts and the timings.
    public let metadata: ResponseMetadata

    package init(url: URL, bytes: Int64, head: HTTPResponse, request: Request, metadata: ResponseMetadata) {
        (self.url, self.bytes, self.head) = (url, bytes, head)
        (self.request, self.metadata) = (request, metadata)
    }

    /// The status of the response.
    public var status: HTTPResponse.Status { head.status }
    /// The header fields of the response.
    public var headers: HTTPFields { head.headerFields }
}

extension DownloadedFile: CustomStringConvertible, HidesStorage {
    /// The path, the length, the status and the request, with secrets replaced.
    public var description: String { "\(url.path.shownSafely()) (\(bytes.counted("byte"))), \(head.status.code) to \(request)" }
}

extension Response {
    /// Writes the body to a file.
    package func downloaded(
        to url: URL, options: FileWriteOptions, progress: (@Sendable (TransferProgress) -> Void)?
    ) async throws -> DownloadedFile {
        let body = if let progress { self.body.reportingProgress(progress) } else { self.body }
        let bytes = try await body.write(to: url, options: options)
        return DownloadedFile(url: url, bytes: bytes, head: head, request: request, metadata: metadata)
    }
}

extension HTTPSender {
    /// Sends `request`, and writes the body of the response to a file as the body arrives.
    ///
    /// ```swift
    /// let request = try Request(.get, url: "https://downloads.example/archive.zip")
    /// let file = try await stack.download(request, to: folder.appending(path: "archive.zip")) { progress in
    ///     print(progress)
    /// }
    /// print(file.bytes)
    /// ```
    ///
    /// The file appears when the body is complete. After a failure, no file remains: see ``ResponseBody/write(to:options:)``. An
    /// error page is not written. A status outside 2xx throws a ``StatusError``. If `validateStatus` accepts the status, or is `.off`
    /// for this request, no error is thrown.
    ///
    /// If the body ends too early, `retry` makes no further attempt: for `retry`, an attempt ends when the head of the response has
    /// arrived.
    ///
    /// - Parameters:
    ///   - url: a file URL, in a folder that exists.
    ///   - options: the options for writing. Default: ``FileWriteOptions/standard``, which replaces an existing file, and lets
    ///     only the owner read and write the file.
    ///   - progress: called on the caller's actor when the head has arrived, then at most every 100 ms, and at the end of the body. A
    ///     slow closure does not slow the download, but the call returns only after the last report. For a compressed body, the total
    ///     number of bytes is not known.
    /// - Returns: the file, its length, and the head of the response.
    /// - Throws: ``StatusError``; ``FileWriteError`` (if `url` is not a file URL, before anything is sent); ``TransportError``,
    ///   also if the body is longer than ``FileWriteOptions/limitBytes``; `CancellationError`; the errors of ``send(_:)``.
    @discardableResult
    public func download(
        _ request: Request, to url: URL, options: FileWriteOptions = .standard, progress: ((TransferProgress) -> Void)? = nil
    ) async throws -> DownloadedFile {
        _ = try FileWriteError.path(of: url)
        return try await withProgress(progress) { report in
            let response = try await send(request)
            let isJudged = response.metadata.isStatusAccepted || request.options.validateStatus.isOff
            guard isJudged || response.head.status.kind == .successful else { throw try await StatusError(reading: response) }
            return try await response.downloaded(to: url, options: options, progress: report)
        }
    }
}
