public import ErrandCore
internal import Synchronization

/// A download that resumes: after a lost connection, after ``pause()``, after a cancellation, and in a later run of the app.
///
/// ```swift
/// let download = Download(request, to: folder.appending(path: "archive.zip"), over: stack)
/// let file = try await download.file()
/// ```
///
/// The bytes go to the partial file `NAME.errand-part` beside the finished file. The journal `NAME.errand-part.json` describes the bytes.
/// When the content is complete, the partial file gets its final name, and the journal is removed. To resume in a later run, create a
/// download with the same target, and call ``file()``.
///
/// To resume, a download sends a range request with `If-Range` and a strong validator ([RFC 9110, section
/// 13.1.5](https://www.rfc-editor.org/rfc/rfc9110#section-13.1.5)). The download starts from the first byte if the server sends no strong
/// validator, if the server ignores ranges, or if the content has changed. After a start from the first byte, no byte of the earlier
/// content stays.
///
/// The journal has neither the URL nor a header field of the request. The app's folder may move between two runs.
///
/// The timeout of the stack does not apply to the requests. ``TransferPolicy/idleTimeout`` applies instead.
///
/// To download a small file once, use ``/ErrandCore/HTTPSender/download(_:to:options:progress:)``, which leaves nothing behind after a
/// failure.
public final class Download: Sendable {
    /// The settings of a download.
    struct Settings: Sendable {
        var url: URL
        var sender: any HTTPSender
        var policy: TransferPolicy
        var options: DownloadOptions
        var resuming: DownloadResumption?
        var makeRequest: @Sendable (DownloadResumption?) async throws -> Request
        var clock: any Clock<Duration> = ContinuousClock()
        var random: @Sendable () -> Double = { Double.random(in: 0..<1) }
        var calls = FileCalls.system
        var now: @Sendable () -> Date = { Date() }
    }

    let settings: Settings
    let meter: TransferMeter
    let control = TransferControl()
    private let kept: Mutex<DownloadResumption?>
    private let isRunning = Mutex(false)

    /// Creates a download. Nothing is sent before ``file()`` is called.
    ///
    /// - Parameters:
    ///   - request: a GET request without the fields `Range` and `If-Range`.
    ///   - url: the file URL of the finished file, in a folder that exists.
    ///   - sender: the stack or the client that sends the requests.
    ///   - policy: the conditions under which the download continues after a failure.
    ///   - options: the options for writing, and for content that has changed.
    ///   - resuming: the ``resumption`` of an earlier run, which the app has kept. Default: `nil`. The journal usually has the same
    ///     content.
    public convenience init(
        _ request: Request, to url: URL, over sender: some HTTPSender, policy: TransferPolicy = .standard,
        options: DownloadOptions = .standard, resuming: DownloadResumption? = nil
    ) {
        self.init(to: url, over: sender, policy: policy, options: options, resuming: resuming) { _ in request }
    }

    /// Creates a download that calls a closure for each request. Use this initializer if the URL or the credentials of the request expire.
    ///
    /// ```swift
    /// let download = Download(to: target, over: stack) { _ in
    ///     try Request(.get, url: try await signedURL(of: "archive.zip"))
    /// }
    /// ```
    ///
    /// The validator of the content decides whether the bytes on the disk can be continued. The URL may differ each time.
    ///
    /// - Parameters:
    ///   - url: the file URL of the finished file, in a folder that exists.
    ///   - sender: the stack or the client that sends the requests.
    ///   - policy: the conditions under which the download continues after a failure.
    ///   - options: the options for writing, and for content that has changed.
    ///   - resuming: the ``resumption`` of an earlier run, which the app has kept. Default: `nil`.
    ///   - request: returns the request. The argument describes the bytes on the disk; `nil` if the request asks for the whole content.
    public convenience init(
        to url: URL, over sender: some HTTPSender, policy: TransferPolicy = .standard, options: DownloadOptions = .standard,
        resuming: DownloadResumption? = nil, request: @escaping @Sendable (DownloadResumption?) async throws -> Request
    ) {
        self.init(
            Settings(url: url, sender: sender, policy: policy, options: options, resuming: resuming, makeRequest: request))
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

    /// The description of the bytes on the disk at the end of the last request; `nil` if no byte is on the disk, or the file is complete.
    /// Before the first request ends, the description that the initializer got.
    public var resumption: DownloadResumption? { kept.withLock { $0 } }

    /// Stops the current request, and keeps the bytes that have arrived. ``file()`` waits until ``resume()`` is called.
    public func pause() { control.pause() }

    /// Continues a paused download.
    public func resume() { control.resume() }

    func keep(_ record: DownloadResumption?) { kept.withLock { $0 = record.flatMap { $0.bytes > 0 ? $0 : nil } } }

    /// Downloads the file, or resumes the download, and returns the finished file.
    ///
    /// The call sends requests until the file is complete. If the task is cancelled, the bytes that have arrived stay on the disk.
    ///
    /// - Returns: the finished file, with the head of the last response. The status is 206 if the last response continued earlier bytes,
    ///   and 416 if the server had no further bytes.
    /// - Throws: one of these errors:
    ///   - ``TransferError``, ``/ErrandCore/FileWriteError`` and `CancellationError`
    ///   - ``/ErrandCore/TransportError``, ``/ErrandCore/StatusError`` and other errors of the sender, if the policy does not continue
    ///     after the error, or if there were too many failures without progress
    ///   - the errors of the closure that makes the request
    @concurrent public func file() async throws -> DownloadedFile {
        // A second call must not change the states of the first call.
        let isFirst = isRunning.withLock { isRunning in
            defer { isRunning = true }
            return !isRunning
        }
        guard isFirst else { throw TransferError(.busy, "another call of file() downloads the file") }
        defer { isRunning.withLock { $0 = false } }
        meter.enter(.connecting)
        do {
            let path = try FileWriteError.path(of: settings.url)
            let files = try await DownloadFiles.open(
                path, resuming: resumption, replacesJournal: settings.options.unreadableJournal == .startAgain, calls: settings.calls,
                clock: settings.clock)
            let file = try await DownloadRun(self, files, settings.url).perform()
            meter.enter(.complete)
            return file
        } catch {
            let error = Self.named(error, resumption)
            meter.enter(.failed(error))
            throw error
        }
    }

    /// Returns the error of a full disk as a ``TransferError``, and any other error unchanged.
    private static func named(_ error: any Error, _ resumption: DownloadResumption?) -> any Error {
        guard let failure = error as? FileWriteError, isErrorOfFullDisk(failure.code) else { return error }
        return TransferError(.noSpace, "\(failure)", resumption: resumption.map { .download($0) })
    }

    /// Removes the partial file and the journal. Call this function if the download will not be resumed.
    ///
    /// - Throws: ``TransferError`` with the code `busy` while a transfer in any process uses the partial file;
    ///   ``/ErrandCore/FileWriteError``; `CancellationError`.
    @concurrent public func discard() async throws {
        let path = try FileWriteError.path(of: settings.url)
        let files = try await DownloadFiles.open(path, resuming: nil, replacesJournal: true, calls: settings.calls, clock: settings.clock)
        try await files.discard()
        keep(nil)
    }
}
