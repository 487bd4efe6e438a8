#if Auth
import Errand
import Foundation
import TestSupport
import Testing

@testable import ErrandAuth

/// Cookies of servers that attack the client: the memory is bounded, and the work is proportional to the octets.
@Suite(.serialized, .timeLimit(.minutes(5))) struct HostileCookieTests {
    private static let large = String(repeating: "v", count: 4_000)

    /// 20 hosts of each site.
    private static func site(_ host: Int) -> String { "s\(host / 20).com" }

    /// 100 lines of a host. Some lines are long, are not valid, or name a public suffix.
    private static func fields(_ host: Int) -> HTTPFields {
        var fields = HTTPFields()
        for line in 0..<100 {
            let value =
                switch line {
                case 0: "big\(host)=\(large); Path=/\(large.prefix(1_000)); Max-Age=60"
                case 1: "a=b; Domain=com"
                case 2: "a=b; Domain=\(site(host)); Expires=Fri, 01 Jan 2038 00:00:00 GMT"
                case 3: "__Host-a=b; Path=/"
                case 4: "n\(line); Domain=\(site(host)); Max-Age=-1"
                default: "n\(line)=\(host); Max-Age=\(line * 1_000)"
                }
            fields.append(HTTPField(name: .setCookie, value: value))
        }
        return fields
    }

    /// 100,000 lines of 1,000 hosts exceed each limit: of a host, of a site, and of the jar. In CI, `StackBenchmarks --check` sends a
    /// million lines of 10,000 hosts. Without optimization, as here, a million lines take a minute. `ERRAND_COOKIE_LINES` sets the
    /// number of lines.
    @Test func theCookiesOfManyHostsKeepLittleMemory() throws {
        let jar = CookieJar(now: { Date(timeIntervalSince1970: 1_262_304_000) })
        guard let before = LiveBytes.now else { return }
        let hosts = (ProcessInfo.processInfo.environment["ERRAND_COOKIE_LINES"].flatMap { Int($0) } ?? 100_000) / 100
        var count = 0
        for host in 0..<hosts {
            let request = CookieRequest(try HTTPURL("https://h\(host % 20).\(Self.site(host))/"))
            count += jar.receive(Self.fields(host), of: request, since: 0, sent: RequestID(), isShared: false).count
        }
        let kept = (LiveBytes.now ?? before) - before
        #expect(count == hosts * 100 && kept <= 8_000_000, "\(kept) bytes are kept")
        let cookies = jar.cookies
        #expect((2_000...3_000).contains(jar.count) && cookies.count == jar.count, "\(jar.count) cookies")
        let domains = Dictionary(grouping: cookies, by: \.domain)
        #expect(domains.values.allSatisfy { $0.count <= 50 })
        #expect(cookies.allSatisfy { $0.isHostOnly || !PublicSuffixes.contains($0.domain) })
        let sites = Dictionary(grouping: cookies) { CookieRequest.siteName(of: $0.domain) }
        #expect(sites.values.allSatisfy { $0.count <= 180 })
    }

    /// The lines of a response, as text with a `#` in place of the number.
    @Test(arguments: ["n#=v", "n=#", "n=v; Path=/#", "n#=v; Domain=a.example", "; n=#", "n#=v; Max-Age=#"])
    func theWorkIsProportionalToTheNumberOfCookies(_ line: String) throws {
        let request = CookieRequest(try HTTPURL("http://www.a.example/"))
        let growth = growth(of: 100) { count in
            var fields = HTTPFields()
            for number in 0..<count {
                fields.append(HTTPField(name: .setCookie, value: line.replacingOccurrences(of: "#", with: "\(number)")))
            }
            return fields
        } _: { fields in
            _ = CookieJar().receive(fields, of: request, since: 0, sent: RequestID(), isShared: false)
        }
        #expect(growth < 16, "8 times the cookies take \(growth) times as long")
    }

    @Test func aHostMayHaveManyLabels() throws {
        let jar = CookieJar()
        let refusal = try jar.refusal("a=b; Domain=a.example", from: "https://a.example/")
        #expect(refusal == nil)
        let field = try jar.field(for: "https://" + String(repeating: "a.", count: 120) + "a.example/")
        #expect(field == "a=b")
    }
}
#endif
