extension ResponseBody {
    /// How much is gathered before it is written: 64 KiB.
    private static let fileChunkBytes = 64 * 1024

    /// Writes the body to a file as it arrives, without holding it in memory, and returns the number of bytes.
    ///
    /// ```swift
    /// let response = try await stack.send(request)
    /// let bytes = try await response.body.write(to: URL(filePath: "/data/archive.zip"))
    /// ```
    ///
    /// The file is written atomically: the bytes go to a temporary file in the same folder (`.errand-*.part`), which gets its name when the body is
    /// whole. Until then, a file that has the name stays as it is; a symbolic link is replaced, not followed. A device or a
    /// pipe is not replaced, and neither is a link to one: the call fails. If anything fails, or the task is cancelled, the temporary file is
    /// removed. Only a process that is killed leaves it behind.
    ///
    /// Writing does not block Swift's cooperative threads. To see the status first, look at the response's head: the body of an error page is
    /// written as any other. ``HTTPSender/download(_:to:options:progress:)`` does not write one.
    ///
    /// - Parameters:
    ///   - url: a file URL, in a folder that exists.
    ///   - options: replaces an existing file and gives permissions to the owner alone, by default.
    /// - Returns: the number of bytes written, after content decoding.
    /// - Throws: ``FileWriteError``, also if `url` is not a file URL; ``TransportError`` when the body breaks off, or is longer than ``FileWriteOptions/limitBytes``;
    ///   ``BodyAlreadyUsedError``; `CancellationError`.
    @discardableResult
    @concurrent public func write(to url: URL, options: FileWriteOptions = .standard) async throws -> Int64 {
        let path: String
        do {
            path = try FileWriteError.path(of: url)
        } catch {
            abandon()
            throw error
        }
        return try await write(toFile: path, options: options)
    }

    /// Writes the body to the file at `path`. See ``write(to:options:)``.
    @discardableResult
    @concurrent public func write(toFile path: String, options: FileWriteOptions = .standard) async throws -> Int64 {
        try await write(toFile: path, options: options, calls: .system)
    }

    @concurrent func write(toFile path: String, options: FileWriteOptions, calls: FileCalls) async throws -> Int64 {
        // When it goes away before the end, the rest of the body is abandoned.
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
            // Before the caller looks at the folder.
            try? await BlockingWork.run { file.discard() }
            throw error
        }
    }
}
