public import ErrandCore
internal import ErrandFormats
internal import ErrandRedaction
internal import Synchronization

/// The exchanges of an HTTP archive, which is a file that browsers' developer tools open. ``RecordMiddleware`` records and replays the
/// exchanges. ``ReplayTransport`` only replays the exchanges.
///
/// ```swift
/// let recording = try Recording(atPath: "Fixtures/users.har", mode: .once, secrets: [apiKey])
/// let client = APIClient(transport.record(on: recording).server("https://api.example"))
/// …
/// try recording.save()     // writes the file the first time; later runs replay it and write nothing
/// ```
///
/// **Secrets.** The file contains no value with a sensitive name. Such a name can belong to a header field, a query item, a JSON member, a
/// form item or a part of a multipart body. The sensitive names are in ``/ErrandCore/Sensitivity``, and a request can declare more names. A
/// value of at least 8 bytes with a sensitive name is also replaced everywhere else in its exchange. Text of an unknown syntax, such as
/// HTML, XML or plain text, is recorded only with `keepsUnknownText: true`. If the content to be written still contains a *registered*
/// secret, ``save()`` fails. A replay returns a body with the replacements: `REDACTED` for a string, `0` for a number.
///
/// **Memory.** The recorded exchanges are kept in memory, with their secrets, until ``save()``.
public final class Recording: Sendable, CustomStringConvertible {
    /// The choice between replaying from the file and recording to the file.
    public enum Mode: String, Sendable, Hashable, CaseIterable {
        /// If the file exists, every request is replayed from the file. If the file does not exist, every exchange is recorded.
        /// For tests.
        case once
        /// A request that matches an exchange of the file is replayed. Any other request is sent, recorded, and added to the
        /// file.
        case newEpisodes
        /// Every request is replayed from the file.
        case none
        /// Every exchange is recorded, and the file is replaced. For exports, you can use `exportHAR(toPath:secrets:_:)` instead.
        case all
    }

    /// The path of the file.
    public let path: String
    /// The mode: which exchanges are replayed, and which are recorded.
    public let mode: Mode
    /// The rules by which a recorded exchange matches a request.
    public let matcher: RecordingMatcher
    /// Whether nothing is recorded, and no request is sent.
    public let isReplayOnly: Bool
    let bodyLimitBytes: Int
    let clock: any Clock<Duration>
    /// The scrubber of the registered secrets; `nil` if no secrets are registered.
    private let secrets: SecretScrubber?
    private let allowsRepeats: Bool
    private let keepsCodedBodies: Bool
    private let keepsUnknownText: Bool
    private let date: @Sendable () -> Date
    private let loaded: HARLog
    /// The keys of the loaded entries, without the values of the standard secret names.
    private let keys: [RequestKey]

    private struct State {
        /// The number of times that each loaded entry was replayed.
        var plays: [Int]
        var exchanges: [RecordedExchange] = []
    }

    private let state: Mutex<State>

    /// Creates a recording. Reads the file if the file exists, unless the mode is ``Mode/all``.
    ///
    /// - Parameters:
    ///   - path: the path of the file. Its folder is created when the file is written.
    ///   - mode: the choice between replaying and recording: ``Mode/once`` for tests, ``Mode/all`` for exports. There is no default.
    ///   - matching: the rules by which a recorded exchange matches a request. Default: method, URL and query.
    ///   - secrets: the texts that must never be written, each at least 4 bytes long. A text of at least 6 bytes is also found in
    ///     base64. An empty text is ignored. See ``save()``.
    ///   - allowsRepeats: whether an exchange may be replayed more than once. Default: `false`. If several exchanges match, the
    ///     exchanges are replayed one after the other. After that, the last exchange is replayed repeatedly.
    ///   - bodyLimitBytes: the maximum number of bytes to keep of each body, at least 0. Default: 16 MiB. An exchange with a longer
    ///     body is written with a truncated body, and can't be replayed.
    ///   - keepsCodedBodies: whether a body in a content coding is recorded as it arrives. False by default, because secrets can't be found
    ///     in an encoded body. To record the decoded body, record outside of the layer that decodes the body.
    ///   - keepsUnknownText: whether a text body of an unknown syntax, such as HTML, XML or plain text, is recorded. Default:
    ///     `false`, because secrets can't be found in the body by name. If the body is not recorded, the exchange is in the file without
    ///     the body, and can't be replayed. If the body is recorded, secrets that are found in the rest of the exchange are replaced in the
    ///     body. Other secrets stay in the body: register these secrets as `secrets`.
    ///   - clock: the clock for recorded times, and for the waits of replays.
    ///   - date: the closure that returns the current date.
    /// - Throws: ``InvalidRecordingError`` if the file isn't an HTTP archive or can't be read, or if one of `secrets` has fewer than 4
    ///   bytes.
    public init(
        atPath path: String, mode: Mode, matching matcher: RecordingMatcher = .standard, secrets: [String] = [],
        allowsRepeats: Bool = false, bodyLimitBytes: Int = 16 * 1024 * 1024, keepsCodedBodies: Bool = false,
        keepsUnknownText: Bool = false, clock: any Clock<Duration> = ContinuousClock(), date: @escaping @Sendable () -> Date = { Date() }
    ) throws {
        precondition(bodyLimitBytes >= 0, "bodyLimitBytes must be at least 0 (is \(bodyLimitBytes))")
        // Secrets often come from environment variables, which may be short. A secret of fewer than 4 bytes would be found in almost every
        // text by chance.
        let secrets = secrets.filter { !$0.isEmpty }
        if let short = secrets.first(where: { $0.utf8.count < 4 }) {
            let reason = "each of secrets must be at least 4 bytes long (one has \(short.utf8.count))"
            throw InvalidRecordingError(path: path, reason: reason)
        }
        self.path = path
        self.mode = mode
        self.matcher = matcher
        self.allowsRepeats = allowsRepeats
        (self.bodyLimitBytes, self.clock, self.date) = (bodyLimitBytes, clock, date)
        (self.keepsCodedBodies, self.keepsUnknownText) = (keepsCodedBodies, keepsUnknownText)
        self.secrets = secrets.isEmpty ? nil : SecretScrubber(secrets)
        let isThere = mode != .all && FileManager.default.fileExists(atPath: path)
        isReplayOnly = mode == .none || (mode == .once && isThere)
        loaded = isThere ? try Self.load(path) : HARLog()
        keys = loaded.entries.map { RequestKey($0.request, matcher: matcher, sensitivity: .standard) }
        state = Mutex(State(plays: loaded.entries.map { _ in 0 }))
    }

    private static func load(_ path: String) throws -> HARLog {
        let content: Data
        do {
            content = try Data(contentsOf: URL(filePath: path))
        } catch {
            throw InvalidRecordingError(path: path, reason: "it can't be read")
        }
        do {
            return try HARLog(fileContent: content)
        } catch DecodingError.keyNotFound(let key, let context) {
            let place = (context.codingPath + [key]).map(\.stringValue).joined(separator: ".")
            throw InvalidRecordingError(path: path, reason: "it has no '\(place.shownSafely())'")
        } catch {
            throw InvalidRecordingError(path: path, reason: "it is not an HTTP archive")
        }
    }

    // MARK: Content

    /// The exchanges that are in the file or will be written to the file, in order, without secrets.
    public var log: HARLog {
        let recorded = state.withLock(\.exchanges).compactMap { $0.entry() }
        return HARLog(creator: loaded.entries.isEmpty ? .errand : loaded.creator, entries: loaded.entries + recorded)
    }

    /// The exchanges of the file that were not replayed.
    public var unplayed: [HAREntry] { zip(loaded.entries, state.withLock(\.plays)).filter { $1 == 0 }.map(\.0) }

    /// Whether another program created the file. Files of other programs have decoded bodies, although the fields describe the encoded
    /// bodies.
    var isForeign: Bool { !loaded.creator.name.isExactly(HARLog.Creator.errand.name) }

    /// The name of the file and the mode.
    public var description: String { "\(URL(filePath: path).lastPathComponent), \(mode)" }

    // MARK: Writing

    /// Writes the file atomically. Does not wait for exchanges in progress.
    ///
    /// An exchange without a head is not written. If the body of an exchange is still being read, the bytes read so far are written and
    /// marked as incomplete. A later call of this function writes the whole body, if the body has ended. If nothing was recorded, only the
    /// mode `all` writes the file. A new file is readable only by its owner. A file that is replaced keeps its permissions.
    ///
    /// - Throws: ``SecretFoundError`` if the content to be written contains a registered secret: unchanged, percent-encoded, with the
    ///   escapes of JSON, or in base64. `FileWriteError` if the file can't be written, for example because the path leads to a device or a
    ///   pipe. If the function throws, an existing file stays unchanged.
    public func save() throws {
        guard !isReplayOnly else { return }
        let log = log
        guard mode == .all || log.entries.count > loaded.entries.count else { return }
        try check(log)
        let content = try log.fileContent()
        if let secrets, secrets.finds(in: Array(content)) { throw SecretFoundError(entry: nil, exchange: "", place: "file") }
        let file = try prepareFile()
        // Only the permissions of a regular file are kept. The permissions of a symbolic link have no meaning.
        let attributes = try? FileManager.default.attributesOfItem(atPath: file)
        let isRegular = attributes?[.type] as? FileAttributeType == .typeRegular
        let permissions = isRegular ? attributes?[.posixPermissions] as? Int : nil
        let options = permissions.map { FileWriteOptions(permissions: UInt16($0 & 0o777)) } ?? .standard
        let output = try OutputFile(path: file, options: options)
        try output.append(content)
        try output.commit()
    }

    /// Checks whether a file can be written at the path, and creates its folder.
    ///
    /// - Returns: the path of the file to write. A symbolic link is kept, and its target is written, even if the target does not exist yet.
    /// - Throws: `FileWriteError`.
    @discardableResult func prepareFile() throws(FileWriteError) -> String {
        try OutputFile.check(path)
        let file = OutputFile.target(of: path)
        let folder = OutputFile.folder(of: file)
        do {
            if !folder.isEmpty { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }
        } catch {
            throw FileWriteError.missingFolder(of: path)
        }
        return file
    }

    /// Calls `body`, and then writes the file, even if `body` throws.
    ///
    /// - Throws: the errors of `body`. If `body` succeeds: the errors of ``save()``.
    public func saving<Result>(_ body: () async throws -> Result) async throws -> Result {
        let result: Result
        do {
            result = try await body()
        } catch {
            try? save()
            throw error
        }
        try save()
        return result
    }

    private func check(_ log: HARLog) throws(SecretFoundError) {
        guard let secrets else { return }
        for (index, entry) in log.entries.enumerated() {
            guard let place = entry.places.first(where: { secrets.finds(in: $0.bytes) }) else { continue }
            let exchange = secrets.scrubbed("\(entry.request.method) \(entry.request.url)".shownSafely())
            throw SecretFoundError(entry: index + 1, exchange: exchange, place: place.name)
        }
    }

    // MARK: Recording and replaying

    /// Begins an exchange. The file lists exchanges in the order in which they began.
    func begin(_ request: Request) -> RecordedExchange {
        let exchange = RecordedExchange(
            request, limitBytes: bodyLimitBytes, keepsCodedBodies: keepsCodedBodies, keepsUnknownText: keepsUnknownText, started: date(),
            elapsed: makeStopwatch(on: clock))
        state.withLock { $0.exchanges.append(exchange) }
        return exchange
    }

    /// Returns the entry that matches `request`, and counts this entry as replayed.
    ///
    /// - Parameter bytes: the body, if the matcher compares bodies; `nil` if the body is too long.
    /// - Throws: ``NoRecordedExchangeError``.
    func take(for request: Request, body bytes: Data?) throws(NoRecordedExchangeError) -> HAREntry {
        let sensitivity = request.options.sensitivity
        var asked = HARRequest(request.headWithFallbacks, version: "unknown")
        if let bytes, !bytes.isEmpty {
            asked.postData = HARPostData(mimeType: asked.headers[.contentType] ?? "")
            asked.postData?.bytes = Array(bytes)
        }
        let key = RequestKey(
            asked, matcher: matcher, sensitivity: request.wholeSensitivity, isBodyKnown: matcher.body == .ignored || bytes != nil)
        let keys =
            sensitivity == .standard
            ? self.keys : loaded.entries.map { RequestKey($0.request, matcher: matcher, sensitivity: sensitivity) }
        let differences = keys.map { $0.differences(from: key, by: matcher) }
        let candidates = differences.indices.filter { differences[$0].isEmpty && loaded.entries[$0].unplayable == nil }
        let taken = state.withLock { state -> Int? in
            let index = candidates.first { state.plays[$0] == 0 } ?? (allowsRepeats ? candidates.last : nil)
            if let index { state.plays[index] += 1 }
            return index
        }
        if let taken { return loaded.entries[taken] }
        throw NoRecordedExchangeError(request, path: path, nearest: nearest(differences))
    }

    private func nearest(_ differences: [[RequestKey.Difference]]) -> String? {
        let weights = differences.map { $0.reduce(0) { $0 + $1.weight } }
        guard let index = weights.indices.min(by: { weights[$0] < weights[$1] }) else { return nil }
        let entry = loaded.entries[index]
        let name = "entry \(index + 1) (\(entry.request.method) \(Sensitivity.standard.redactedURL(entry.request.url)))".shownSafely()
        if differences[index].isEmpty {
            return "\(name), matches, but \(entry.unplayable ?? "was already replayed")"
        }
        return "\(name), differs in \(differences[index].map(\.text).joined(separator: ", and in "))"
    }
}

extension HAREntry {
    /// All texts that are written to the file, with the names of their places.
    fileprivate var places: [(name: String, bytes: [UInt8])] {
        func fields(_ fields: [HARField], _ name: String) -> [(name: String, bytes: [UInt8])] {
            fields.map { ("\(name) \($0.name.shownSafely())", Array("\($0.value ?? "")".utf8)) }
        }
        return [("request URL", Array(request.url.utf8))] + fields(request.headers, "request field")
            + [("request body", request.postData?.bytes ?? [])] + fields(response.headers, "response field")
            + [("redirect URL", Array(response.redirectURL.utf8)), ("response body", response.content.bytes)]
            + fields(response.trailers ?? [], "trailer field") + [("error", Array((response.error ?? "").utf8))]
    }

    /// The reason why the entry can't be replayed; `nil` if it can be replayed.
    fileprivate var unplayable: String? {
        if let incomplete = response.incomplete, incomplete != .unfinished { return incomplete.description }
        if response.incomplete == nil, response.content.text == nil, response.content.size > 0 { return "its body is not in the file" }
        if response.status == 0, response.failure == nil { return "it has no response" }
        return nil
    }
}
