#if MockServer
import Errand
import ErrandMockServer
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

/// Requests as `curl` commands. A shell runs the commands against a server, and the server must receive the same request.
@Suite(.timeLimit(.minutes(5)), .enabled(if: Programs.find("curl") != nil, "there is no curl on this machine")) struct CURLTests {
    static let shells = ["sh", "dash", "bash"].compactMap(Programs.find)

    @Test(arguments: shells) func twoHundredRequestsArriveUnchanged(_ shell: String) async throws {
        try await withMockServer { server in
            server.dispatch { _ in .status(.noContent) }
            var generator = RequestGenerator(authority: "127.0.0.1:\(server.port)", seed: 20)
            let requests = (0..<200).map { generator.next($0) }
            try await run(requests.enumerated().map { try $1.curl(pretty: $0 % 2 == 1, showingSecrets: true) }, by: shell)
            try expectArrival(of: requests, at: server)
        }
    }

    @Test func placeholdersArriveInPlaceOfSecrets() async throws {
        try await withMockServer { server in
            server.dispatch { _ in .status(.noContent) }
            var generator = RequestGenerator(authority: "127.0.0.1:\(server.port)", seed: 21)
            let requests = (0..<40).map { generator.next($0).planted($0) }
            let texts = try requests.enumerated().map { try $1.curl(pretty: $0 % 2 == 1) }
            for text in texts {
                let leaks = text.contains("s3cr3t")
                #expect(!leaks, "\(text)")
            }
            try await run(texts, by: "/bin/sh")
            #expect(server.requests.count == requests.count)
            for request in server.requests {
                let index = try #require(request.headers[.xCase].flatMap { Int($0) })
                #expect(request.method == requests[index].method)
                #expect(request.headers[.authorization] == "<redacted>" && request.headers[.cookie] == "<redacted>")
                #expect(request.head.path?.hasSuffix("access_token=REDACTED&z=1") == true)
                #expect(request.body == requests[index].redactedBody)
            }
        }
    }

    @Test func secretsArriveOnDemand() async throws {
        try await withMockServer { server in
            server.dispatch { _ in .status(.noContent) }
            var generator = RequestGenerator(authority: "127.0.0.1:\(server.port)", seed: 22)
            let requests = (0..<40).map { generator.next($0).planted($0) }
            try await run(requests.map { try $0.curl(showingSecrets: true) }, by: "/bin/sh")
            try expectArrival(of: requests, at: server)
        }
    }

    @Test func longBodiesFilesAndNamedFilesArrive() async throws {
        let folder = try TestFolder("curl")
        let bytes = Data.seeded(300_000, seed: 5)
        let path = try folder.write(bytes, to: "it's $(a) file")
        try folder.write("at hand", to: "body.bin")
        try await withMockServer { server in
            server.dispatch { _ in .status(.noContent) }
            let bodies: [(RequestBody, Data)] = [
                (.data(bytes), bytes), (.text(String(repeating: "é'", count: 40_000)), Data(String(repeating: "é'", count: 40_000).utf8)),
                (try .file(atPath: path), bytes), (try .file(atPath: path, range: 7..<200_000), bytes[7..<200_000]),
                (.stream(AsyncStream<Data> { $0.finish() }), Data("at hand".utf8)),
            ]
            let requests = try bodies.indices.map { index in
                try Request(.post, url: server.url("/\(index)"), headers: [.xCase: "\(index)"], body: bodies[index].0)
            }
            try await run(requests.map { try $0.curl(showingSecrets: true, bodyLimitBytes: 400_000) }, by: "/bin/sh", in: folder)
            #expect(server.requests.count == bodies.count)
            for request in server.requests {
                let index = try #require(request.headers[.xCase].flatMap { Int($0) })
                let isSame = request.body == Data(bodies[index].1)
                #expect(isSame, "body \(index), \(request.body.count) bytes")
            }
        }
    }

    @Test func aMissingBodyFileSendsNothing() async throws {
        let folder = try TestFolder("curl")
        try await withMockServer { server in
            let request = try Request(.post, url: server.url(), body: .data(Data(count: 10)))
            let text = try request.curl(bodyLimitBytes: 9)
            await #expect(throws: ProgramFailure.self) { try await run([text], by: "/bin/sh", in: folder) }
            #expect(server.requests.isEmpty)
        }
    }

    // MARK: -

    /// Runs each text as a script, four at a time. The environment's proxies and a user's settings stay out of it.
    private func run(_ texts: [String], by shell: String, in folder: TestFolder? = nil) async throws {
        let folder = try folder ?? TestFolder("curl")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, text) in texts.enumerated() {
                if index >= 4 { try await group.next() }
                group.addTask {
                    let script = """
                        unset http_proxy HTTP_PROXY all_proxy ALL_PROXY
                        curl() { command curl -q -sS --max-time 20 "$@"; }
                        \(text)
                        """
                    if script.utf8.count < 100_000 {
                        try await Programs.run(shell, ["-c", script], in: folder.path)
                    } else {
                        try await Programs.run(shell, [folder.write(script, to: "\(index).sh")], in: folder.path)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private func expectArrival(of requests: [Request], at server: MockServer) throws {
        let arrived = server.requests
        #expect(arrived.count == requests.count)
        for seen in arrived {
            let index = try #require(seen.headers[.xCase].flatMap { Int($0) })
            let request = requests[index]
            #expect(seen.failure == nil)
            #expect(seen.method == request.method)
            #expect(seen.head.path == request.head.path)
            var fields = seen.headers
            for name in [HTTPField.Name.contentLength, .host] { fields[name] = nil }
            #expect(fields.byName == request.head.headerFields.byName, "request \(index)")
            let isSame = seen.body == request.body.bufferedData
            #expect(isSame, "body of request \(index)")
        }
    }
}

extension HTTPField.Name {
    fileprivate static let host = HTTPField.Name("Host") ?? .origin
    fileprivate static let xCase = HTTPField.Name("X-Case") ?? .origin
}

extension HTTPFields {
    fileprivate var byName: [String: [String]] { reduce(into: [:]) { $0[$1.name.canonicalName, default: []].append($1.value) } }
}

/// Requests of all kinds, the same for the same seed.
private struct RequestGenerator {
    let authority: String
    private var random: SeededGenerator

    init(authority: String, seed: UInt64) {
        self.authority = authority
        random = SeededGenerator(seed: seed)
    }

    private static let methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "PROPFIND", "SEARCH", "REPORT"]
        .compactMap { HTTPRequest.Method($0) }
    private static let pathCharacters = Array("abcXYZ019-._~!$&'()*+,;=:@%41%2F[]{}|\\^`\"<>".unicodeScalars)
    private static let valueCharacters = Array("abc XYZ019'\"\\$`!#%&()*+,-./:;<=>?@[]^_{|}~\t\u{E9}\u{1F388}".unicodeScalars)
    private static let textCharacters = valueCharacters + Array("\n\r\u{301}\u{202E}\u{7F}\u{1B}".unicodeScalars)

    mutating func next(_ index: Int) -> Request {
        let method = Self.methods[index % Self.methods.count]
        var target = "/" + (0..<Int.random(in: 0...4, using: &random)).map { _ in segment() }.joined(separator: "/")
        if Bool.random(using: &random) { target += ["/", "/./../.", "//", "/%2e%2E/%c3%A4"].randomElement(using: &random) ?? "" }
        if Bool.random(using: &random) { target += "?" + text(Self.pathCharacters, upTo: 30) }
        if method == .options, index % 20 == 5 { target = "*" }
        var fields: HTTPFields = [.xCase: "\(index)"]
        for _ in 0..<Int.random(in: 0...6, using: &random) {
            let name = ["X-A", "x-b", "X-!#$&'*+.^_`|~", "Accept", "User-Agent", "Content-Type", "Accept-Encoding", "If-None-Match"]
                .randomElement(using: &random)
            guard let name = name.flatMap({ HTTPField.Name($0) }), !(name == .contentType && fields.contains(name)) else { continue }
            let isEmpty = Int.random(in: 0..<4, using: &random) == 0
            fields.append(HTTPField(name: name, value: isEmpty ? "" : text(Self.valueCharacters, upTo: 40)))
        }
        return Request(
            head: HTTPRequest(method: method, scheme: "http", authority: authority, path: target, headerFields: fields),
            body: method == .head ? .empty : body(index))
    }

    private mutating func body(_ index: Int) -> RequestBody {
        switch index % 7 {
        case 0: .empty
        case 1: .text(text(Self.textCharacters, upTo: 200))
        case 2: .text(["@", "-", "'", "%", "\\", "<", "@-"][Int.random(in: 0..<7, using: &random)] + text(Self.valueCharacters, upTo: 100))
        case 3: .data(Data((0..<Int.random(in: 1...2000, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }))
        case 4: .data(Data([0x00, 0xFF, 0x0D, 0x0A, 0x00]) + Data((0...255).map { UInt8($0) }.shuffled(using: &random)))
        case 5: .text("line one\r\nline two\n\n\(text(Self.textCharacters, upTo: 50))\n")
        default: .text(#"{"a": "\#(index)", "b": [1, 2], "it's": null}"#)
        }
    }

    /// Without an at sign next to slashes, which would pass for credentials, and whole escapes only.
    private mutating func segment() -> String { text(Self.pathCharacters, upTo: 12).replacing("@", with: "%40") + "s" }

    private mutating func text(_ characters: [Unicode.Scalar], upTo count: Int) -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 1...count, using: &random) { text.append(characters.randomElement(using: &random) ?? "a") }
        return String(text)
    }
}

extension Request {
    /// This request with secrets in its URL, its fields and its body.
    fileprivate func planted(_ index: Int) -> Request {
        var request = self
        request.head.path = "/x?q='$(id)'&access_token=s3cr3t'&z=1"
        request.head.headerFields[.authorization] = "Bearer 's3cr3t'"
        request.head.headerFields[.cookie] = "id=s3cr3t"
        guard method != .head else { return request }
        request.head.headerFields[.contentType] = ["application/json", "application/x-www-form-urlencoded", "text/event-stream"][index % 3]
        request.body = .text(
            [
                #"{"user": "it's", "password": "s3cr3t"}"#, "user=it's&password=s3cr3t&x=%00",
                "data: {\"it's\": 1, \"password\": \"s3cr3t\"}\r\n\r\n",
            ][index % 3])
        return request
    }

    /// The received form of a body with planted secrets.
    fileprivate var redactedBody: Data {
        Data(String(decoding: body.bufferedData ?? Data(), as: UTF8.self).replacing("s3cr3t", with: "REDACTED").utf8)
    }
}
#endif
