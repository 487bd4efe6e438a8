public import ErrandCore

extension HTTPSender {
    /// Records each exchange that `body` makes over this stack, and then writes the exchanges to an HTTP archive.
    ///
    /// ```swift
    /// let user = try await stack.exportHAR(toPath: "session.har", secrets: [apiKey]) { recorded in
    ///     try await APIClient(recorded.retry().server("https://api.example")).get("/users/7", as: User.self)
    /// }
    /// ```
    ///
    /// Every request is sent, even if the file exists, because this function never replays. The file is replaced when `body` returns or
    /// throws. To replay exchanges in tests, use a ``Recording`` with the mode ``Recording/Mode/once``.
    ///
    /// **Place:** the stack that `body` gets has a ``RecordMiddleware``. If this stack sorts its layers, the middleware has its usual
    /// place. In any other stack, the middleware is outermost. If `body` adds a `retry`, each attempt is a separate entry.
    ///
    /// Read the bodies of the responses within `body`. A response body that is still being read when `body` returns is truncated in the
    /// file.
    ///
    /// - Parameters:
    ///   - path: the path of the file. A missing folder is created before `body` runs. If the file is new, only its owner can read the
    ///     file.
    ///   - secrets: texts that must never be written, at least 4 bytes long. An empty text is ignored. Values with sensitive names are
    ///     always replaced: see ``Recording``.
    ///   - body: the closure that sends the requests over the given stack.
    /// - Returns: the result of `body`.
    /// - Throws: the errors of `body`. If `body` succeeds: the errors of ``Recording/save()``. Before `body` runs, one of these errors:
    ///   - `FileWriteError` if the path is empty, or leads to a folder, a device or a pipe. The same error is thrown if the folder
    ///     of the file can't be created.
    ///   - ``InvalidRecordingError`` if one of `secrets` is too short.
    public func exportHAR<Result>(
        toPath path: String, secrets: [String] = [], _ body: (_ recorded: HTTPStack) async throws -> Result
    ) async throws -> Result {
        let recording = try Recording(atPath: path, mode: .all, secrets: secrets)
        try recording.prepareFile()
        return try await recording.saving { try await body(record(on: recording)) }
    }
}
