import ArgumentParser
import Errand
import Foundation
import Testing

@testable import ConformanceCommand

/// The runner of the definitions for caches, with made-up responses, and against the server of the suite. `scripts/cache-tests` runs all
/// definitions.
@Suite(.timeLimit(.minutes(5))) struct CacheTestsTests {
    private func test(_ requests: String, members: String = "") throws -> CacheTest {
        let json = try JSONDecoder().decode(
            JSONValue.self, from: Data(#"{"id": "a", "name": "A test ", \#(members) "requests": \#(requests)}"#.utf8))
        return try #require(CacheTest(json))
    }

    private func response(_ fields: [(String, String)] = [], status: Int = 200, body: String = "u") -> CacheTestResponse {
        var all = HTTPFields()
        for (name, value) in [("Server-Request-Count", "1"), ("Request-Numbers", "1"), ("Server-Base-Url", "/test/u")] + fields {
            guard let name = HTTPField.Name(name) else { continue }
            all[name] = value
        }
        return CacheTestResponse(status: status, fields: all, body: body)
    }

    @Test func eachModeLeavesTestsOut() throws {
        for (member, isPrivate, isShared) in [("cdn_only", false, true), ("browser_skip", false, true), ("browser_only", true, false)] {
            let test = try test("[]", members: #""\#(member)": true,"#)
            #expect(test.isFor(.private) == isPrivate && test.isFor(.shared) == isShared)
        }
        #expect(try test("[{}]").configuration == [["id": "a", "name": "A test "]])
    }

    @Test func aRequestHasTheFieldsOfItsDefinition() throws {
        let test = try test(
            """
            [{"request_method": "M-SEARCH", "request_headers": [["A", " x ,  y "], ["If-Modified-Since", -10]], "magic_ims": true, \
            "rfc850date": ["if-modified-since"], "filename": "f", "query_arg": "q=1", "request_body": "b", "redirect": "manual", \
            "cache": "no-cache"}]
            """)
        let request = try test.requests[0].request(base: "http://s.example", test: test, uuid: "u", serverNow: 1_898_596_810_999)
        #expect(request.url?.description == "http://s.example/test/u/f?q=1" && request.method.rawValue == "M-SEARCH")
        #expect(
            request.headers.map { "\($0.name): \($0.value)" } == [
                "A: x ,  y", "If-Modified-Since: Friday, 01-Mar-30 12:00:00 GMT", "Test-Name: A test", "Test-ID: u", "Req-Num: 1",
            ])
        #expect(request.body.bufferedData == Data("b".utf8))
        #expect(request.options.cache.resolved(.standard) == .revalidate && request.options.redirect.resolved(.standard) == nil)
    }

    /// The definition, the response, and the failure: `+` for a failure of the preparation, empty for none.
    @Test(
        arguments: [
            ("{}", [], 200, "u", ""), ("{}", [("Request-Numbers", "1 2 1")], 200, "u", "+retry"),
            (#"{"expected_type": "cached"}"#, [("Server-Request-Count", "0")], 200, "u", ""),
            (#"{"expected_type": "cached"}"#, [], 200, "u", "not used"),
            (#"{"expected_type": "cached", "setup": true}"#, [], 200, "u", "+not used"),
            (#"{"expected_type": "cached", "setup_tests": ["expected_type"]}"#, [], 200, "u", "+not used"),
            (#"{"expected_type": "not_cached"}"#, [("Server-Request-Count", "0")], 200, "u", "a stored response was used"),
            ("{}", [], 201, "u", "+the status is 201"), ("{}", [], 999, "u", "was not conditional"),
            (#"{"expected_status": null}"#, [], 999, "u", ""), (#"{"expected_status": 304, "check_body": false}"#, [], 304, "", ""),
            (#"{"expected_status": 304}"#, [], 200, "u", "the status is 200"),
            (#"{"response_status": [404, "x"]}"#, [], 200, "u", "+the status"),
            (#"{"expected_response_headers": ["a"]}"#, [], 200, "u", "a is missing"),
            (#"{"expected_response_headers": [["a", "1"]]}"#, [("A", "2")], 200, "u", "a is '2', expected: '1'"),
            (#"{"expected_response_headers": [["a", "=", "b"]]}"#, [("A", "1"), ("B", "1")], 200, "u", ""),
            (#"{"expected_response_headers": [["a", "=", "b"]]}"#, [("A", "1")], 200, "u", "expected: the value of b"),
            (#"{"expected_response_headers": [["a", ">", 1]]}"#, [("A", "1")], 200, "u", "expected: more than 1"),
            (#"{"expected_response_headers": [["a", ">", 1]]}"#, [("A", "2")], 200, "u", ""),
            (
                #"{"expected_response_headers": [["Date", 3600]]}"#,
                [("Date", "Fri, 01 Mar 2030 13:00:00 GMT"), ("Server-Now", "1898596800000")],
                200, "u", ""
            ),
            (
                #"{"expected_response_headers": [["Location", "x"]], "magic_locations": true}"#, [("Location", "/test/u/x")], 200, "u", ""
            ),
            (#"{"expected_response_headers_missing": ["a"]}"#, [("A", "1")], 200, "u", "expected: no such field"),
            (#"{"expected_interim_responses": [[103]]}"#, [], 200, "u", "informational"),
            (#"{"expected_response_text": "x"}"#, [], 200, "u", "the body is 'u'"),
            (#"{"expected_response_text": null}"#, [], 200, "y", ""),
            (#"{"response_body": "x"}"#, [], 200, "u", "+the body is 'u'"), ("{}", [], 200, "y", "+the body is 'y'"),
            (#"{"request_method": "HEAD"}"#, [], 200, "", ""), (#"{"check_body": false}"#, [], 200, "y", ""),
        ] as [(String, [(String, String)], Int, String, String)])
    func aResponseIsChecked(definition: String, fields: [(String, String)], status: Int, body: String, failure: String) throws {
        let test = try test("[\(definition)]")
        try expect(failure) { () throws(CacheTestFailure) in
            try test.requests[0].check(response(fields, status: status, body: body), uuid: "u")
        }
    }

    /// The definition, the request that the server got, and the failure.
    @Test(arguments: [
        (#"{"expected_type": "not_cached"}"#, #"{"request_num": 1}"#, ""),
        (#"{"expected_type": "not_cached"}"#, #"{"request_num": 2}"#, "got request 2"),
        (#"{"expected_type": "etag_validated"}"#, #"{"request_headers": {"if-none-match": "x"}}"#, ""),
        (#"{"expected_type": "etag_validated"}"#, #"{"request_headers": {}}"#, "no If-None-Match"),
        (#"{"expected_type": "lm_validated"}"#, #"{"request_headers": {"if-none-match": "x"}}"#, "no If-Modified-Since"),
        (#"{"expected_request_headers": [["A", "1"]]}"#, #"{"request_headers": {"a": "1"}}"#, ""),
        (#"{"expected_request_headers": [["A", "1"]]}"#, #"{"request_headers": {"a": "2"}}"#, "got A: 2"),
        (#"{"expected_request_headers": ["A"]}"#, #"{"request_headers": {}}"#, "no A"),
        (#"{"expected_request_headers_missing": ["A"]}"#, #"{"request_headers": {"a": "2"}}"#, "got A: 2"),
        (#"{"expected_method": "GET"}"#, #"{"request_method": "HEAD"}"#, "the method HEAD"),
        ("{}", #"{"response_headers": [["Date", "x"], ["X", "1"], ["Y", ["1", "2"]]]}"#, ""),
        ("{}", #"{"response_headers": [["X", "2"]]}"#, "+the server sent X: 2"),
        ("{}", #"{"response_headers": [["Y", ["1", "3"]]]}"#, "+the server sent Y: 1, 3"),
    ]) func theRequestAtTheServerIsChecked(definition: String, entry: String, failure: String) throws {
        let test = try test("[\(definition)]")
        let entry = try JSONDecoder().decode(JSONValue.self, from: Data(entry.utf8))
        try expect(failure) { () throws(CacheTestFailure) in
            try test.requests[0].check(entry, response([("X", "1"), ("Y", "1, 2")]))
        }
    }

    @Test func aRequestThatTheServerMustNotSeeIsLeftOut() throws {
        let run = CacheTestRun(base: "", cached: { $0 })
        let test = try test(#"[{}, {"expected_type": "cached"}, {"expected_type": "not_cached"}]"#)
        func check(_ numbers: Int...) throws(CacheTestFailure) {
            try run.checkRequests(
                of: test, Array(repeating: response(), count: 3), numbers.map { ["request_num": JSONValue($0), "request_headers": [:]] })
        }
        try check(1, 3)
        // The server has seen the second request.
        #expect(throws: CacheTestFailure(isSetup: false, message: "request 3: the server got request 2 instead")) { try check(1, 2, 3) }
    }

    private func expect(_ failure: String, _ check: () throws(CacheTestFailure) -> Void) throws {
        do {
            try check()
            #expect(failure.isEmpty)
        } catch {
            #expect(!failure.isEmpty && error.isSetup == failure.hasPrefix("+"), "\(error)")
            #expect(error.message.contains(failure.drop { $0 == "+" }), "\(error)")
        }
    }

    // MARK: Against the server of the suite

    private static let folder = Suites.folder("cache-tests")

    private func withServer(_ body: (_ base: String, _ folder: URL) async throws -> Void) async throws {
        let folder = try #require(Self.folder)
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", folder.appendingPathComponent("server.py").path, "--port", "0", "--max-seconds", "120"]
        process.standardOutput = output
        try process.run()
        defer {
            // Tests may run with blocked signals, which a child inherits.
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        var line = ""
        while !line.contains("\n"), case let more = output.fileHandleForReading.availableData, !more.isEmpty {
            line += String(decoding: more, as: UTF8.self)
        }
        let url = try #require(line.firstMatch(of: #/http://[0-9.:]+/#))
        try await body(String(url.output), folder)
    }

    private static let few = ["freshness-none", "freshness-max-age", "freshness-max-age-stale", "conditional-etag-strong-generate"]

    @Test(.enabled(if: folder != nil, Suites.missing)) func aFewDefinitionsPassOverEachStore() async throws {
        try await withServer { base, folder in
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString).json")
            defer { try? FileManager.default.removeItem(at: file) }
            #if SQLite
            let stores = ["memory", "disk"]
            #else
            let stores = ["memory"]
            #endif
            for store in stores {
                let words = ["--base", base + "/", "--tests", folder.appendingPathComponent("tests.json").path, "--store", store]
                let command = try CacheTestsCommand.parse(words + ["--output", file.path, "--id"] + Self.few + ["none"])
                try await command.run()
                let results = try JSONDecoder().decode([String: JSONValue].self, from: Data(contentsOf: file))
                #expect(results == Dictionary(uniqueKeysWithValues: Self.few.map { ($0, true) }))
            }
        }
    }

    /// What the server has seen shows that nothing was stored.
    @Test(.enabled(if: folder != nil, Suites.missing)) func withoutACacheOnlyRefusalsPass() async throws {
        try await withServer { base, folder in
            let all = try CacheTest.all(in: Data(contentsOf: folder.appendingPathComponent("tests.json")))
            let (outcomes, _) = try await CacheTestRun(base: base, cached: { $0 }).outcomes(of: all.filter { Self.few.contains($0.id) })
            #expect(outcomes["freshness-none"] == .passed && outcomes["freshness-max-age-stale"] == .passed)
            #expect(outcomes["freshness-max-age"]?.json[0] == "Assertion")
            #expect(outcomes["conditional-etag-strong-generate"]?.json[0] == "Assertion")
        }
    }
}
