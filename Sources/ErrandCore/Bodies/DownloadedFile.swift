/// A file that was downloaded, and the response that it came with.
public struct DownloadedFile: Sendable {
    /// Where the file is.
    public let url: URL
    /// The length of the file.
    public let bytes: Int64
    /// The status and the header fields of the response.
    public let head: HTTPResponse
    /// The request as it was finally sent: after redirects, the last one.
    public let request: Request
    /// What the transport and the middleware report: attempts, number, timings.
    public let metadata: ResponseMetadata

    /// The status of the response.
    public var status: HTTPResponse.Status { head.status }
    /// The header fields of the response.
    public var headers: HTTPFields { head.headerFields }
}

extension DownloadedFile: CustomStringConvertible, HidesStorage {
    /// The path, the length, the status and the request, without secrets.
    public var description: String { "\(url.path.shownSafely()) (\(bytes) bytes), \(head.status.code) to \(request)" }
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
    /// Sends `request` and writes the body of its response to a file, as it arrives.
    ///
    /// ```swift
    /// let request = try Request(.get, url: "https://downloads.example/archive.zip")
    /// let file = try await stack.download(request, to: folder.appending(path: "archive.zip")) { progress in
    ///     print(progress)
    /// }
    /// print(file.bytes)
    /// ```
    ///
    /// The file appears when it is whole, and a failure leaves nothing behind: see ``ResponseBody/write(to:options:)``. No error page is written: a
    /// status outside 2xx throws, unless `validateStatus` accepts it, or is `.off` for this request.
    ///
    /// A body that breaks off is not requested again, as `retry` ends when the head has come.
    ///
    /// - Parameters:
    ///   - url: a file URL, in a folder that exists.
    ///   - options: replaces an existing file and gives permissions to the owner alone, by default.
    ///   - progress: is called when the head has come, at most every 100 ms after that, and at the end of the body. It is called in the task
    ///     that writes, and must not block. Of a compressed body, the total is not known.
    /// - Returns: the file, its length, and the head of the response.
    /// - Throws: ``StatusError``; ``FileWriteError``, before anything is sent if `url` is not a file URL; ``TransportError``, also where the body is longer than ``FileWriteOptions/limitBytes``;
    ///   `CancellationError`; what ``send(_:)`` throws.
    @discardableResult
    @concurrent public func download(
        _ request: Request, to url: URL, options: FileWriteOptions = .standard,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> DownloadedFile {
        _ = try FileWriteError.path(of: url)
        let response = try await send(request)
        let isJudged = response.metadata.isStatusAccepted || request.options.validateStatus.isOff
        guard isJudged || response.head.status.kind == .successful else { throw try await StatusError(reading: response) }
        return try await response.downloaded(to: url, options: options, progress: progress)
    }
}
