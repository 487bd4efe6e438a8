import ErrandAuth

/// The public suffixes of hosts.
enum CookieCases {
    static func all() -> [Measured] { [suffixes(budget: (60, 0.1))] }

    private static let calls = 1_000
    /// Hosts whose registrable domains are the last two labels, as the peer assumes of every host.
    private static let hosts = ["www.example.com", "api.eu.example.org", "static.example.net", "localhost.example.de", "example.dev"]

    private static func suffixes(budget: (Double, Double)) -> Measured {
        let bytes = hosts.reduce(0) { $0 + $1.utf8.count } * calls
        return Measured(
            name: "the registrable domain of a host", peerName: "the last two labels", bytes: bytes, units: calls * hosts.count,
            budget: budget
        ) {
            var sum = 0
            for _ in 0..<calls { for host in hosts { sum += PublicSuffixes.registrableDomain(of: host)?.utf8.count ?? 0 } }
            return sum
        } peer: {
            var sum = 0
            for _ in 0..<calls { for host in hosts { sum += lastTwoLabels(of: host).utf8.count } }
            return sum
        }
    }

    private static func lastTwoLabels(of host: String) -> String {
        var dots = 0
        for index in host.utf8.indices.reversed() where host.utf8[index] == UInt8(ascii: ".") {
            dots += 1
            if dots == 2 { return String(host[host.utf8.index(after: index)...]) }
        }
        return host
    }
}
