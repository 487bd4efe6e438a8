#if Auth
import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import ErrandAuth
@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct HSTSListTests {
    private let date = ManualDate(1_800_000_000)

    private func hosts(preloaded: [HSTSHost] = [], _ store: (any HSTSStore)? = nil) -> HSTSList {
        HSTSList(preloaded: preloaded, store: store) { [date] in date.date }
    }

    // MARK: The match of RFC 6797, section 8.2

    @Test(arguments: [
        // A congruent match, with and without subdomains.
        (["a.example"], "http://a.example", true), ([".a.example"], "http://a.example", true),
        (["a.example"], "http://b.a.example", false), ([".a.example"], "http://b.a.example", true),
        ([".a.example"], "http://c.b.a.example", true), ([".a.example"], "http://xa.example", false),
        ([".a.example"], "http://example", false), ([".b.a.example"], "http://a.example", false),
        ([".a.example"], "http://a.example.org", false), ([".example"], "http://a.example", true),
        // A note of the host itself does not hide a note above it.
        ([".a.example", "b.a.example"], "http://b.a.example", true), ([".a.example", "b.a.example"], "http://c.b.a.example", true),
        (["a.example", ".b.a.example"], "http://c.b.a.example", true), (["a.example", ".b.a.example"], "http://c.a.example", false),
        // The comparison ignores the case, the port and a dot at the end.
        (["A.Example"], "http://a.EXAMPLE", true), (["a.example."], "http://a.example", true), (["a.example"], "http://a.example.", true),
        ([".a.example."], "http://b.a.example.:8080", true), (["a.example"], "http://a.example:8080", true),
        (["bücher.example"], "http://xn--bcher-kva.example", true), (["localhost"], "http://localhost:8080", true),
        ([], "http://a.example", false),
    ])
    func aHostDemandsHTTPS(names: [String], url: String, expected: Bool) throws {
        let hosts = hosts()
        for name in names {
            let isDotted = name.hasPrefix(".")
            try hosts.note(
                "max-age=60" + (isDotted ? "; includeSubDomains" : ""), from: "https://\(isDotted ? String(name.dropFirst()) : name)/")
        }
        #expect(try hosts.demandsHTTPS(HTTPURL(url).origin) == expected)
        #expect(try hosts.demandsHTTPS(HTTPURL(url.replacing("http:", with: "https:")).origin) == expected)
        // The same hosts, given by the app.
        let given = try names.map { name in
            let isDotted = name.hasPrefix(".")
            return try HSTSHost(isDotted ? String(name.dropFirst()) : name, includesSubdomains: isDotted)
        }
        #expect(try self.hosts(preloaded: given).demandsHTTPS(HTTPURL(url).origin) == expected)
    }

    @Test(arguments: ["127.0.0.1", "[::1]", "[2001:db8::1]:8443", "192.0.2.1:8443", "1.2.3", "192.0.2.1.", "192.0.2.0x1", "0xC0000201"])
    func anAddressNeverDemandsHTTPS(authority: String) throws {
        let hosts = hosts()
        try hosts.note("max-age=60; includeSubDomains", from: "https://\(authority)/")
        #expect(hosts.hosts.isEmpty)
        #expect(try !hosts.demandsHTTPS(HTTPURL("http://\(authority)/").origin))
    }

    @Test(arguments: [
        "127.0.0.1", "::1", "[::1]", "a.example:443x", "a.example:8443", "a.example/x", "a b", "", "u@a.example", "*.a.example",
    ])
    func aNameThatIsNoHostIsRefused(name: String) {
        #expect(throws: InvalidURLError.self) { try HSTSHost(name) }
    }

    // MARK: Notes

    @Test func aHostIsKnownUntilItsNoteExpires() throws {
        let hosts = hosts()
        try hosts.note("max-age=60", from: "https://a.example/")
        #expect(hosts.hosts == [try HSTSHost("a.example", includesSubdomains: false, expires: date.after(60), noted: date.now)])
        date.move(bySeconds: 59)
        #expect(hosts.demandsHTTPS("http://a.example") && hosts.names == ["a.example"])
        date.move(bySeconds: 1)
        #expect(!hosts.demandsHTTPS("http://a.example") && hosts.names == [])
    }

    @Test func aRepeatedNoteMovesTheExpiry() throws {
        let hosts = hosts()
        try hosts.note("max-age=60", from: "https://a.example/")
        date.move(bySeconds: 30)
        try hosts.note("max-age=60", from: "https://a.example/")
        date.move(bySeconds: 59)
        #expect(hosts.demandsHTTPS("http://a.example"))
        date.move(bySeconds: 1)
        #expect(!hosts.demandsHTTPS("http://a.example"))
    }

    @Test func aLaterNoteReplacesThePolicy() throws {
        let hosts = hosts()
        try hosts.note("max-age=60; includeSubDomains", from: "https://a.example/")
        try hosts.note("max-age=60", from: "https://A.example.:8443/")
        #expect(hosts.names == ["a.example"] && !hosts.demandsHTTPS("http://b.a.example"))
    }

    @Test func anExpiredNoteDoesNotHideANoteAboveIt() throws {
        let hosts = hosts()
        try hosts.note("max-age=10", from: "https://b.a.example/")
        try hosts.note("max-age=60; includeSubDomains", from: "https://a.example/")
        date.move(bySeconds: 30)
        #expect(hosts.demandsHTTPS("http://b.a.example") && hosts.names == [".a.example"])
    }

    @Test func anAgeOfZeroRemovesTheHostAlone() throws {
        let hosts = hosts()
        try hosts.note("max-age=60; includeSubDomains", from: "https://a.example/")
        try hosts.note("max-age=60", from: "https://b.a.example/")
        try hosts.note("max-age=0", from: "https://b.a.example/")
        #expect(hosts.names == [".a.example"] && hosts.demandsHTTPS("http://b.a.example"))
        try hosts.note("max-age=0; includeSubDomains", from: "https://a.example/")
        #expect(hosts.names == [])
    }

    @Test(arguments: [
        "", "max-age", "max-age=1; max-age=2", "max-age=1, max-age=1", "max-age=1; includeSubDomains=x", "includeSubDomains", "max-age=x",
    ])
    func anInvalidFieldIsIgnored(value: String) throws {
        let hosts = hosts()
        try hosts.note(value, from: "https://a.example/")
        #expect(hosts.names == [])
    }

    @Test func theFirstFieldCounts() throws {
        func response(_ values: String...) throws -> Response {
            var fields = HTTPFields()
            for value in values { fields.append(HTTPField(name: .strictTransportSecurity, value: value)) }
            return Response(
                head: HTTPResponse(status: .ok, headerFields: fields), request: try Request(.get, url: "https://a.example/"))
        }
        let hosts = hosts()
        hosts.note(try response("nonsense", "max-age=60"))
        #expect(hosts.names == [])
        hosts.note(try response("max-age=60; includeSubDomains", "max-age=0"))
        #expect(hosts.names == [".a.example"])
    }

    @Test func onlyACheckedResponseByHTTPSCounts() throws {
        let hosts = hosts()
        try hosts.note("max-age=60", from: "http://a.example/")
        #expect(hosts.names == [])
        try hosts.note("max-age=60", from: "https://a.example/") { $0.metadata.serverIsUnverified = true }
        #expect(hosts.names == [])
        try hosts.note("max-age=60", from: "https://a.example/") { $0.metadata.cacheStatus = CacheStatus(.hit) }
        #expect(hosts.names == [])
        try hosts.note("max-age=60", from: "https://a.example/") { $0.metadata.cacheStatus = CacheStatus(.forwarded(.miss)) }
        #expect(hosts.names == ["a.example"])
        // None of the others removes the host.
        try hosts.note("max-age=0", from: "http://a.example/")
        try hosts.note("max-age=0", from: "https://a.example/") { $0.metadata.serverIsUnverified = true }
        #expect(hosts.names == ["a.example"])
    }

    @Test func theHostWithTheOldestNoteIsDropped() throws {
        let hosts = hosts()
        for number in 0..<HSTSList.limit { try hosts.note("max-age=60", from: "https://h\(number).example/") }
        try hosts.note("max-age=60", from: "https://h0.example/")
        // A look-up is no note.
        #expect(hosts.demandsHTTPS("http://h1.example"))
        try hosts.note("max-age=60", from: "https://new.example/")
        #expect(hosts.hosts.count == HSTSList.limit && !hosts.demandsHTTPS("http://h1.example"))
        #expect(
            hosts.demandsHTTPS("http://h0.example") && hosts.demandsHTTPS("http://h2.example") && hosts.demandsHTTPS("http://new.example"))
    }

    // MARK: Preloaded hosts

    @Test func noServerRemovesAPreloadedHost() throws {
        let hosts = hosts(preloaded: [try HSTSHost("a.example"), try HSTSHost("b.example", includesSubdomains: false)])
        #expect(hosts.names == [".a.example", "b.example"])
        try hosts.note("max-age=60", from: "https://a.example/")
        try hosts.note("max-age=0", from: "https://a.example/")
        try hosts.note("max-age=0", from: "https://b.example/")
        #expect(hosts.names == [".a.example", "b.example"] && hosts.demandsHTTPS("http://x.a.example"))
        for number in 0...HSTSList.limit { try hosts.note("max-age=60", from: "https://h\(number).example/") }
        #expect(hosts.demandsHTTPS("http://x.a.example") && hosts.demandsHTTPS("http://b.example"))
    }

    // MARK: Descriptions

    @Test func theDescriptionShowsNoHost() throws {
        let hosts = hosts(preloaded: [try HSTSHost("bank.example")])
        try hosts.note("max-age=60", from: "https://clinic.example/")
        #expect("\(hosts)" == "HSTS hosts, noted: 1, preloaded: 1")
        var text = ""
        dump(hosts, to: &text)
        #expect(!text.contains("clinic") && !text.contains("bank"))
        let host = try HSTSHost("a.example", expires: HTTPDate(secondsSinceEpoch: 784_111_777))
        #expect(host.description == "a.example and its subdomains, until Sun, 06 Nov 1994 08:49:37 GMT")
    }
}
#endif
