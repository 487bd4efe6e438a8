import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import ErrandCore
@testable import ErrandMiddleware

/// Every option of every module has an ``OptionRow``, and the properties of each key are correct.
@Suite(.timeLimit(.minutes(5))) struct OptionTableTests {
    private static let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Sources")

    // MARK: None is forgotten

    /// The types in Sources that conform to `OptionKey`, or to a protocol that refines it.
    private static func declaredKeys() throws -> [String] {
        let declaration = try Regex(
            #"^[ \t]*(?:[a-z@]+[ \t]+)*(?:enum|struct|class|actor|extension)[ \t]+(\w+)[^{\n]*:[^{\n]*\b(?:CrossOrigin|Switch)?OptionKey\b"#
        )
        .anchorsMatchLineEndings()
        var keys: [String] = []
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        for case let file as URL in files where file.pathExtension == "swift" {
            #if !Telemetry
            if file.path().contains("/ErrandTelemetry/") { continue }
            #endif
            let text = try String(contentsOf: file, encoding: .utf8)
            keys += text.matches(of: declaration).compactMap { $0.output[1].substring.map(String.init) }
        }
        return keys
    }

    @Test func everyKeyInSourcesIsInTheTable() throws {
        // The key `MarkKey` of the conformance suite represents an option of another library.
        let declared = try Self.declaredKeys().filter { $0 != "MarkKey" }
        #expect(declared.count > 30 && Set(declared).count == declared.count, "each key has a name of its own")
        #expect(Set(declared) == Set(OptionRow.all.map(\.key)), "an option of Sources needs a row in OptionTable.swift")
    }

    // MARK: Each says of itself what is true

    private static func plain(_ capabilities: TransportCapabilities = []) -> ClosureTransport {
        ClosureTransport(capabilities: capabilities) { Response(head: HTTPResponse(status: .ok), request: $0) }
    }

    @Test(arguments: OptionRow.all) func eachOptionDeclaresItsIdentity(_ row: OptionRow) throws {
        let (one, other) = (try row.request().options, try row.request().options)
        #expect(one.keys.map { String(describing: $0) } == [row.key])
        switch row.identity {
        case .ignored: #expect(one.identity == RequestOptions().identity)
        case .unique: #expect(one.identity == nil)
        case .value: #expect(one.identity != nil && one.identity != RequestOptions().identity && one.identity == other.identity)
        }
    }

    @Test(arguments: OptionRow.all) func eachOptionDeclaresItsReach(_ row: OptionRow) throws {
        var options = try row.request().options
        options.removeOriginBoundOptions()
        #expect(options.keys.isEmpty == !row.crossesOrigins)
    }

    /// Options that do not have the name of their middleware.
    private let names = [
        "IdempotencyKeyOption": "idempotencyKey",
        "LogDetailOptionKey": "logDetail",
        "OnChallengeKey": "onChallenge",
        "ValidatorsKey": "validators",
    ]

    @Test(arguments: OptionRow.all) func eachOptionDeclaresItsMiddleware(_ row: OptionRow) async throws {
        let request = try row.request()
        if !row.requiredCapabilities.isEmpty {
            let error = await #expect(throws: UnsupportedOptionError.self) { try await HTTPStack(Self.plain()).send(request) }
            #expect(error?.missingCapabilities == row.requiredCapabilities)
        }
        guard let place = row.requiredMiddleware else {
            _ = try await HTTPStack(Self.plain(row.requiredCapabilities)).send(request)
            return
        }
        let error = await #expect(throws: UnsupportedOptionError.self) { try await HTTPStack(Self.plain()).send(request) }
        #expect(error?.missingMiddleware == place && error?.option == names[row.key] ?? place.description)
        _ = try await Self.plain().wrapped(by: PlacedMiddleware("pass", at: place)).send(request)
    }

    // MARK: Options in the key

    /// Records the requests on the wire, and redirects `/x`.
    private struct RecordingRedirectTransport: HTTPTransport {
        let passage: RecordingList<String>
        var alsoNotes: @Sendable () -> String = { "" }

        var capabilities: TransportCapabilities { [] }

        func send(_ request: Request) async throws -> Response {
            let fields = request.head.headerFields.map { "\($0.name): \($0.value)" }.sorted()
            let limits: [Duration?] = if case .use(let limits) = request.options.phaseTimeouts { limits.durations } else { [] }
            let body = request.body.bufferedData?.count ?? -1
            passage.record(
                "\(request.method) \(request.head.path ?? "") \(fields) \(body) deadline \(request.deadline != nil) \(limits) \(alsoNotes())"
            )
            if request.head.path == "/x" {
                return Response(head: HTTPResponse(status: .found, headerFields: [.location: "/y"]), request: request)
            }
            return Response(head: HTTPResponse(status: .ok), request: request)
        }

        func shutdown() async throws {}
    }

    /// Returns the exchanges of a request in the layers inside `coalesce`, with the waits and the response.
    private static func exchanges(of request: Request) async throws -> [String] {
        let passage = RecordingList<String>()
        func clock(waits: Bool) -> CallbackClock { CallbackClock(waits: waits) { passage.record("slept \($0)") } }
        var request = request
        request.options.call.hasEntered = true
        func send(_ stack: HTTPStack) async {
            do {
                passage.record("\(try await stack.send(request).status.code)")
            } catch {
                passage.record("\(type(of: error))")
            }
        }
        let wire = RecordingRedirectTransport(passage: passage)
        #if Telemetry
        let stack = HTTPStack(wire).trace(tracer: RecordingTracer())
        #else
        let stack = HTTPStack(wire)
        #endif
        await send(
            stack.redirect().delay(by: .seconds(1), clock: clock(waits: false))
                .transformRequest { $0.head.headerFields[.acceptLanguage] = $0.options[HidingKey.self] ?? "de" })
        await send(HTTPStack(wire).hedge(.standard, clock: clock(waits: true)))

        let breaker = CircuitBreaker()
        breaker.isolate("https://a.example")
        await send(HTTPStack(wire).circuitBreaker(breaker))

        let rate = RateLimitMiddleware(.perSecond(1, burst: 1), maxWait: .zero, clock: ManualClock())
        _ = try await HTTPStack(Self.plain()).wrapped(by: rate).send(Request(.get, url: "https://a.example/x"))
        await send(HTTPStack(wire).wrapped(by: rate))

        let limit = ConcurrencyLimitMiddleware(.fixed(1))
        await send(
            HTTPStack(RecordingRedirectTransport(passage: passage) { "\(limit.state(of: "https://a.example").inFlight) in progress" })
                .wrapped(
                    by: limit))

        let recording = try Recording(atPath: "/nowhere", mode: .all)
        await send(HTTPStack(wire).record(on: recording))
        passage.record("\(recording.log.entries.count) recorded")
        return passage.all
    }

    /// Whether coalescing keeps the request apart from `plain` if it makes other exchanges.
    private static func isToldApart(_ request: Request, from plain: Request) async throws -> Bool {
        if try await exchanges(of: request) == exchanges(of: plain) { return true }
        let plainKey: CoalesceKey = try #require(key(plain))
        return key(request) != plainKey
    }

    private static func key(_ request: Request) -> CoalesceKey? { CoalesceKey(request, by: .all, own: nil) }

    @Test(arguments: OptionRow.all.filter { !$0.isComparedByItself })
    func optionsThatChangeTheExchangeAreInTheKey(_ row: OptionRow) async throws {
        #expect(try await Self.isToldApart(row.request(), from: Request(.get, url: "https://a.example/x")))
    }

    /// The layers of this test notice what the middleware of the library does.
    @Test(arguments: [
        "AttemptTimeoutKey", "PhaseTimeoutsKey", "CircuitBreakerKey", "ConcurrencyLimitKey", "DelayOptionKey", "HedgeOptionKey",
        "RateLimitKey", "RedirectOptionKey", "TransformOptionKey", "RecordingOptionKey",
    ])
    func layersOfTheTableSeeTheirOption(_ key: String) async throws {
        let plain = try await Self.exchanges(of: Request(.get, url: "https://a.example/x"))
        var differs = false
        for row in OptionRow.all where row.key == key {
            if try await Self.exchanges(of: row.request()) != plain { differs = true }
        }
        #expect(differs)
    }

    /// They are no key, and compared as fields.
    @Test func fallbackFieldsAreInTheKey() async throws {
        let plain = try Request(.get, url: "https://a.example/x")
        var request = plain
        request.options.fallbackHeaders = [.accept: "a/b"]
        #expect(try await Self.exchanges(of: request) != Self.exchanges(of: plain))
        #expect(try await Self.isToldApart(request, from: plain))
    }

    /// Says that it changes nothing, and does.
    private enum HidingKey: OptionKey {
        static var defaultValue: String? { nil }
        static func identity(of value: String?) -> OptionIdentity { .ignored }
    }

    @Test func aChangeHiddenFromTheKeyIsFound() async throws {
        let plain = try Request(.get, url: "https://a.example/x")
        var hiding = plain
        hiding.options[HidingKey.self] = "fr"
        #expect(try await !Self.isToldApart(hiding, from: plain))
    }
}
