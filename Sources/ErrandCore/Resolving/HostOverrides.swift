/// A resolver that replaces the addresses of some hosts, as curl's `--resolve` does, and asks another resolver for all other
/// hosts.
///
/// ```swift
/// configuration.resolver = try HostOverrides(["api.example:443:127.0.0.1,[::1]", "*:8080:10.0.0.7"])
/// ```
///
/// The request keeps its host: in the `Host` field, in TLS and in the check of the certificate. Only the address differs. The
/// host `*` in an entry means every host with the entry's port. An entry with the name of a host has precedence over `*`.
public struct HostOverrides: HostResolver, CustomStringConvertible, HidesStorage {
    private struct Target: Hashable, Sendable {
        /// The host; `*` means every host.
        let host: String
        let port: Int
    }

    private var table: [Target: [IPAddress]] = [:]
    private let base: any HostResolver

    /// Creates overrides from texts in the form of curl.
    ///
    /// - Parameters:
    ///   - entries: texts of the form `HOST:PORT:ADDRESS[,ADDRESS]…`. The host is a name in any script, or `*`. The comparison
    ///     ignores case. The port is from 1 to 65535. An IPv6 address may have brackets. Of two entries with the same host and
    ///     port, the last entry applies.
    ///   - resolver: finds the addresses of the other hosts. Default: the resolver of the system with a cache.
    /// - Throws: ``InvalidHostOverrideError`` if a text has another form, or if a host is an address, because an address is
    ///   never looked up.
    public init(_ entries: [String], else resolver: some HostResolver = SystemHostResolver().cached()) throws(InvalidHostOverrideError) {
        base = resolver
        for entry in entries {
            let parts = entry.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            // If the host is an IPv6 address, the entry has more colons than the form allows.
            guard parts.count == 3, entry.utf8.first != UInt8(ascii: "[") else { throw InvalidHostOverrideError(entry, Self.form) }
            try add(parts[0], parts[1], parts[2].split(separator: ",", omittingEmptySubsequences: false).map(String.init), entry)
        }
    }

    /// Creates overrides from texts of hosts and addresses: `["api.example:443": ["127.0.0.1", "::1"]]`.
    ///
    /// - Parameters:
    ///   - entries: the addresses by `HOST:PORT`, as in the other initializer.
    ///   - resolver: finds the addresses of the other hosts. Default: the resolver of the system with a cache.
    /// - Throws: ``InvalidHostOverrideError``, for the same reasons as the other initializer.
    public init(
        _ entries: [String: [String]], else resolver: some HostResolver = SystemHostResolver().cached()
    ) throws(InvalidHostOverrideError) {
        base = resolver
        for (target, addresses) in entries {
            let parts = target.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count == 2 else { throw InvalidHostOverrideError(target, "the form is HOST:PORT") }
            try add(parts[0], parts[1], addresses, target)
        }
    }

    private static let form = "the form is HOST:PORT:ADDRESS[,ADDRESS]…"

    private mutating func add(
        _ host: Substring, _ digits: Substring, _ addresses: [String], _ entry: String
    ) throws(InvalidHostOverrideError) {
        guard let port = Int(portDigits: digits.utf8) else {
            throw InvalidHostOverrideError(entry, "'\(digits)' is not a port (1 to 65535)")
        }
        var name = "*"
        if host != "*" {
            do {
                name = try Host.normalized(host, in: String(host))
            } catch {
                throw InvalidHostOverrideError(entry, "'\(host)' is not a host name")
            }
            guard Host.ipv4(name[...]) == nil else {
                throw InvalidHostOverrideError(entry, "'\(host)' is an address, which is never looked up")
            }
        }
        var list: [IPAddress] = []
        for address in addresses {
            let isBracketed = address.utf8.first == UInt8(ascii: "[") && address.utf8.last == UInt8(ascii: "]") && address.utf8.count > 2
            do {
                list.append(try IPAddress(isBracketed ? String(address.dropFirst().dropLast()) : address))
            } catch {
                throw InvalidHostOverrideError(entry, "'\(error.text)' is not an IP address")
            }
        }
        guard !list.isEmpty else { throw InvalidHostOverrideError(entry, "it has no address") }
        table[Target(host: name, port: port)] = list
    }

    /// Returns the addresses of the matching entry, or the addresses of the other resolver.
    ///
    /// - Throws: the error of the other resolver.
    public func addresses(of host: String, port: Int) async throws -> [IPAddress] {
        if let replaced = replacedAddresses(of: host, port: port) { return replaced }
        return try await base.addresses(of: host, port: port)
    }

    /// Returns the addresses of the matching entry, or the addresses that the other resolver knows; `nil` if a lookup is necessary.
    public func knownAddresses(of host: String, port: Int) -> [IPAddress]? {
        replacedAddresses(of: host, port: port) ?? base.knownAddresses(of: host, port: port)
    }

    private func replacedAddresses(of host: String, port: Int) -> [IPAddress]? {
        table[Target(host: host, port: port)] ?? table[Target(host: "*", port: port)]
    }

    /// Drops the addresses that the other resolver keeps for the host.
    public func discardAddresses(of host: String, port: Int) { base.discardAddresses(of: host, port: port) }

    /// The entries, sorted: `api.example:443:127.0.0.1,[::1]`.
    public var description: String {
        table.map { target, addresses in
            "\(target.host):\(target.port):" + addresses.map { $0.isIPv4 ? "\($0)" : "[\($0)]" }.joined(separator: ",")
        }.sorted().joined(separator: " ")
    }
}

/// The error for text that is not an entry of ``HostOverrides``.
///
/// The description shows the text and the problem:
/// `invalid host override 'a.example:443': the form is HOST:PORT:ADDRESS[,ADDRESS]…`.
public struct InvalidHostOverrideError: NumberedFailure, Sendable, Hashable, CustomStringConvertible {
    /// The text, truncated to 200 characters.
    public let text: String
    /// The problem.
    public let reason: String

    init(_ text: String, _ reason: String) { (self.text, self.reason) = (text.shownSafely(), reason.shownSafely()) }

    /// The text and the problem.
    public var description: String { "invalid host override '\(text)': \(reason)" }
    public var failureNumber: FailureNumber { .invalidHostOverride }
    /// The problem.
    public var failureReason: String? { reason.asSentence }
}

extension InvalidHostOverrideError: SafelyDescribedError {}
