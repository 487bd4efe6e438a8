import CAllocations
import ErrandAuth
import ErrandCore

extension StackBenchmarks {
    /// What a jar keeps of the cookies of servers that attack the client.
    struct KeptCookies {
        let seconds: Double
        let bytes: Int
        let count: Int
        /// Whether no cookie belongs to a public suffix, and each host and each site has at most as many cookies as the jar's limits say.
        let areWithinLimits: Bool

        var isWithinBudget: Bool { count <= 3_000 && bytes <= 8_000_000 && areWithinLimits }
    }

    /// Sends 10,000 requests to different hosts. Each response sets 100 cookies. `HostileCookieTests` sends a tenth of these requests,
    /// because tests run without optimization.
    @concurrent static func measureHostileCookies() async throws -> KeptCookies {
        let jar = CookieJar()
        let stack = HTTPStack(Hostile()).cookies(jar)
        let (before, start) = (errand_live_bytes(), ContinuousClock.now)
        for host in 0..<10_000 { _ = try await stack.send(Request(.get, url: "https://h\(host % 20).s\(host / 20).com/")) }
        let (seconds, bytes) = (start.duration(to: .now) / .seconds(1), errand_live_bytes() - before)
        let cookies = jar.cookies
        let hosts = Dictionary(grouping: cookies, by: \.domain)
        let sites = Dictionary(grouping: cookies) { PublicSuffixes.registrableDomain(of: $0.domain) ?? $0.domain }
        let areWithinLimits =
            !cookies.isEmpty && cookies.allSatisfy { $0.isHostOnly || !PublicSuffixes.contains($0.domain) }
            && hosts.values.allSatisfy { $0.count <= 50 } && sites.values.allSatisfy { $0.count <= 180 }
        return KeptCookies(seconds: seconds, bytes: bytes, count: jar.count, areWithinLimits: areWithinLimits)
    }
}

/// Responds with 100 cookies. Some are long, are not valid, or name a public suffix.
private struct Hostile: HTTPTransport {
    private static let value = String(repeating: "v", count: 4_000)

    var capabilities: TransportCapabilities { [.deadlines] }
    func shutdown() async throws {}

    func send(_ request: Request) async throws -> Response {
        let host = request.url?.host ?? ""
        let site = PublicSuffixes.registrableDomain(of: host) ?? host
        var head = HTTPResponse(status: .ok)
        for line in 0..<100 {
            let field =
                switch line {
                case 0: "big\(host)=\(Self.value); Path=/\(Self.value.prefix(1_000)); Max-Age=600"
                case 1: "a=b; Domain=com"
                case 2: "a=b; Domain=\(site); Expires=Fri, 01 Jan 2100 00:00:00 GMT"
                case 3: "__Host-a=b; Path=/"
                case 4: "n\(line); Domain=\(site); Max-Age=-1"
                default: "n\(line)=\(host); Max-Age=\(line * 1_000)"
                }
            head.headerFields.append(HTTPField(name: .setCookie, value: field))
        }
        return Response(head: head, data: Data(), request: request)
    }
}
