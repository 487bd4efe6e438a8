extension ResponseBody {
    /// The number of bytes that are collected before they are written: 64 KiB.
    private static let fileChunkBytes = 64 * 1024

    /// Writes the body to a file while the body arrives, and returns the number of bytes. A stream is never in memory as a whole.
    ///
    /// ```swift
    /// let response = try await stack.send(request)
    /// let bytes = try await response.body.write(to: URL(filePath: "/data/archive.zip"))
    /// ```
    ///
    /// The file is written atomically. The bytes go to a temporary file (`.errand-*.part`) in the same folder. When the body is
    /// complete, the temporary file is renamed to the name in `url`. Until the renaming, an existing file with that name stays unchanged. A
    /// symbolic link is replaced, not followed. If the path names a device, a pipe, or a link to a device or a pipe, the call fails.
    ///
    /// If anything fails, or the task is cancelled, the temporary file is removed. The temporary file remains only if the process
    /// is killed.
    ///
    /// Writing does not block Swift's cooperative threads. The body of an error page is written like any other body. Check the
    /// status in the response's head first, or use ``HTTPSender/download(_:to:options:progress:)``, which writes no error page.
    ///
    /// - Parameters:
    ///   - url: a file URL, in a folder that exists.
    ///   - options: the options for writing. Default: ``FileWriteOptions/standard``, which replaces an existing file, and lets
    ///     only the owner read and write the file.
    /// - Returns: the number of bytes written, after content decoding.
    /// - Throws: ``FileWriteError``, also if `url` is not a file URL; ``TransportError`` if the body ends too early, or is longer
    ///   than ``FileWriteOptions/limitBytes``; ``BodyAlreadyUsedError``; `CancellationError`.
    @discardableResult
    @concurrent public func write(to url: URL, options: FileWriteOptions = .standard) async throws -> Int64 {
        let path: String
        do {
            path = try FileWriteError.path(of: url)
        } catch {
            abandon()
            throw error
        }
        return try await write(toPath: path, options: options)
    }

    /// Writes the body to the file at `path`. See ``write(to:options:)``.
    @discardableResult
    @concurrent public func write(toPath path: String, options: FileWriteOptions = .standard) async throws -> Int64 {
        try await write(toPath: path, options: options, calls: .system)
    }

    @concurrent func write(toPath path: String, options: FileWriteOptions, calls: FileCalls) async throws -> Int64 {
        // The iterator is created before the checks. If a check throws, the iterator is released, which abandons the body.
        var iterator = makeAsyncIterator()
        if let limitBytes = options.limitBytes, let expectedLength, expectedLength > limitBytes { throw tooLarge(limitBytes) }
        let file = try await BlockingWork.run { try OutputFile(path: path, options: options, calls: calls) }
        do {
            var (written, gathered) = (Int64(0), Data())
            while let chunk = try await iterator.next() {
                written += Int64(chunk.count)
                if let limitBytes = options.limitBytes, written > limitBytes { throw tooLarge(limitBytes) }
                if gathered.isEmpty { gathered = chunk } else { gathered.append(chunk) }
                guard gathered.count >= Self.fileChunkBytes else { continue }
                let data = gathered
                gathered = Data()
                try await BlockingWork.run { try file.append(data) }
            }
            try Task.checkCancellation()
            let data = gathered
            try await BlockingWork.run {
                try file.append(data)
                try file.commit()
            }
            return written
        } catch {
            // The function waits until the temporary file is removed. Therefore the caller never finds that file.
            try? await BlockingWork.run { file.discard() }
            throw error
        }
    }
}
