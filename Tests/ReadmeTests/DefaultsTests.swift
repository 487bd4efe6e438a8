#if Auth && SWIFT_NIO && Telemetry
import Errand
import Foundation
import Testing

@testable import ErrandAPI
@testable import ErrandAuth
@testable import ErrandCache
@testable import ErrandCore
@testable import ErrandFormats
@testable import ErrandMiddleware
@testable import ErrandNIO
@testable import ErrandRecording
@testable import ErrandRedaction
@testable import ErrandTelemetry
@testable import ErrandTesting
@testable import ErrandTransfers

/// The article "Defaults and limits" has each value as the code has it.
@Suite struct DefaultsTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func number(_ number: Int) -> String {
        var (digits, groups) = (Substring("\(number)"), [Substring]())
        while !digits.isEmpty {
            groups.insert(digits.suffix(3), at: 0)
            digits = digits.dropLast(3)
        }
        return groups.joined(separator: ",")
    }

    private static func bytes(_ count: Int) -> String {
        for (unit, size) in [("MiB", 1 << 20), ("KiB", 1 << 10)] where count % size == 0 { return "\(number(count / size)) \(unit)" }
        return "\(number(count)) bytes"
    }

    /// A value that only the declaration of a parameter has.
    private static func stated(_ value: String, in path: String, by declaration: String) throws -> String {
        let text = try String(contentsOf: root.appendingPathComponent("Sources/\(path)"), encoding: .utf8)
        return text.contains(declaration) ? value : "not '\(declaration)'"
    }

    /// The values of the code, by the name of the row.
    private static func values() throws -> [String: String] {
        let configuration = NIOTransport.Configuration()
        var values: [String: String] = [:]
        values["timeout(_:)"] = HTTPStack.default.layers.contains { $0.label.hasPrefix("timeout") } ? "some" : "none"
        values["NIOTransport.Configuration.connectTimeout"] = configuration.connectTimeout.inWords
        values["URLSessionTransport.idleTimeout"] = try stated(
            "none", in: "ErrandURLSession/Transport/URLSessionTransport.swift", by: "= .ephemeral, idleTimeout: Duration? = nil,")
        values["PhaseTimeouts"] = Mirror(reflecting: PhaseTimeouts()).children.contains { $0.value is Duration } ? "some" : "none"
        values["ResiliencePolicy.totalTimeout"] = ResiliencePolicy.standard.totalTimeout.inWords
        values["ResiliencePolicy.attemptTimeout"] = ResiliencePolicy.standard.attemptTimeout.inWords
        values["Response.releaseLimit"] = Response.releaseLimit.inWords
        values["TransferProgress"] = try stated(
            "100 ms", in: "ErrandCore/Bodies/Stages/TransferProgress.swift", by: "every interval: Duration = .milliseconds(100)")
        values["RedirectPolicy.maxHops"] = number(RedirectPolicy.standard.maxHops)
        values["RedirectPolicy.sameRequestLimit"] = number(RedirectPolicy.sameRequestLimit)
        values["RedirectPolicy.allowsDowngrade"] = "\(RedirectPolicy.standard.allowsDowngrade)"
        values["RetryPolicy.maxAttempts"] = number(RetryPolicy.standard.maxAttempts)
        values["RetryPolicy.backoff"] = "\(RetryPolicy.standard.backoff)"
        values["RetryPolicy.maxRetryAfter"] = RetryPolicy.standard.maxRetryAfter.inWords
        values["RetryPolicy.defaultStatuses"] = "\(RetryPolicy.defaultStatuses)"
        values["RetryBudget.reserve"] = RetryBudget().reserve.inWords
        values["RetryBudget.perSuccess"] = RetryBudget().perSuccess.inWords
        values["RetryBudget.perSecond"] = RetryBudget().perSecond.inWords
        values["FallbackMiddleware.deadlineShare"] = try stated(
            "25 %", in: "ErrandMiddleware/Fallback/FallbackMiddleware.swift",
            by: "statuses: StatusRule = [], deadlineShare: Double = 0.25) {")
        values["APIClient.bodyLimitBytes"] = bytes(APIClient(.bare).bodyLimitBytes)
        values["ResponseBody.defaultCollectLimitBytes"] = bytes(ResponseBody.defaultCollectLimitBytes)
        values["StatusError.bodyLimitBytes"] = bytes(StatusError.bodyLimitBytes)
        values["StatusError.debugDescription"] = bytes(StatusError.excerptLimitBytes)
        values["ResponseDecodingError.bodyLimitBytes"] = bytes(ResponseDecodingError.bodyLimitBytes)
        values["JSONDepth.limit"] = number(JSONDepth.limit)
        values["JSONValue.depthLimit"] = number(JSONValue.depthLimit)
        values["FormURLEncoded.memberLimit"] = number(FormURLEncoded.memberLimit)
        values["ResponseBody.lines"] = bytes(LineSplitter.defaultLineLimitBytes)
        values["ResponseBody.defaultJSONTextLimitBytes"] = bytes(ResponseBody.defaultJSONTextLimitBytes)
        values["MultipartReader.defaultMaxParts"] = number(MultipartReader.defaultMaxParts)
        values["MultipartReader.defaultHeadLimitBytes"] = bytes(MultipartReader.defaultHeadLimitBytes)
        values["DecompressionLimits.limitBytes"] = DecompressionLimits.standard.limitBytes.map(bytes) ?? "none"
        values["DecompressionLimits.maxRatio"] = DecompressionLimits.standard.maxRatio.map(number) ?? "none"
        values["DecompressionLimits.maxCodings"] = number(DecompressionLimits.standard.maxCodings)
        values["NIOTransport.Configuration.maxConnectionsPerOrigin"] = number(configuration.maxConnectionsPerOrigin)
        values["NIOTransport.Configuration.maxConnections"] = number(configuration.maxConnections)
        values["NIOTransport.Configuration.idleTimeout"] = configuration.idleTimeout.inWords
        values["NIOTransport.Configuration.maxConnectionAge"] = configuration.maxConnectionAge?.inWords ?? "none"
        values["NIOTransport.Configuration.pingInterval"] = configuration.pingInterval?.inWords ?? "none"
        values["HTTP2Limits.mostStreams"] = number(HTTP2Limits.mostStreams)
        values["HTTP2Limits.streamWindowBytes"] = bytes(HTTP2Limits.streamWindowBytes)
        values["ResponseLimits.headBytes"] = bytes(ResponseLimits().headBytes)
        values["ResponseLimits.fieldCount"] = number(ResponseLimits().fieldCount)
        values["ResponseLimits.interimResponseCount"] = number(ResponseLimits().interimResponseCount)
        values["RequestTarget.limitBytes"] = bytes(RequestTarget.limitBytes)
        values["UserAgentMiddleware.standard"] = UserAgentMiddleware.standard
        values["AcceptLanguage.maxLanguages"] = number(AcceptLanguage.maxLanguages)
        values["ContentDisposition.safeFileNameLimitBytes"] = bytes(ContentDisposition.safeFileNameLimitBytes)
        values["NetworkGate.groupSize"] = number(NetworkGate.groupSize)
        values["NetworkGate.spread"] = NetworkGate.spread.inWords
        values["NetlinkPathMonitor"] = try stated(
            "100 ms", in: "ErrandCore/Platform/NetlinkPathMonitor.swift", by: "ReadSchedule(every: .milliseconds(100))")
        values["AlternativeService.defaultMaxAge"] = AlternativeService.defaultMaxAge.inWords
        values["CachedHostResolver.timeToLive"] = try stated(
            "30 s", in: "ErrandCore/Resolving/CachedHostResolver.swift", by: "for timeToLive: Duration = .seconds(30)")
        values["PollingPolicy.timeout"] = PollingPolicy.standard.timeout?.inWords ?? "none"
        values["PollingPolicy.backoff"] = "\(PollingPolicy.standard.backoff)"
        values["PollingPolicy.maxRetryAfter"] = PollingPolicy.standard.maxRetryAfter.inWords
        values["PollingPolicy.maxFailures"] = number(PollingPolicy.standard.maxFailures)
        values["PaginationPolicy.maxPages"] = number(PaginationPolicy.standard.maxPages)
        values["EventStreamPolicy.maxReconnects"] = EventStreamPolicy.standard.maxReconnects.map(number) ?? "none"
        values["EventStreamPolicy.reconnectionTime"] = EventStreamPolicy.standard.reconnectionTime.inWords
        values["EventStreamPolicy.backoff"] = "\(EventStreamPolicy.standard.backoff)"
        values["EventStreamPolicy.maxRetryAfter"] = EventStreamPolicy.standard.maxRetryAfter.inWords
        values["EventStreamPolicy.silenceTimeout"] = EventStreamPolicy.standard.silenceTimeout?.inWords ?? "none"
        values["EventStreamPolicy.eventLimitBytes"] = bytes(EventStreamPolicy.standard.eventLimitBytes)
        values["AuthenticateMiddleware.roundLimit"] = number(AuthenticateMiddleware.roundLimit)
        values["RefreshPolicy.leadTime"] = RefreshPolicy.standard.leadTime.inWords
        values["RefreshPolicy.limit"] = number(RefreshPolicy.standard.limit)
        values["RefreshPolicy.window"] = RefreshPolicy.standard.window.inWords
        values["HSTSList.limit"] = number(HSTSList.limit)
        let cookies = CookieJar.Limits()
        values["CookieJar.Limits.countPerDomain"] = number(cookies.countPerDomain)
        values["CookieJar.Limits.countPerSite"] = number(cookies.countPerSite)
        values["CookieJar.Limits.totalCount"] = number(cookies.totalCount)
        values["CookieJar.Limits.totalBytes"] = bytes(cookies.totalBytes)
        values["CookieJar.Limits.fieldBytes"] = bytes(cookies.fieldBytes)
        values["CookieFile.limitBytes"] = bytes(CookieFile.limitBytes)
        values["OAuthClient.responseLimitBytes"] = bytes(OAuthClient.responseLimitBytes)
        values["MemoryCacheStore.defaultLimitBytes"] = bytes(MemoryCacheStore.defaultLimitBytes)
        values["MemoryCacheStore.defaultEntryLimit"] = number(MemoryCacheStore.defaultEntryLimit)
        // The module is built only with the trait SQLite.
        let store = "ErrandSQLite/Store/SQLiteCacheStore.swift"
        values["SQLiteCacheStore.defaultLimitBytes"] = try stated(
            "256 MiB", in: store, by: "static let defaultLimitBytes: Int64 = 256 * 1024 * 1024")
        values["SQLiteCacheStore.defaultEntryLimit"] = try stated("10,000", in: store, by: "static let defaultEntryLimit = 10_000")
        values["SQLiteCacheStore.inlineBodyLimitBytes"] = try stated(
            "64 KiB", in: store, by: "static let inlineBodyLimitBytes = 64 * 1024")
        values["CacheLimits.headBytes"] = bytes(CacheLimits.headBytes)
        values["CacheLimits.urlBytes"] = bytes(CacheLimits.urlBytes)
        values["CacheLimits.variants"] = number(CacheLimits.variants)
        values["CacheLimits.validatorBytes"] = bytes(CacheLimits.validatorBytes)
        values["CacheLimits.removals"] = number(CacheLimits.removals)
        values["CacheLimits.warnings"] = number(CacheLimits.warnings)
        values["VaryField.namesLimit"] = number(VaryField.namesLimit)
        values["CachePolicy.Heuristic.fraction"] = CachePolicy.Heuristic.standard.fraction.inPercent
        values["CachePolicy.Heuristic.limit"] = CachePolicy.Heuristic.standard.limit.inWords
        values["CachePolicy.staleIfError"] = CachePolicy.standard.staleIfError?.inWords ?? "none"
        values["CachePolicy.staleIfUnreachable"] = CachePolicy.standard.staleIfUnreachable?.inWords ?? "none"
        values["CacheMiddleware.revalidationLimit"] = CacheMiddleware.revalidationLimit.inWords
        values["CacheRuntime.storeLimit"] = CacheRuntime.storeLimit.inWords
        values["CacheRuntime.pauseAfterFailure"] = CacheRuntime.pauseAfterFailure.inWords
        values["CacheRuntime.longestPause"] = CacheRuntime.longestPause.inWords
        values["CacheTee.waitingLimitBytes"] = bytes(CacheTee.waitingLimitBytes)
        values["CacheTee.beginLimit"] = CacheTee.beginLimit.inWords
        values["CacheTee.delayLimit"] = CacheTee.delayLimit.inWords
        values["CacheWork.defaultLimitBytes"] = bytes(CacheWork.defaultLimitBytes)
        values["TransferPolicy.maxFailures"] = number(TransferPolicy.standard.maxFailures)
        values["TransferPolicy.backoff"] = "\(TransferPolicy.standard.backoff)"
        values["TransferPolicy.maxRetryAfter"] = TransferPolicy.standard.maxRetryAfter.inWords
        values["TransferPolicy.idleTimeout"] = TransferPolicy.standard.idleTimeout.inWords
        values["TransferBudget.progressBytes"] = bytes(Int(TransferBudget.progressBytes))
        values["TransferBudget.maxRestarts"] = number(TransferBudget.maxRestarts)
        values["DownloadFiles.journalSpaceBytes"] = bytes(Int(DownloadFiles.journalSpaceBytes))
        values["DownloadFiles.spareBytes"] = bytes(Int(DownloadFiles.spareBytes))
        values["DownloadJournal.limitBytes"] = bytes(DownloadJournal.limitBytes)
        values["UploadJournal.limitBytes"] = bytes(UploadJournal.limitBytes)
        values["UploadResumption.urlLimitBytes"] = bytes(UploadResumption.urlLimitBytes)
        values["UploadOptions.checkedPartBytes"] = bytes(Int(UploadOptions.checkedPartBytes))
        values["CircuitBreakerPolicy.failureRatio"] = CircuitBreakerPolicy.standard.failureRatio.inPercent
        values["CircuitBreakerPolicy.minimumCalls"] = number(CircuitBreakerPolicy.standard.minimumCalls)
        values["CircuitBreakerPolicy.consecutiveFailures"] = CircuitBreakerPolicy.standard.consecutiveFailures.map(number) ?? "none"
        values["CircuitBreakerPolicy.window"] = CircuitBreakerPolicy.standard.window.inWords
        values["CircuitBreakerPolicy.callTimeoutThreshold"] = CircuitBreakerPolicy.standard.callTimeoutThreshold.inWords
        values["CircuitBreakerPolicy.breakTime"] = CircuitBreakerPolicy.standard.breakTime.inWords
        values["CircuitBreakerPolicy.maxBreakTime"] = CircuitBreakerPolicy.standard.maxBreakTime.inWords
        values["CircuitBreakerPolicy.probeCount"] = number(CircuitBreakerPolicy.standard.probeCount)
        values["HedgePolicy.maxAttempts"] = number(HedgePolicy().maxAttempts)
        values["HedgePolicy.delay"] = "\(HedgePolicy().delay)"
        values["ConcurrencyLimit.adaptive()"] = "\(ConcurrencyLimit.adaptive())"
        values["RateLimitMiddleware.maxServerWait"] = try stated(
            "1 h", in: "ErrandMiddleware/RateLimit/RateLimitMiddleware.swift", by: "maxServerWait: Duration = .seconds(3600)")
        values["CoalesceMiddleware.defaultViewLimitBytes"] = bytes(CoalesceMiddleware.defaultViewLimitBytes)
        values["LogDetail.body()"] = bytes(LogDetail.body().bodyLimitBytes ?? 0)
        values["Instruments.seriesLimit"] = number(Instruments.seriesLimit)
        values["Instruments.outcomeLimit"] = number(Series.outcomeLimit)
        values["Recording.bodyLimitBytes"] = bytes(try Recording(atPath: "/nowhere.har", mode: .all).bodyLimitBytes)
        values["StubTransport.bodyLimitBytes"] = bytes(StubTransport.bodyLimitBytes)
        return values
    }

    /// The rows of the article: the name and the default.
    private static func rows() throws -> [(name: String, value: String)] {
        let article = try String(
            contentsOf: root.appendingPathComponent("Sources/Errand/Errand.docc/DefaultsAndLimits.md"), encoding: .utf8)
        return article.split(separator: "\n").filter { $0.hasPrefix("| `") }.map { line in
            let cells = line.components(separatedBy: " | ")
            return (cells[0].trimmingCharacters(in: CharacterSet(charactersIn: "| `")), cells[1])
        }
    }

    @Test func eachRowMatchesTheCode() throws {
        let (rows, values) = (try Self.rows(), try Self.values())
        for row in rows { #expect(values[row.name] == row.value, "\(row.name)") }
        #expect(Set(rows.map(\.name)) == Set(values.keys) && rows.count == values.count)
        #expect(rows.count >= 60)
    }

    /// The public constants of the sources that are numbers or durations, each with its type.
    private static func publicNumbers() throws -> [String] {
        let sources = root.appendingPathComponent("Sources")
        let paths = try FileManager.default.subpathsOfDirectory(atPath: sources.path).filter { $0.hasSuffix(".swift") }
        return try paths.flatMap { path in
            var (type, found) = ("", [String]())
            for line in try String(contentsOf: sources.appendingPathComponent(path), encoding: .utf8).split(separator: "\n") {
                if let match = line.firstMatch(of: /^[^\/"]*\b(?:struct|class|enum|actor|extension) ([A-Z]\w*)/) { type = String(match.1) }
                let number = /public static let (\w+)(?:: \w+)? = (?:\d|[\w.]*\.(?:milliseconds|seconds|minutes)\()/
                if let match = line.firstMatch(of: number) { found.append("\(type).\(match.1)") }
            }
            return found
        }
    }

    @Test func eachPublicNumberIsInTheArticle() throws {
        let (names, numbers) = (Set(try Self.rows().map(\.name)), try Self.publicNumbers())
        // The settings that have these defaults.
        let settings = [
            "EventStreamParser.defaultEventLimitBytes": "EventStreamPolicy.eventLimitBytes",
            "JSONLineSplitter.defaultLineLimitBytes": "ResponseBody.defaultJSONTextLimitBytes",
            "JSONSequenceSplitter.defaultTextLimitBytes": "ResponseBody.defaultJSONTextLimitBytes",
        ]
        for number in numbers { #expect(names.contains(settings[number] ?? number), "\(number)") }
        #expect(Set(settings.keys).isSubset(of: numbers) && numbers.count >= 13)
    }

    /// A policy has no setting that the article leaves out.
    @Test func eachNumberOfAPolicyIsInTheArticle() throws {
        let names = Set(try Self.rows().map(\.name))
        let policies: [(String, Any)] = [
            ("RetryPolicy", RetryPolicy.standard), ("RedirectPolicy", RedirectPolicy.standard), ("PollingPolicy", PollingPolicy.standard),
            ("PaginationPolicy", PaginationPolicy.standard), ("EventStreamPolicy", EventStreamPolicy.standard),
            ("TransferPolicy", TransferPolicy.standard), ("RefreshPolicy", RefreshPolicy.standard),
            ("CircuitBreakerPolicy", CircuitBreakerPolicy.standard),
            ("ResponseLimits", ResponseLimits()), ("DecompressionLimits", DecompressionLimits.standard),
        ]
        // Shares and free amounts that the text beside another row has.
        let elsewhere: Set = ["RefreshPolicy.jitter", "CircuitBreakerPolicy.slowCallRatio", "DecompressionLimits.ratioThresholdBytes"]
        for (type, policy) in policies {
            for child in Mirror(reflecting: policy).children {
                guard let label = child.label, child.value is Int || child.value is Double || child.value is Duration else { continue }
                let name = "\(type).\(label)"
                #expect(names.contains(name) != elsewhere.contains(name), "\(name)")
            }
        }
    }
}
#endif
