public import ErrandCore
internal import Synchronization

/// An upload that resumes: after a lost connection, after ``pause()``, after a cancellation, and in a later run of the app.
///
/// ```swift
/// let request = try Request(.post, "/files", headers: [.contentType: "application/zip"])
/// let upload = Upload(request, from: file, over: stack, by: .resumable())
/// let response = try await upload.response()
/// ```
///
/// The server must support one of the two protocols of ``UploadProtocol``. The request of the upload creates a resource for the upload at
/// the server. If the connection is lost, the upload asks the server how many bytes it has, and sends only the remaining bytes.
///
/// The content is a file, or a body that can be sent again (``/ErrandCore/RequestBody/Replay``). If the file changes before the upload is
/// complete, the call fails. The file is compared before each request, and after the last response. If the file changes while a request
/// sends its bytes, the server may get bytes of the changed file.
///
/// The journal `NAME.errand-upload-….json` beside the file describes the upload: see ``UploadResumption`` and `UploadOptions.journal`.
/// To resume in a later run, create an upload of the same file with the same target. The query of
/// the URL may differ. When the upload is complete, the journal is removed.
///
/// Only the origin of the request gets the credentials of the request. If the server names an upload URL at another origin, the requests to
/// that URL have no credentials.
///
/// The timeout of the stack does not apply to the requests: see ``TransferPolicy/idleTimeout``. `compressRequests` does not change the
/// content.
///
/// To upload a small content once, send a request with a body.
public final class Upload: Sendable {
    /// The settings of an upload.
    struct Settings: Sendable {
        var sender: any HTTPSender
        var uploadProtocol: UploadProtocol
        var policy: TransferPolicy = .standard
        var options: UploadOptions = .standard
        var resuming: UploadResumption?
        /// The file with the content; `nil` if the body of the request is the content.
        var file: URL?
        var makeRequest: @Sendable (UploadResumption?) async throws -> Request
        var clock: any Clock<Duration> = ContinuousClock()
        var random: @Sendable () -> Double = { Double.random(in: 0..<1) }
        /// The file calls of the journal.
        var calls = FileCalls.system
    }

    let settings: Settings
    let meter: TransferMeter
    let control = TransferControl()
    private let kept: Mutex<UploadResumption?>
    private let lastURL = Mutex<HTTPURL?>(nil)
    private let isRunning = Mutex(false)

    /// Creates an upload of a file. Nothing is sent before ``response()`` is called.
    ///
    /// - Parameters:
    ///   - request: the request that creates the upload, without a body. With tus, a POST. With the IETF draft, a POST, PUT or PATCH, as
    ///     without a resumption.
    ///   - file: the file URL of the content.
    ///   - sender: the stack or the transport that sends the requests.
    ///   - uploadProtocol: the protocol that the server supports.
    ///   - policy: the conditions under which the upload continues after a failure.
    ///   - options: the options for parts, for the journal and for metadata.
    ///   - resuming: the ``resumption`` of an earlier run, which the app has kept. Default: `nil`, because the journal usually has the same
    ///     content.
    public convenience init(
        _ request: Request, from file: URL, over sender: some HTTPSender, by uploadProtocol: UploadProtocol,
        policy: TransferPolicy = .standard, options: UploadOptions = .standard, resuming: UploadResumption? = nil
    ) {
        self.init(from: file, over: sender, by: uploadProtocol, policy: policy, options: options, resuming: resuming) { _ in request }
    }

    /// Creates an upload of the body of a request.
    ///
    /// ```swift
    /// let request = try Request(.put, "/video", body: .file(atPath: "/tmp/video.mp4", range: 0..<1_000_000))
    /// let upload = Upload(request, over: stack, by: .resumable())
    /// ```
    ///
    /// - Parameters:
    ///   - request: the request that creates the upload. Its body must have a length, and must not be
    ///     ``/ErrandCore/RequestBody/Replay/oneShot``. If the body can be sent again only from its first byte, the upload reads the body
    ///     from the first byte after each failure, and drops the bytes that the server has.
    ///   - sender: the stack or the transport that sends the requests.
    ///   - uploadProtocol: the protocol that the server supports.
    ///   - policy: the conditions under which the upload continues after a failure.
    ///   - options: the options for parts, for the journal and for metadata.
    ///   - resuming: the ``resumption`` of an earlier run, which the app has kept. Default: `nil`.
    public convenience init(
        _ request: Request, over sender: some HTTPSender, by uploadProtocol: UploadProtocol, policy: TransferPolicy = .standard,
        options: UploadOptions = .standard, resuming: UploadResumption? = nil
    ) {
        self.init(
            Settings(sender: sender, uploadProtocol: uploadProtocol, policy: policy, options: options, resuming: resuming) { _ in request })
    }

    /// Creates an upload whose request is made anew before each connection, because its URL or its credentials expire.
    ///
    /// ```swift
    /// let upload = Upload(from: file, over: stack, by: .tus) { _ in
    ///     try Request(.post, url: "https://files.example/", headers: [.authorization: "Bearer \(try await token())"])
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - file: the file URL of the content.
    ///   - sender: the stack or the transport that sends the requests.
    ///   - uploadProtocol: the protocol that the server supports.
    ///   - policy: the conditions under which the upload continues after a failure.
    ///   - options: the options for parts, for the journal and for metadata.
    ///   - resuming: the ``resumption`` of an earlier run, which the app has kept. Default: `nil`.
    ///   - request: returns the request that creates the upload. The other requests of the upload have the same fields, but another method
    ///     and another URL. The argument describes the upload; `nil` if the server has no upload yet.
    public convenience init(
        from file: URL, over sender: some HTTPSender, by uploadProtocol: UploadProtocol, policy: TransferPolicy = .standard,
        options: UploadOptions = .standard, resuming: UploadResumption? = nil,
        request: @escaping @Sendable (UploadResumption?) async throws -> Request
    ) {
        self.init(
            Settings(
                sender: sender, uploadProtocol: uploadProtocol, policy: policy, options: options, resuming: resuming, file: file,
                makeRequest: request))
    }

    init(_ settings: Settings) {
        self.settings = settings
        meter = TransferMeter(clock: settings.clock)
        kept = Mutex(settings.resuming)
    }

    /// The current state.
    public var state: TransferState { meter.value }

    /// The current state and each later state. Several readers may read the states at the same time.
    public var states: TransferStates { meter.states }

    /// The description of the unfinished upload; `nil` before the server has created the upload, and after the end.
    public var resumption: UploadResumption? { kept.withLock { $0 } }

    /// The URL of the upload at the server, also after the end; `nil` before the server has created the upload.
    ///
    /// With tus, this URL identifies the uploaded content. A program that knows the URL may be able to change the upload.
    public var url: HTTPURL? { lastURL.withLock { $0 } ?? resumption?.url }

    /// Stops the connection. ``response()`` waits until ``resume()`` is called.
    public func pause() { control.pause() }

    /// Continues a paused upload.
    public func resume() { control.resume() }

    func keep(_ record: UploadResumption?) {
        if let url = record?.url { lastURL.withLock { $0 = url } }
        kept.withLock { $0 = record.flatMap { $0.canContinue ? $0 : nil } }
    }

    /// Uploads the content, or resumes the upload, and returns the last response.
    ///
    /// The call sends requests until the server has all bytes. If the task is cancelled, a later call continues the upload.
    ///
    /// - Returns: with the IETF draft, the response of the resource to the whole content. With tus, the response to the last part. If the
    ///   last response was lost, the response that says that the upload is complete.
    /// - Throws: one of these errors:
    ///   - ``TransferError``, ``/ErrandCore/FileReadError``, ``/ErrandCore/FileWriteError`` and `CancellationError`
    ///   - ``/ErrandCore/TransportError``, ``/ErrandCore/StatusError`` and other errors of the sender, if the policy does not continue
    ///     after the error, or after too many failures without progress
    ///   - the errors of the closure that makes the request
    @concurrent public func response() async throws -> Response {
        // A second call must not change the states of the first call.
        let isFirst = isRunning.withLock { isRunning in
            defer { isRunning = true }
            return !isRunning
        }
        guard isFirst else { throw TransferError(.busy, "another call of response() uploads the content") }
        defer { isRunning.withLock { $0 = false } }
        meter.enter(.connecting)
        do {
            let response = try await UploadRun.open(self).perform()
            meter.enter(.complete)
            return response
        } catch {
            meter.enter(.failed(error))
            throw error
        }
    }

    /// Cancels the upload at the server, and removes the journal. Call this function if the upload will not be resumed.
    ///
    /// If the server refuses the cancellation, the journal is removed nevertheless.
    ///
    /// - Throws: one of these errors, after which the journal stays:
    ///   - ``TransferError``, for example with the code `busy` while the upload runs
    ///   - ``/ErrandCore/FileReadError`` and ``/ErrandCore/FileWriteError``
    ///   - the errors of the closure that makes the request, and the errors of the sender if no response arrives
    ///   - `CancellationError`
    @concurrent public func discard() async throws {
        let isFree = isRunning.withLock { !$0 }
        guard isFree else { throw TransferError(.busy, "a call of response() uploads the content") }
        try await UploadRun.open(self, isDiscarding: true).discard()
        keep(nil)
    }
}
