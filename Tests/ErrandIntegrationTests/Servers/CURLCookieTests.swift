#if SWIFT_NIO && Auth && MockServer
internal import Errand
internal import ErrandMockServer
internal import ErrandTesting
internal import Foundation
internal import HTTPTypes
internal import TestSupport
internal import Testing

/// The `curl` of this machine writes files of cookies that this library reads, and reads files that this library writes.
@Suite(.enabled(if: Programs.find("curl") != nil, "there is no curl on this machine"), .timeLimit(.minutes(5)))
struct CURLCookieTests {
    private static let now = HTTPDate(secondsSinceEpoch: 1)
    private static let host = "www.shop.example"

    private let folder: TestFolder

    init() throws { folder = try TestFolder("curl-cookies") }

    /// Sends a request by `curl` to a host that leads to the server.
    private func curl(_ server: MockServer, _ path: String, host: String = host, _ arguments: String...) async throws {
        let program = try #require(Programs.find("curl"))
        let port = try #require(HTTPURL(server.url("/")).origin.port)
        let common = ["--silent", "--show-error", "--max-time", "60", "--resolve", "\(host):\(port):127.0.0.1"]
        try await Programs.run(program, common + arguments + ["http://\(host):\(port)\(path)"])
    }

    @Test func aFileOfCURLIsRead() async throws {
        let lines = [
            "sid=31d4; Path=/; HttpOnly; Max-Age=1000", "domain=1; Domain=shop.example; Path=/a b; Expires=Wed, 01 Jan 2070 00:00:00 GMT",
            "session=x; Path=/a", "empty=", #"quote="a b"; SameSite=Lax"#, "equal=a=b=c", "utf8=é",
        ]
        let file = folder.file("jar.txt")
        try await withMockServer { server in
            server.dispatch { _ in
                var headers = HTTPFields()
                for line in lines { headers.append(HTTPField(name: .setCookie, value: line)) }
                return .text("ok", headers: headers)
            }
            try await curl(server, "/", "--cookie-jar", file)
        }
        let read = try CookieFile.netscape(parsing: folder.read("jar.txt"), at: Date(timeIntervalSince1970: 1))
        #expect(read.problems.isEmpty && read.cookies.count == lines.count)
        let cookies = Dictionary(uniqueKeysWithValues: read.cookies.map { ($0.name, $0) })
        func cookie(_ name: String, _ value: String, path: String = "/") -> Cookie {
            Cookie(name: name, value: value, domain: Self.host, path: path, isSecure: false, created: Self.now)
        }
        #expect(cookies["session"] == cookie("session", "x", path: "/a") && cookies["empty"] == cookie("empty", ""))
        #expect(cookies["quote"] == cookie("quote", "\"a b\"") && cookies["equal"] == cookie("equal", "a=b=c"))
        #expect(cookies["utf8"] == cookie("utf8", "é"))
        let shared = Cookie(
            name: "domain", value: "1", domain: "shop.example", isHostOnly: false, path: "/a b",
            expires: HTTPDate(secondsSinceEpoch: 3_155_760_000), isSecure: false, created: Self.now)
        #expect(cookies["domain"] == shared)
        let secret = try #require(cookies["sid"])
        #expect(secret.isHTTPOnly && secret.isHostOnly && secret.value == "31d4")
        #expect(try #require(secret.expires) > HTTPDate(secondsSinceEpoch: 1_700_000_000))
    }

    @Test func aFileOfThisLibraryIsReadByCURL() async throws {
        let later = HTTPDate(secondsSinceEpoch: 4_000_000_000)
        func cookie(
            _ name: String, _ value: String = "1", domain: String = Self.host, isHostOnly: Bool = true, path: String = "/",
            expires: HTTPDate? = later, isSecure: Bool = false, isHTTPOnly: Bool = false
        ) -> Cookie {
            Cookie(
                name: name, value: value, domain: domain, isHostOnly: isHostOnly, path: path, expires: expires, isSecure: isSecure,
                isHTTPOnly: isHTTPOnly, sameSite: .lax, created: Self.now)
        }
        let cookies = [
            cookie("a"), cookie("http", isHTTPOnly: true), cookie("session", expires: nil), cookie("empty", ""),
            cookie("quote", "\"a b\"; c=d"), cookie("", "nameless"), cookie("tab", "a\tb"), cookie("old", expires: Self.now),
            cookie("epoch", expires: HTTPDate(secondsSinceEpoch: 0)), cookie("secure", isSecure: true), cookie("path", path: "/deep"),
            cookie("shared", domain: "shop.example", isHostOnly: false), cookie("parent", domain: "shop.example"),
            cookie("far", expires: HTTPDate(secondsSinceEpoch: .max)),
        ]
        let file = try folder.write(CookieFile.netscape(of: cookies), to: "own.txt")
        try await withMockServer { server in
            server.dispatch { _ in .text("ok") }
            for (path, host) in [("/", Self.host), ("/deep/er", Self.host), ("/", "other.shop.example"), ("/", "shop.example")] {
                try await curl(server, path, host: host, "--cookie", file)
            }
            let sent = server.requests.map { request in
                Set((request.headers[.cookie] ?? "").split(separator: "; ", omittingEmptySubsequences: true).map(String.init))
            }
            let usual: Set = ["a=1", "http=1", "session=1", "empty=", "quote=\"a b\"", "c=d", "shared=1", "far=1"]
            #expect(sent == [usual, usual.union(["path=1"]), ["shared=1"], ["shared=1", "parent=1"]])
        }
    }
}
#endif
