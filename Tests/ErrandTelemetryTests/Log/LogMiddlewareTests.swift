import Errand
import ErrandTesting
import Logging
import TestSupport
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct LogMiddlewareTests {
    @Test func requestAndResponseAreOneLineEach() async throws {
        let (logger, lines) = recordingLogger()
        let clock = ManualClock()
        let stack = StubTransport(Stub().responds(.status(.ok))).log(to: logger, style: .oneLine, metadata: .all, clock: clock).number()
            .server("https://a.example")
        _ = try await stack.send(try Request(.get, "/users/\(7, "id")"))
        #expect(lines.all.map(\.text) == ["#1 GET https://a.example/users/7", "#1 GET https://a.example/users/7: 200 in 0 s"])
        #expect(lines.all.map(\.level) == [.info, .info])
        let metadata = try #require(lines.all.last?.metadata)
        #expect(metadata["http.response.status_code"] == "200")
        #expect(metadata["url.template"] == "/users/{id}")
        #expect(metadata["errand.request.number"] == "1")
    }

    @Test func aFailureIsAWarningAndACancellationIsNot() async throws {
        let (logger, lines) = recordingLogger()
        let failure = TransportError(.cannotConnect, phase: .connect, request: try request(), delivery: .notSent)
        let stub = StubTransport(Stub().responds(.failure(failure), .failure(CancellationError())))
        let stack = stub.log(to: logger, style: .oneLine, metadata: .all)
        await #expect(throws: TransportError.self) { try await stack.send(try request()) }
        await #expect(throws: CancellationError.self) { try await stack.send(try request()) }
        #expect(lines.all.map(\.level) == [.info, .warning, .info, .info])
        #expect(lines.all[1].text == "GET https://a.example/x: cannot connect (not sent)")
        #expect(lines.all[3].text.contains("cancelled"))
    }

    @Test func theWarningsOfLayersAreLogged() async throws {
        let (logger, lines) = recordingLogger(level: .warning)
        let stack = StubTransport(Stub().responds(.status(.ok), repeatingLast: true))
            .transformResponse { $0.metadata.warnings.append("the store\nis full") }.log(to: logger)
        _ = try await stack.send(try request())
        #expect(lines.all.map(\.level) == [.warning] && lines.all[0].text == #"the store\u{a}is full"#, "\(lines.everything)")
    }

    @Test func theStatusOfTheCacheIsCurrent() async throws {
        let (logger, lines) = recordingLogger()
        let storage = CacheStorage(beside: nil)
        let status = CacheStatus(.forwarded(.uriMiss), forwardedStatus: .ok, isStored: true)
        let stack = StubTransport(Stub().responds(.stream([Data("a".utf8)])))
            .transformResponse { $0.metadata.watchedCacheStatus = WatchedCacheStatus(status, storage: storage) }
            .log(to: logger, detail: .body(), metadata: .all)
        let response = try await stack.send(try request())
        storage.refuse(.storeSlow)
        _ = try await response.body.collect()
        #expect(lines.all.last?.metadata["errand.cache"] == "fwd=uri-miss; fwd-status=200; detail=store-slow", "\(lines.everything)")
    }

    @Test func noSecretIsLogged() async throws {
        struct Foreign: Error, CustomStringConvertible { let description = "https://user:s3cret@a.example" }
        let (logger, lines) = recordingLogger()
        let declared = try #require(HTTPField.Name("X-Tenant"))
        var request = try Request(
            .get, url: "https://a.example/x?access_token=s3cret&q=1",
            headers: [.authorization: "Bearer s3cret", .cookie: "id=s3cret", declared: "s3cret"])
        request.options.sensitivity = Sensitivity(fields: [declared], queryNames: ["q2"])
        let stub = StubTransport(
            Stub().responds(.status(.ok, headers: [.setCookie: "id=s3cret"], text: "s3cret"), .failure(Foreign()), .status(.notFound)))
        let stack = stub.retry().log(to: logger, level: .trace, style: .oneLine, metadata: .all)
        _ = try await stack.send(request)
        await #expect(throws: Foreign.self) { try await stack.send(request) }
        #expect(lines.all.count == 4)
        #expect(!lines.everything.contains("s3cret"))
        #expect(lines.everything.contains("access_token=REDACTED&q=1"))
    }

    @Test func aLoggerAboveTheInfoLevelStillGetsFailures() async throws {
        let (logger, lines) = recordingLogger(level: .warning)
        let failure = TransportError(.cannotConnect, phase: .connect, request: nil, delivery: .notSent)
        let stack = StubTransport(Stub().responds(.status(.ok), .failure(failure))).log(to: logger, style: .oneLine, metadata: .all)
        _ = try await stack.send(try request())
        await #expect(throws: TransportError.self) { try await stack.send(try request()) }
        #expect(lines.all.map(\.level) == [.warning])
    }

    @Test(arguments: [(Logger.Level.warning, true), (.error, false)])
    func theBodyOfATypedCallIsCopiedOnlyForALogLine(level: Logger.Level, isCopied: Bool) async throws {
        let (logger, lines) = recordingLogger(level: level)
        let stack = StubTransport(Stub().responds(.stream([Data("{".utf8)]))).log(
            to: logger, detail: .body(), style: .oneLine, metadata: .all)
        var request = try request()
        request.options.call.awaitsDecoding = true
        let response = try await stack.send(request)
        // Somebody waits for the end of the call, which may be a failure.
        #expect((response.metadata.callEnd != nil) == isCopied)
        response.discard()
        #expect(lines.all.isEmpty)
    }

    @Test func aRequestReplacesTheLevel() async throws {
        let (logger, lines) = recordingLogger()
        var request = try request()
        request.options.log = .use(.error)
        _ = try await StubTransport(Stub().responds(.status(.ok))).log(to: logger, style: .oneLine, metadata: .all).send(request)
        #expect(lines.all.map(\.level) == [.error, .error])
    }
}
