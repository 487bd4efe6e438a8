#if MockServer
internal import ErrandAuth
internal import ErrandCompression
internal import ErrandConformance
internal import ErrandCore
internal import ErrandFormats
internal import ErrandMiddleware
internal import ErrandMockServer
internal import ErrandTesting
internal import Foundation
internal import Synchronization
internal import TestSupport
internal import Testing

@testable internal import ErrandURLSession

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

extension URLSessionTransportTests {
    /// What the conformance suite does not ask of a transport.
    @Suite struct URLSessionSocketTests {
        private func withServer<Result>(
            _ stubs: Stub..., using transport: URLSessionTransport = URLSessionTransport(),
            _ body: (URLSessionTransport, String) async throws -> Result
        ) async throws -> Result {
            try await withMockServer(serving: stubs) { server in
                try await withTransport(transport) { try await body($0, server.url("")) }
            }
        }

        /// A stub that returns the fields of the request.
        private static let listing = Stub().responds(
            .custom { request in
                let fields = request.headers.map { "\($0.name.canonicalName): \($0.value)" }.sorted()
                return (HTTPResponse(status: .ok), Data(fields.joined(separator: "\n").utf8))
            })

        private func text(_ response: Response) async throws -> String {
            String(decoding: try await response.body.collect(), as: UTF8.self)
        }

        @Test(arguments: ["Basic realm=\"a\"", "Bearer realm=\"a\"", "Digest realm=\"a\", nonce=\"b\""])
        func aChallengeIsAResponse(challenge: String) async throws {
            let stub = Stub().responds(.status(.unauthorized, headers: [.wwwAuthenticate: challenge], text: "who?"))
            try await withServer(stub) { transport, origin in
                for headers in [[:], [.authorization: "Bearer s3cr3t"]] as [HTTPFields] {
                    let response = try await transport.send(Request(.get, url: origin + "/", headers: headers))
                    #expect(response.status == .unauthorized && response.headers[.wwwAuthenticate] == challenge)
                    #expect(try await text(response) == "who?")
                }
            }
        }

        @Test func aRedirectIsReturnedWithItsBody() async throws {
            let stub = Stub().responds(.status(.found, headers: [.location: "/b"], text: "moved"))
            try await withServer(stub) { transport, origin in
                let response = try await transport.send(Request(.get, url: origin + "/a"))
                #expect(response.status == .found)
                #expect(try await text(response) == "moved")
            }
        }

        private static let addingSecrets = RedirectPolicy.standard.deciding { .follow(RedirectLeaks.addingSecrets(to: $0.next)) }

        /// From A to B, within B, and back to A: see ``RedirectLeaks``.
        @Test(arguments: [false, true]) func secretsReachNoOtherOriginAfterARedirect(isDecided: Bool) async throws {
            try await withMockServer { first in
                try await withMockServer { second in
                    try await withTransport(URLSessionTransport()) { transport in
                        let stack = transport.wrapped(by: RedirectLeaks.OptionSender())
                            .redirect(isDecided ? Self.addingSecrets : .standard)
                        let seen = try await RedirectLeaks.seen(from: first, to: second) { try await stack.send($0) }
                        #expect(seen == RedirectLeaks.allowed(isDecided: isDecided))
                    }
                }
            }
        }

        #if Auth
        /// From A to B, within B, and back to A: see ``RedirectLeaks``.
        @Test(arguments: [false, true]) func aJarSendsEachHostItsOwnCookies(isDecided: Bool) async throws {
            try await withMockServer { first in
                try await withMockServer { second in
                    try await withTransport(URLSessionTransport()) { transport in
                        let jar = CookieJar()
                        try jar.set(try #require(SetCookie("own=0; Path=/")), from: HTTPURL(first.url("/")))
                        let stack = transport.cookies(jar).redirect(isDecided ? Self.addingSecrets : .standard)
                        let seen = try await RedirectLeaks.cookies(from: first, to: second) { try await stack.send($0) }
                        #expect(seen == RedirectLeaks.allowedCookies(isDecided: isDecided))
                    }
                }
            }
        }
        #endif

        @Test func aDecodedResponseKeepsTheEncodedFields() async throws {
            let bytes = Data(base64Encoded: "H4sIAAAAAAACAwvOTczJUShILCopVijJSCxRSE7MU0hKVShKTUyxUggedrIA4vXh2fAAAAA=") ?? Data()
            let stub = Stub().responds(.data(bytes, headers: [.contentEncoding: "gzip"]))
            try await withServer(stub) { transport, origin in
                // `decompress` finds nothing to decode.
                for stack in [HTTPStack(transport), HTTPStack(transport).decompress()] {
                    let response = try await stack.send(Request(.get, url: origin + "/"))
                    #expect(response.headers[.contentEncoding] == nil && response.headers[.contentLength] == nil)
                    #expect(response.metadata.contentCoding == "gzip" && response.metadata.encodedFields[.contentEncoding] == "gzip")
                    #expect(response.metadata.encodedLength == Int64(bytes.count) && response.body.expectedLength == nil)
                    #expect(try await text(response).hasPrefix("Small parts"))
                }
            }
        }

        @Test(arguments: ["identity", "br;q=0.5"]) func theAcceptedCodingsOfARequestAreKept(value: String) async throws {
            try await withServer(Self.listing) { transport, origin in
                let response = try await transport.send(Request(.get, url: origin + "/", headers: [.acceptEncoding: value]))
                #expect(try await text(response).contains("accept-encoding: \(value)"))
            }
        }

        @Test func cookiesAndCredentialsOfAResponseAreNotKept() async throws {
            let stub = Stub(.get, "/set").responds(.status(.ok, headers: [.setCookie: "a=s3cr3t"]))
            try await withServer(stub, Self.listing) { transport, origin in
                try await transport.send(Request(.get, url: origin + "/set")).body.abandon()
                let response = try await transport.send(Request(.get, url: origin + "/"))
                #expect(!(try await text(response)).contains("s3cr3t"))
            }
        }

        @Test func aResponseIsNotCached() async throws {
            let count = Counter()
            let stub = Stub().responds(
                .custom { _ in (HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60"]), Data("\(count.add())".utf8)) })
            try await withServer(stub) { transport, origin in
                for number in 1...2 {
                    let response = try await transport.send(Request(.get, url: origin + "/"))
                    #expect(try await text(response) == "\(number)")
                }
            }
        }

        @Test func aFileIsSentWithProgress() async throws {
            let folder = try TestFolder("upload")
            let bytes = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 % 251) })
            let path = try folder.write(bytes, to: "body")
            let reports = Mutex<[TransferProgress]>([])
            let body = try RequestBody.file(atPath: path).reportingProgress(every: .zero) { report in reports.withLock { $0.append(report) }
            }
            try await withServer(Stub(.put).responds(.echo)) { transport, origin in
                let response = try await transport.send(Request(.put, url: origin + "/", body: body))
                #expect(try await response.body.collect() == bytes)
            }
            let all = reports.withLock(\.self)
            #expect(all.count > 2 && all.last == TransferProgress(bytes: 300_000, total: 300_000))
        }

        @Test func theClosureSeesTheLastRequest() async throws {
            let transport = URLSessionTransport { request in
                request.setValue("Bearer other", forHTTPHeaderField: "Authorization")
                request.setValue("\(Int(request.timeoutInterval))", forHTTPHeaderField: "X-Configured")
            }
            try await withServer(Self.listing, using: transport) { transport, origin in
                let recorder = RecordingEventSink()
                var request = try Request(.get, url: origin + "/")
                request.options.eventSink = recorder
                let fields = try await text(transport.send(request))
                #expect(fields.contains("authorization: Bearer other") && fields.contains("x-configured: 604800"))
                #expect(recorder.kinds.prefix(2) == [.start, .requestChanged])
                #expect(EventGrammar.violations(recorder.events, isCall: false) == [])
            }
        }

        @Test func aClosureThatKeepsTheURLAndTheCredentialsHasNoEvent() async throws {
            let transport = URLSessionTransport { $0.setValue("1", forHTTPHeaderField: "X-Configured") }
            try await withServer(Self.listing, using: transport) { transport, origin in
                let recorder = RecordingEventSink()
                var request = try Request(.get, url: origin + "/")
                request.options.eventSink = recorder
                #expect(try await text(transport.send(request)).contains("x-configured: 1"))
                #expect(!recorder.kinds.contains(.requestChanged))
            }
        }

        @Test func anUpgradeIsRefused() async throws {
            var request = try Request(.get, url: "http://a.example/")
            request.options.upgrade = UpgradeRequest(protocolName: "websocket")
            let sent = request
            let error = await #expect(throws: UnsupportedOptionError.self) { try await URLSessionTransport().send(sent) }
            #expect(error?.missingCapabilities == .upgrades && error?.delivery == .notSent)
        }

        #if canImport(FoundationNetworking)
        /// Options that only a session of Apple's platforms serves.
        static let options: [@Sendable (inout RequestOptions) -> Void] = [
            { $0.networkAccess = .all.subtracting(.cellular) }, { $0.networkAccess = [] }, { $0.waitsForConnectivity = true },
            { $0.onServerTrust = { _ in .systemVerdict } },
        ]

        @Test func anOptionThatTheSessionCannotServeIsRefused() async throws {
            for change in Self.options {
                var request = try Request(.get, url: "http://a.invalid/")
                change(&request.options)
                let sent = request
                let alone = await #expect(throws: UnsupportedOptionError.self) { try await URLSessionTransport().send(sent) }
                let stacked = await #expect(throws: UnsupportedOptionError.self) { try await HTTPStack(URLSessionTransport()).send(sent) }
                #expect(alone?.delivery == .notSent && alone?.option == stacked?.option && alone?.failureNumber == .unsupportedOption)
            }
        }
        #endif

        @Test func aRefusedConnectionWasNotSent() async throws {
            let server = try RawServer { _ in }
            let url = server.url()
            server.stop()
            try await withTransport(URLSessionTransport()) { transport in
                let failure = try await transportError { try await transport.send(Request(.post, url: url, body: .text("tea"))) }
                #expect(failure.code == .cannotConnect && failure.delivery == .notSent && failure.phase == .connect)
            }
        }

        @Test func anUnknownHostWasNotSent() async throws {
            try await withTransport(URLSessionTransport()) { transport in
                let failure = try await transportError { try await transport.send(Request(.post, url: "http://a.invalid/")) }
                #expect(failure.code == .cannotFindHost && failure.delivery == .notSent && failure.phase == .connect)
            }
        }

        @Test func noExchangeIsKeptAfterItsEnd() async throws {
            let sessions = Sessions(.ephemeral, idleTimeout: nil, configure: nil)
            try await withMockServer(serving: [Stub(.post).responds(.echo)]) { server in
                for body in [RequestBody.empty, .text("tea"), .stream(AsyncStream { $0.finish() })] {
                    var request = try Request(.post, url: server.url("/"), body: body)
                    request.deadline = Deadline(after: .seconds(20))
                    _ = try await sessions.send(request).body.collect()
                    #expect(sessions.exchangeCount == 0)
                }
            }
            sessions.shutDown()
        }

        @Test func timingsAreReportedOnApplesPlatformsOnly() async throws {
            try await withServer(Stub().responds(.status(.ok, text: "tea"))) { transport, origin in
                let recorder = RecordingEventSink()
                var request = try Request(.get, url: origin + "/")
                request.options.eventSink = recorder
                #expect(try await text(transport.send(request)) == "tea")
                #if canImport(FoundationNetworking)
                #expect(!recorder.kinds.contains(.timings))
                #else
                #expect(recorder.kinds.contains(.timings))
                #endif
            }
        }

        // MARK: Settings

        @Test func theSettingsOfTheSessionHold() {
            let base = URLSessionConfiguration.default
            base.timeoutIntervalForRequest = 1
            base.httpMaximumConnectionsPerHost = 3
            let settings = Sessions.settings(base, idleTimeout: nil)
            #expect(settings.urlCache == nil && settings.httpCookieStorage == nil && settings.urlCredentialStorage == nil)
            #expect(!settings.httpShouldSetCookies && settings.httpCookieAcceptPolicy == .never)
            #expect(settings.requestCachePolicy == .reloadIgnoringLocalCacheData && settings.httpMaximumConnectionsPerHost == 3)
            #expect(settings.timeoutIntervalForRequest == 604_800 && settings.timeoutIntervalForResource == 604_800)
            #expect(Sessions.settings(base, idleTimeout: .seconds(30)).timeoutIntervalForRequest == 30)
            #expect(Sessions.settings(base, idleTimeout: .seconds(1_000_000)).timeoutIntervalForRequest == 604_800)
        }

        /// On Linux, a session drops the fraction of a second.
        @Test(arguments: [(Duration.nanoseconds(1), 1), (.milliseconds(500), 1), (.milliseconds(1_500), 2), (.seconds(2), 2)])
        func anIdleTimeoutIsNotShortened(timeout: Duration, wholeSeconds: Double) {
            let seconds = Sessions.settings(.ephemeral, idleTimeout: timeout).timeoutIntervalForRequest
            #expect(seconds == (SessionAbilities.current.countsWholeSeconds ? wholeSeconds : timeout / .seconds(1)))
        }

        @Test(arguments: [(0, 0.75), (2, 0.75), (3, 0.5), (4, 0.25), (7, 0.25)] as [(Int, Float)])
        func thePriorityIsThePriorityOfTheTask(urgency: Int, priority: Float) {
            #expect(RequestPriority(urgency: urgency).ofTask == priority)
        }

        @Test func theTransportShowsNothingOfItsSettings() {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpAdditionalHeaders = ["Authorization": "Bearer s3cr3t"]
            let transport = URLSessionTransport(configuration)
            var text = ""
            dump(transport, to: &text)
            #expect(!text.contains("s3cr3t") && transport.description == "URLSessionTransport")
        }

        @Test func theCapabilitiesAreThoseOfThePlatform() {
            let capabilities = URLSessionTransport().capabilities
            #expect(capabilities.contains(.decodesContent) && !capabilities.contains(.deadlines) && !capabilities.contains(.trailers))
            for capability in [TransportCapabilities.streamingDownload, .networkAccess, .waitsForConnectivity, .serverTrust] {
                #expect(capabilities.contains(capability) == SessionAbilities.current.canSuspend)
            }
        }
    }
}
#endif
