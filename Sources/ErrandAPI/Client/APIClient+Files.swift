public import ErrandCore

// This file has the calls that download to a file, and the calls that report the progress of an upload.

extension APIClient {
    /// Sends a call and writes the body of its response to a file as the body arrives. The output type of the endpoint is ignored.
    ///
    /// ```swift
    /// let archive = Endpoint<Void>.get("/archives/\(id, "id")")
    /// let file = try await client.download(archive, to: folder.appending(path: "archive.zip")) { progress in
    ///     print(progress)                          // 1048576 of 4194304 bytes (25 %)
    /// }
    /// print(file.bytes)
    /// ```
    ///
    /// The file appears when the body is complete. A failure leaves no file: see ``/ErrandCore/ResponseBody/write(to:options:)``. The
    /// client's ``bodyLimitBytes`` does not apply. To limit the length of the file, set ``/ErrandCore/FileWriteOptions/limitBytes``.
    /// Writing is part of the call: log, spans, metrics and the profile include the time for writing, and any error of writing.
    ///
    /// If the body ends too early, the call fails and is not retried, because `retry` ends when the head has arrived.
    ///
    /// - Parameters:
    ///   - url: a file URL, in a folder that exists.
    ///   - options: the options for writing. Default: ``/ErrandCore/FileWriteOptions/standard``, which replaces an existing file,
    ///     and lets only the owner read and write the file.
    ///   - progress: a closure that is called on the caller's actor when the head has arrived, then at most every 100 ms. The last report
    ///     is at the end of the body. A slow closure does not slow the download, but the call returns only after the last report. For a
    ///     compressed body, the total number of bytes is not known.
    /// - Returns: the file, its length, and the head of the response.
    /// - Throws: ``/ErrandCore/StatusError`` for an unwanted status; ``/ErrandCore/ServiceError`` if the body is JSON of at most 64 KiB
    ///   in the client's ``envelope`` and describes an error; ``/ErrandCore/FileWriteError``; ``/ErrandCore/TransportError``;
    ///   `CancellationError`. Before the request is sent: ``/ErrandCore/InvalidURLError``, ``RequestEncodingError``, and
    ///   ``/ErrandCore/FileWriteError`` if `url` is not a file URL.
    @discardableResult
    public func download<Output>(
        _ endpoint: Endpoint<Output>, to url: URL, options: FileWriteOptions = .standard, progress: ((TransferProgress) -> Void)? = nil
    ) async throws -> DownloadedFile {
        _ = try FileWriteError.path(of: url)
        return try await withProgress(progress) { report in
            try await call(endpoint) { response in
                var response = response
                if let reader = envelopeReader(for: endpoint), response.head.isJSON {
                    let length = response.body.expectedLength
                    response.body = response.body.transformed(by: EnvelopeFilter(reader), length: length)
                }
                do {
                    return try await response.downloaded(to: url, options: options, progress: report)
                } catch let error as ServiceError where envelope != nil {
                    throw error.completed(by: response)
                }
            }
        }
    }

    /// Gets a resource and writes its body to a file as the body arrives.
    ///
    /// ```swift
    /// let file = try await client.download("/archives/\(id, "id")", to: folder.appending(path: "archive.zip"))
    /// ```
    ///
    /// For the other parameters, see ``get(_:query:headers:timeout:as:decoding:options:)`` and ``download(_:to:options:progress:)``. To
    /// set another method or other options, pass an ``Endpoint`` to ``download(_:to:options:progress:)``.
    ///
    /// - Parameter path: a template; its values are escaped.
    /// - Throws: the errors of ``download(_:to:options:progress:)``.
    @discardableResult
    public func download(
        _ path: PathTemplate, to url: URL, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), timeout: Duration? = nil,
        options: FileWriteOptions = .standard, progress: ((TransferProgress) -> Void)? = nil
    ) async throws -> DownloadedFile {
        let endpoint = Endpoint<Void>.get(path, query: query, headers: headers).with(timeout: timeout) { _ in }
        return try await download(endpoint, to: url, options: options, progress: progress)
    }

    /// Sends a call, reports the progress of its body, and returns the value of the response.
    ///
    /// ```swift
    /// let photo = Endpoint<Photo>.post("/photos", body: .file(url, contentType: "image/jpeg"))
    /// let uploaded = try await client.upload(photo) { progress in
    ///     print(progress)                          // 1048576 of 4194304 bytes (25 %)
    /// }
    /// ```
    ///
    /// If a retry or a redirect sends the body again, the progress starts again at 0.
    ///
    /// - Parameter progress: a closure that is called on the caller's actor when the body starts, then at most every 100 ms. The last
    ///   report is at the end of the body. A slow closure does not slow the upload, but the call returns only after the last report. An
    ///   empty body reports no progress.
    /// - Throws: the errors of ``value(_:)``.
    public func upload<Output>(
        _ endpoint: Endpoint<Output>, progress: @escaping (TransferProgress) -> Void
    ) async throws -> Output {
        try await withProgress(progress) { report in
            var reported = endpoint
            if let report { reported.body = endpoint.body.reportingProgress(report) }
            return try await value(reported)
        }
    }

    /// Sends a body, reports its progress, and returns the value of the response.
    ///
    /// ```swift
    /// let photo = try await client.upload("/photos", body: .file(url, contentType: "image/jpeg"), as: Photo.self) { print($0) }
    /// ```
    ///
    /// For the other parameters, see ``post(_:query:headers:body:timeout:as:decoding:options:)`` and ``upload(_:progress:)``.
    ///
    /// - Parameters:
    ///   - path: a template; its values are escaped.
    ///   - method: the method of the request. Default: POST.
    /// - Throws: the errors of ``value(_:)``.
    public func upload<Value: Decodable & Sendable>(
        _ path: PathTemplate, method: HTTPRequest.Method = .post, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(),
        body: EndpointBody, timeout: Duration? = nil, as type: Value.Type = Value.self,
        progress: @escaping (TransferProgress) -> Void
    ) async throws -> Value {
        let endpoint = Endpoint<Value>(method, path, query: query, headers: headers, body: body, decoding: .json)
        return try await upload(endpoint.with(timeout: timeout) { _ in }, progress: progress)
    }

    /// Sends a body, reports its progress, and ignores the body of the response. For the parameters, see
    /// ``upload(_:method:query:headers:body:timeout:as:progress:)``.
    ///
    /// - Throws: `StatusError` for any status but 2xx, and the other errors of ``value(_:)``.
    public func upload(
        _ path: PathTemplate, method: HTTPRequest.Method = .post, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(),
        body: EndpointBody, timeout: Duration? = nil, progress: @escaping (TransferProgress) -> Void
    ) async throws {
        let endpoint = Endpoint<Void>(method, path, query: query, headers: headers, body: body, decoding: .none)
        try await upload(endpoint.with(timeout: timeout) { _ in }, progress: progress)
    }
}
