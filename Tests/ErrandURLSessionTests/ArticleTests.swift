#if SWIFT_NIO && MockServer
internal import ErrandCompression
internal import ErrandCore
internal import ErrandFormats
internal import ErrandMiddleware
internal import ErrandNIO
internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import ErrandURLSession

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The tables of the article "The transport over URLSession" have what the code has.
@Suite struct ArticleTests {
    /// Returns the rows of the table whose head begins with a cell: the cells of each row.
    private func table(_ first: String) throws -> [[String]] {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let article = try String(
            contentsOf: root.appendingPathComponent("Sources/Errand/Errand.docc/TheURLSessionTransport.md"), encoding: .utf8)
        let lines = article.split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex { $0.hasPrefix("| \(first)") })
        return lines[(start + 2)...].prefix { $0.hasPrefix("|") }.map { line in
            line.dropFirst().dropLast().split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    // MARK: The differences

    private func yes(_ condition: Bool, _ text: String = "yes", else other: String = "no") -> String { condition ? text : other }

    /// Returns the fields that a request can't set.
    private func reservedFields() throws -> String {
        let names = [
            "Accept-Encoding", "Authorization", "Content-Type", "Cookie", "Host", "Range", "User-Agent", "Connection",
            "Proxy-Authorization",
        ]
        let reserved = try names.filter { name in
            let request = try Request(.get, url: "https://a.example/", headers: [try #require(.init(name)): "x"])
            do {
                _ = try URLRequest(request)
                return false
            } catch { return true }
        }
        return reserved.map { "`\($0)`" }.joined(separator: ", ")
    }

    /// Returns how the fields of a response arrive.
    private func fieldsOfAResponse() throws -> String {
        let url = try #require(URL(string: "https://a.example/"))
        let response = try #require(
            HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: ["X-B": "1", "X-A": "2, 3"]))
        let fields = try #require(HTTPResponse(response)).headerFields
        return fields.map { "\($0.name): \($0.value)" } == ["X-A: 2, 3", "X-B: 1"] ? "by name, joined" : "in their order"
    }

    /// Returns which settings of TLS a session takes.
    private func settingsOfTLS(_ abilities: SessionAbilities) -> String {
        func isTaken(_ change: (inout TLSSettings) -> Void) -> Bool {
            var settings = TLSSettings()
            change(&settings)
            let pem = Data("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".utf8)
            return
                (try? SessionTLS(
                    settings, clientCredential: nil, canEvaluateTrust: abilities.canEvaluateTrust, readFile: { _ in pem })) != nil
        }
        let taken = [
            isTaken { $0.minimumVersion = .tls13 }, isTaken { $0.uncheckedHostsForTesting = .loopback },
            isTaken { $0.extraRootsPEMFiles = ["/a.pem"] },
        ]
        let takesKeys = isTaken { $0.clientCertificate = TLSSettings.ClientCertificate(chainPEMFile: "/a.pem", keyPEMFile: "/a.key") }
        if takesKeys { return "all" }
        return taken.allSatisfy { $0 }
            ? "all settings except PEM files of client certificates" : taken.contains(true) ? "some" : "the initializer throws an error"
    }

    private func differences(of abilities: SessionAbilities, informational: String, timings: String) throws -> [String: String] {
        let capabilities = abilities.capabilities
        return [
            "The transport receives a body only as fast as the app reads the body": yes(capabilities.contains(.streamingDownload)),
            "Deadlines and phase timeouts are enforced by": yes(
                capabilities.isSuperset(of: [.deadlines, .phaseTimeouts]), "the transport", else: "the stack"),
            "Connecting and waiting for the response have separate phase timeouts": yes(capabilities.contains(.phaseEvents)),
            "Timings of DNS, TCP and TLS": timings,
            "Informational responses": informational,
            "Trailer fields": yes(capabilities.contains(.trailers)),
            "Upgrades": yes(capabilities.contains(.upgrades)),
            "Content is decoded by": yes(capabilities.contains(.decodesContent), "`URLSession`", else: "`decompress`"),
            // x-gzip is another name of gzip.
            "Codings that are decoded": abilities.decodedCodings.filter { $0 != "x-gzip" }.joined(separator: ", "),
            "`request.options.networkAccess`": yes(capabilities.contains(.networkAccess), else: "the request fails"),
            "`request.options.waitsForConnectivity`": yes(capabilities.contains(.waitsForConnectivity), else: "the request fails"),
            "`request.options.onServerTrust`": yes(capabilities.contains(.serverTrust), else: "the request fails"),
            "Settings of TLS": settingsOfTLS(abilities),
            "A file or a stream with a known length is sent": yes(
                abilities.declaresStreamLength, "with `Content-Length`", else: "in chunks"),
            "Fields of a response": try fieldsOfAResponse(),
            "Fields that a request can't set": try reservedFields(),
        ]
    }

    @Test func theTableOfDifferencesIsThatOfTheCode() async throws {
        var linux = try differences(of: .linux, informational: "yes", timings: "no")
        // TransportTests has a test of the timings.
        let apple = try differences(of: .apple, informational: "no", timings: "at the end")
        #if canImport(FoundationNetworking)
        let behaviors = NotOverURLSession.behaviors
        linux["Informational responses"] = yes(behaviors["Informational"] == nil)
        #expect(behaviors["TrailerRead"] != nil && SessionAbilities.current.capabilities == SessionAbilities.linux.capabilities)
        #endif
        let capabilities = try await withTransport(NIOTransport()) { $0.capabilities }
        let nio: [String: String] = [
            "The transport receives a body only as fast as the app reads the body": yes(capabilities.contains(.streamingDownload)),
            "Deadlines and phase timeouts are enforced by": yes(
                capabilities.isSuperset(of: [.deadlines, .phaseTimeouts]), "the transport", else: "the stack"),
            "Connecting and waiting for the response have separate phase timeouts": yes(capabilities.contains(.phaseEvents)),
            "Timings of DNS, TCP and TLS": "yes",
            "Informational responses": yes(capabilities.contains(.informationalResponses)),
            "Trailer fields": yes(capabilities.contains(.trailers)), "Upgrades": yes(capabilities.contains(.upgrades)),
            "Content is decoded by": yes(capabilities.contains(.decodesContent), "`URLSession`", else: "`decompress`"),
            "Codings that are decoded": "the codings of `decompress`",
            "`request.options.networkAccess`": yes(capabilities.contains(.networkAccess), else: "the request fails"),
            "`request.options.waitsForConnectivity`": yes(capabilities.contains(.waitsForConnectivity), else: "the request fails"),
            "`request.options.onServerTrust`": yes(capabilities.contains(.serverTrust), else: "the request fails"),
            "Settings of TLS": "`configuration.tls`", "A file or a stream with a known length is sent": "with `Content-Length`",
            "Fields of a response": "in their order", "Fields that a request can't set": "none",
        ]
        let rows = try table("| `NIOTransport` |")
        #expect(Set(rows.map { $0.first ?? "" }) == Set(apple.keys) && rows.count == apple.count)
        for row in rows {
            let name = try #require(row.first)
            #expect(row.dropFirst() == [nio[name] ?? "", apple[name] ?? "", linux[name] ?? ""], "\(name)")
        }
    }

    // MARK: The errors

    /// The failures of `NIOTransport` for faults that this suite does not cause: `ConnectProgressTests` has the device without a network,
    /// and `ProxyTests` and `TransportTLSTests` have the others.
    private static let notCausedHere: [Int: (TransportError.Code, Delivery)] = [
        -1009: (.notConnected, .notSent), -1013: (.proxy, .notSent), -1200: (.tls, .notSent), -1201: (.tls, .notSent),
        -1202: (.tls, .notSent), -1203: (.tls, .notSent), -1204: (.tls, .notSent),
    ]

    /// Returns the failure of a request over `NIOTransport`: the code and the delivery.
    private func failure(at url: String, timeout: Duration = .seconds(30)) async throws -> String {
        try await withTransport(NIOTransport()) { transport in
            let error = await #expect(throws: TransportError.self) {
                _ = try await HTTPStack(transport).timeout(timeout).send(Request(.get, url: url)).body.collect()
            }
            let failure = try #require(error)
            return "\(failure.code), \(failure.delivery.phrase)"
        }
    }

    /// Causes the faults over sockets. Returns the failures over SwiftNIO by the number of the `URLError` for the same fault.
    private func failuresOverNIO() async throws -> [Int: String] {
        let silent = try RawServer { connection in while try !connection.read().isEmpty {} }
        let resetting = try RawServer { connection in
            try connection.readHead()
            connection.resetAtEnd()
        }
        let mail = try RawServer { connection in
            try connection.readHead()
            try connection.write("220 mail.example ESMTP\r\n\r\n")
        }
        defer { for server in [silent, resetting, mail] { server.stop() } }
        var failures = Self.notCausedHere.mapValues { "\($0), \($1.phrase)" }
        failures[-1001] = try await failure(at: silent.url(), timeout: .seconds(1))
        failures[-1003] = try await failure(at: "http://nowhere.invalid/")
        failures[-1006] = failures[-1003]
        failures[-1004] = try await failure(at: "http://127.0.0.1:\(LoopbackPorts.refused())/")
        failures[-1005] = try await failure(at: resetting.url())
        failures[-1011] = try await failure(at: mail.url())
        failures[-1017] = failures[-1011]
        failures[-1015] = try await failureOfADamagedBody()
        failures[-1016] = failures[-1015]
        return failures
    }

    /// Returns the failure of `decompress` for a damaged body: the type and the delivery.
    private func failureOfADamagedBody() async throws -> String {
        let transport = ClosureTransport { request in
            Response(
                head: HTTPResponse(status: .ok, headerFields: [.contentEncoding: "gzip"]), data: Data("not gzip".utf8), request: request)
        }
        let error = await #expect(throws: (any Error).self) {
            _ = try await HTTPStack(transport).decompress().send(Request(.get, url: "https://a.example/")).body.collect()
        }
        let failure = try #require(error as? any RequestFailure)
        return "`\(type(of: failure))`, \(failure.delivery.phrase)"
    }

    /// Returns the methods with which `retry` sends a request again after a failure.
    private func sentAgain(after failure: TransportError) async throws -> String {
        var counts: [Int] = []
        for method in [HTTPRequest.Method.get, .post] {
            let transport = ClosureTransport { request in
                var failure = failure
                failure.request = request
                throw failure
            }
            let stack = HTTPStack(transport).retry(RetryPolicy(maxAttempts: 2, backoff: .constant(.zero), jitter: .none), budget: nil)
            _ = try? await stack.send(Request(method, url: "https://a.example/"))
            counts.append(transport.requestCount)
        }
        return counts == [2, 2] ? "every method" : counts == [2, 1] ? "idempotent methods" : counts == [1, 1] ? "no" : "\(counts)"
    }

    @Test func theTableOfErrorsIsThatOfTheCode() async throws {
        let rows = try table("`URLError.Code` |")
        #expect(rows.count == URLErrorTable.rows.count)
        let overNIO = try await failuresOverNIO()
        #expect(Set(overNIO.keys).isSubset(of: URLErrorTable.rows.map(\.number)))
        for (row, entry) in zip(rows, URLErrorTable.rows) {
            let failure = SessionFailure(
                request: try Request(.get, url: "https://a.example/"),
                exchange: FailedExchange(position: ExchangePosition(.over, .nothing)),
                elapsed: .seconds(1))
            let error = try #require(failure.error(for: .session(SessionError(number: entry.number))) as? TransportError)
            let expected = [
                "`\(entry.name)` (\(entry.number))", "\(error.code)", entry.phase?.description ?? "of the exchange", error.delivery.phrase,
                try await sentAgain(after: error), overNIO[entry.number] ?? "none",
                FailureTexts.englishTexts[error.failureNumber] ?? "",
            ]
            #expect(row == expected)
        }
    }
}
#endif
