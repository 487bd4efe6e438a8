#if Auth
internal import ErrandCore
internal import ErrandFormats

/// The format of a file of hosts, and the rule by which entries are merged.
///
/// The format is the format of `curl --hsts`: one host in each line, with its expiry in UTC. A dot before the name includes the subdomains.
/// The format of curl does not store when an entry was made. Therefore, a comment before each host gives the time of the entry, in seconds
/// since 1970.
///
/// ```
/// # noted 1796355017
/// .a.example "20271128 03:30:17"
/// ```
enum HSTSFile {
    /// The age up to which the entry of a removed or expired host stays in the file: an hour. Another process may still have an older entry
    /// of the host. If that process writes the file within the hour, the older entry does not bring the host back.
    static let removalMemory = Duration.seconds(3600)

    private static let title = """
        # The hosts that demand https, in the format of curl --hsts. A comment before a host has the time at which
        # the host was noted, in seconds since 1970.

        """
    private static let noted = "# noted "
    private static let unlimited = "unlimited"
    private static let beginning = HTTPDate(secondsSinceEpoch: 0)

    // MARK: - Reading

    /// Returns the hosts of a file. Invalid lines are ignored. `nil` if the text has invalid lines and no host: such a file is not a list
    /// of hosts.
    static func hosts(in text: String) -> [HSTSHost]? {
        var hosts: [HSTSHost] = []
        var isInvalid = false
        var time = beginning
        for piece in text.split(atOctet: UInt8(ascii: "\n")) {
            let line = String(piece.utf8.last == UInt8(ascii: "\r") ? piece.dropLast() : piece).trimmingOptionalWhitespace()
            if line.isEmpty { continue }
            if line.hasOctetPrefix("#") {
                if line.hasOctetPrefix(noted), let seconds = Int64(line.dropFirst(noted.count)) {
                    time = HTTPDate(secondsSinceEpoch: seconds)
                }
                continue
            }
            if let host = host(in: line, noted: time) { hosts.append(host) } else { isInvalid = true }
            time = beginning
        }
        return isInvalid && hosts.isEmpty ? nil : hosts
    }

    private static func host(in line: String, noted: HTTPDate) -> HSTSHost? {
        let parts = line.split(atOctet: 0x20, maxSplits: 1)
        guard parts.count == 2, let first = parts.first, let last = parts.last, last.utf8.count >= 2, last.hasOctetPrefix("\""),
            last.hasOctetSuffix("\"")
        else { return nil }
        let stamp = String(last.dropFirst().dropLast())
        let expires = stamp.isExactly(unlimited) ? nil : date(stamp)
        if expires == nil, !stamp.isExactly(unlimited) { return nil }
        let includesSubdomains = first.hasOctetPrefix(".")
        return try? HSTSHost(
            String(includesSubdomains ? first.dropFirst() : first), includesSubdomains: includesSubdomains, expires: expires, noted: noted)
    }

    /// Reads `YYYYMMDD HH:MM:SS`.
    private static func date(_ stamp: String) -> HTTPDate? {
        let octets = Array(stamp.utf8)
        guard octets.count == 17, octets.allSatisfy({ $0 < 0x80 }) else { return nil }
        func text(_ range: Range<Int>) -> String { String(decoding: octets[range], as: UTF8.self) }
        let date = try? RFC3339Date("\(text(0..<4))-\(text(4..<6))-\(text(6..<8))T\(text(9..<17))Z")
        return date.map { HTTPDate(secondsSinceEpoch: $0.secondsSinceEpoch) }
    }

    // MARK: - Writing

    /// Returns the text of a file with these hosts.
    static func text(of hosts: [HSTSHost]) -> String {
        var text = title
        for host in hosts {
            if host.noted > beginning { text += "\(noted)\(host.noted.secondsSinceEpoch)\n" }
            text += "\(host.includesSubdomains ? "." : "")\(host.name) \"\(host.expires.map(stamp) ?? unlimited)\"\n"
        }
        return text
    }

    private static func stamp(_ date: HTTPDate) -> String {
        // 20271128T033017Z
        let octets = Array(date.basicISO8601.utf8)
        func text(_ range: Range<Int>) -> String { String(decoding: octets[range], as: UTF8.self) }
        return "\(text(0..<8)) \(text(9..<11)):\(text(11..<13)):\(text(13..<15))"
    }

    // MARK: - Merging

    /// Merges entries into the stored hosts. Of two entries of a host, the later entry stays. If both entries have the same time, the new
    /// entry stays. Removed and expired hosts are dropped if their entries are more than an hour old.
    ///
    /// - Returns: the hosts by name. If there are more than ``HSTSList/limit`` hosts, the hosts with the oldest entries are dropped.
    static func merged(_ stored: [HSTSHost], with notes: [HSTSHost], at now: HTTPDate) -> [HSTSHost] {
        var hosts: [String: HSTSHost] = [:]
        // An entry from the future was made with a wrong clock, and must not exclude later entries forever.
        for host in stored + notes where min(hosts[host.name]?.noted ?? beginning, now) <= host.noted {
            hosts[host.name] = host
        }
        let oldest = now.advanced(by: .zero - removalMemory)
        return hosts.values.filter { $0.isKnown(at: now) || $0.noted >= oldest }
            .sorted { ($0.noted, $0.name) > ($1.noted, $1.name) }.prefix(HSTSList.limit)
            .sorted { $0.name < $1.name }
    }
}
#endif
