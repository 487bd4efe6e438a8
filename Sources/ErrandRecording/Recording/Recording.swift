public import ErrandCore
internal import ErrandRedaction
internal import Synchronization

/// Exchanges in an HTTP archive, a file that browsers' developer tools open: recorded by ``RecordMiddleware``, and answered again by it
/// or by ``ReplayTransport``.
///
/// ```swift
/// let recording = try Recording(path: "Fixtures/users.har", secrets: [apiKey])
/// let client = APIClient(transport.record(on: recording).server("https://api.example"))
/// …
/// try recording.save()     // the first time; from the second on, the file answers and nothing is written
/// ```
///
/// **Secrets.** In the file stand no values of sensitive fields, of query items, of members of JSON, of items of forms, nor of parts of
/// multipart bodies with a sensitive name (``Sensitivity``, and what a request declares). The same values are replaced wherever
/// else they stand in that exchange, if they are 8 bytes or longer. A *registered* secret that is left anywhere makes
/// ``save()`` fail. What is replaced in a body is replaced in the replay: a string by `REDACTED`, a number by `0`.
///
/// **Memory.** Until ``save()``, what was recorded is kept as it came.
public final class Recording: Sendable, CustomStringConvertible {
    /// What is answered from the file, and what is recorded.
    public enum Mode: String, Sendable, Hashable, CaseIterable {
        /// If the file is there, it alone answers; else all is recorded. The default.
        case once
        /// What the file answers is answered from it; the rest is recorded, and added to it.
        case newEpisodes
        /// The file alone answers.
        case none
        /// Nothing is answered from the file, and all is recorded; the file is replaced.
        case all
    }

    /// The file.
    public let path: String
    public let mode: Mode
    public let matcher: RecordingMatcher
    /// True where nothing is recorded, and the network never asked.
    public let isReplayOnly: Bool
    let bodyLimitBytes: Int
    let clock: any Clock<Duration>
    /// Nil where none are registered.
    private let secrets: SecretScrubber?
    private let allowsRepeats: Bool
    private let keepsCodedBodies: Bool
    private let date: @Sendable () -> Date
    private let loaded: HARLog
    /// Of the loaded entries, by what is always sensitive.
    private let keys: [RequestKey]

    private struct State {
        /// How often each loaded entry was played.
        var plays: [Int]
        var exchanges: [RecordedExchange] = []
    }

    private let state: Mutex<State>

    /// Reads the file, if the mode wants it and it is there.
    ///
    /// - Parameters:
    ///   - path: its folder is made when it is written.
    ///   - matching: which recorded exchange answers a request.
    ///   - secrets: texts of 4 bytes or more (of 6 or more, also in base64) that must never be written; see ``save()``.
    ///   - allowsRepeats: whether an exchange may answer more than once. Of several that match, each answers in turn, and then the
    ///     last one again and again.
    ///   - bodyLimitBytes: how much is kept of a body, 16 MiB by default. An exchange with a longer one is in the file, cut, and is not replayed.
    ///   - keepsCodedBodies: whether a body that still is in a content coding is recorded as it came. By default it is not, as no
    ///     secret can be seen in it: record outside of what decodes.
    ///   - clock: what times are measured by, and waited for.
    ///   - date: the time of day.
    /// - Throws: ``InvalidRecordingError`` for a file that is no HTTP archive or can't be read.
    public init(
        path: String, mode: Mode = .once, matching matcher: RecordingMatcher = .standard, secrets: [String] = [],
        allowsRepeats: Bool = false, bodyLimitBytes: Int = 16 * 1024 * 1024, keepsCodedBodies: Bool = false,
        clock: any Clock<Duration> = ContinuousClock(), date: @escaping @Sendable () -> Date = { Date() }
    ) throws {
        precondition(bodyLimitBytes >= 0, "bodyLimitBytes must be at least 0 (is \(bodyLimitBytes))")
        for secret in secrets {
            precondition(secret.utf8.count >= 4, "each of secrets must be at least 4 bytes long (is \(secret.utf8.count))")
        }
        (self.path, self.mode, self.matcher, self.allowsRepeats) = (path, mode, matcher, allowsRepeats)
        (self.bodyLimitBytes, self.keepsCodedBodies, self.clock, self.date) = (bodyLimitBytes, keepsCodedBodies, clock, date)
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
            throw InvalidRecordingError(path: path, reason: "it is no HTTP archive")
        }
    }

    // MARK: What it holds

    /// What is in the file, or will be: without secrets, in order.
    public var log: HARLog {
        let recorded = state.withLock(\.exchanges).compactMap { $0.entry() }
        return HARLog(creator: loaded.entries.isEmpty ? .errand : loaded.creator, entries: loaded.entries + recorded)
    }

    /// The exchanges of the file that have answered no request.
    public var unplayed: [HAREntry] { zip(loaded.entries, state.withLock(\.plays)).filter { $1 == 0 }.map(\.0) }

    /// Whether another program made the file: then bodies stand in it decoded, under the fields that they came with.
    var isForeign: Bool { loaded.creator.name != HARLog.Creator.errand.name }

    public var description: String { "\(URL(filePath: path).lastPathComponent), \(mode)" }

    // MARK: Writing

    /// Writes the file, whole or not at all; waits for nobody.
    ///
    /// An exchange without a head by now is left out. One whose body is still being read is written as far as it came, and marked;
    /// saved again later, it is written whole. Where nothing was recorded, nothing is written; but `all` replaces the file in any case.
    ///
    /// - Throws: ``SecretFoundError`` if a registered secret is left in what was to be written: as it is, percent-encoded, with the escapes of
    ///   JSON, or in base64; what writing a file throws. Then an older file stays as it was.
    public func save() throws {
        guard !isReplayOnly else { return }
        let log = log
        guard mode == .all || log.entries.count > loaded.entries.count else { return }
        try check(log)
        let content = try log.fileContent()
        if let secrets, secrets.finds(in: Array(content)) { throw SecretFoundError(entry: nil, exchange: "", place: "file") }
        let file = URL(filePath: path)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try content.write(to: file, options: .atomic)
    }

    /// Runs `body`, and writes the file after it, also when it throws.
    ///
    /// - Throws: what `body` throws, or else what ``save()`` does.
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

    // MARK: Recording and answering

    /// Begins an exchange; it has its place in the file from now on.
    func begin(_ request: Request) -> RecordedExchange {
        let exchange = RecordedExchange(
            request, limitBytes: bodyLimitBytes, keepsCodedBodies: keepsCodedBodies, started: date(), elapsed: stopwatch(clock))
        state.withLock { $0.exchanges.append(exchange) }
        return exchange
    }

    /// The entry that answers `request`, which counts as played from now on.
    ///
    /// - Parameter bytes: the body, where the matcher wants it; nil where it is too long.
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
            return "\(name), matches, but \(entry.unplayable ?? "was played already")"
        }
        return "\(name), differs in \(differences[index].map(\.text).joined(separator: ", and in "))"
    }
}

extension HAREntry {
    /// Every text that goes into the file, by the name of its place.
    fileprivate var places: [(name: String, bytes: [UInt8])] {
        func fields(_ fields: [HARField], _ name: String) -> [(name: String, bytes: [UInt8])] {
            fields.map { ("\(name) \($0.name.shownSafely())", Array("\($0.value ?? "")".utf8)) }
        }
        return [("request URL", Array(request.url.utf8))] + fields(request.headers, "request field")
            + [("request body", request.postData?.bytes ?? [])] + fields(response.headers, "response field")
            + [("redirect URL", Array(response.redirectURL.utf8)), ("response body", response.content.bytes)]
            + fields(response.trailers ?? [], "trailer field") + [("error", Array((response.error ?? "").utf8))]
    }

    /// Why it can't be replayed; nil where it can.
    fileprivate var unplayable: String? {
        if let incomplete = response.incomplete, incomplete != .unfinished { return incomplete.description }
        if response.incomplete == nil, response.content.text == nil, response.content.size > 0 { return "its body is not in the file" }
        if response.status == 0, response.failure == nil { return "it has no response" }
        return nil
    }
}
