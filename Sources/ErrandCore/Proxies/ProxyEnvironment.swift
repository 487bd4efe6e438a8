internal import ErrandFormats

/// The proxies from environment variables. For the rules, see ``ProxyPolicy/environment(_:)``.
struct ProxyEnvironment: Sendable, CustomStringConvertible {
    /// The parsed value of a variable. An error concerns only the requests that would use the proxy of the variable.
    private typealias Choice = Result<ProxySettings, ProxySettingsError>

    private let http: Choice?
    private let https: Choice?
    private let exceptions: ProxyExceptions

    init(_ variables: [String: String]) {
        func first(_ names: String...) -> (name: String, value: String)? {
            names.lazy.compactMap { name in variables[name].flatMap { $0.isEmpty ? nil : (name, $0) } }.first
        }
        func proxy(_ found: (name: String, value: String)?) -> Choice? {
            guard let found else { return nil }
            do throws(ProxySettingsError) {
                return .success(try ProxySettings(found.value, variable: found.name))
            } catch {
                return .failure(error)
            }
        }
        let (own, ownOfTLS) = (proxy(first("http_proxy")), proxy(first("https_proxy", "HTTPS_PROXY")))
        let all = proxy(first("all_proxy", "ALL_PROXY"))
        (http, https) = (own ?? all, ownOfTLS ?? all)
        exceptions = ProxyExceptions(first("no_proxy", "NO_PROXY")?.value ?? "")
    }

    /// Returns the proxy for the requests to an origin; `nil` for direct connections.
    ///
    /// - Throws: ``ProxySettingsError`` if the variable that names the proxy is invalid.
    func proxy(for origin: Origin) throws(ProxySettingsError) -> ProxySettings? {
        guard let proxy = origin.scheme.isExactly("https") ? https : http, !exceptions.contain(origin) else { return nil }
        return try proxy.get()
    }

    var description: String {
        func shown(_ scheme: String, _ proxy: Choice) -> String {
            switch proxy {
            case .success(let proxy): "\(scheme) through \(proxy)"
            case .failure(let error): "\(scheme) through an \(error)"
            }
        }
        let proxies = [http.map { shown("http", $0) }, https.map { shown("https", $0) }].compactMap(\.self)
        guard !proxies.isEmpty else { return "none" }
        let ignored = exceptions.ignored.prefix(5).map { "'\($0.shownSafely(limit: 60))'" }.joined(separator: ", ")
        return "by the environment: " + proxies.joined(separator: ", ")
            + (ignored.isEmpty ? "" : "; parts of no_proxy that match nothing: \(ignored)")
    }
}

/// The hosts that need no proxy: the value of `no_proxy`.
struct ProxyExceptions: Sendable {
    private enum Hosts: Sendable {
        case all
        /// A name, and all names under it.
        case name(String)
        case addresses(IPAddress, prefixBits: Int)
    }

    private var entries: [(hosts: Hosts, port: Int?)] = []
    /// The parts that are neither a host nor an address nor a network, and therefore match nothing.
    private(set) var ignored: [Substring] = []

    /// Parses the value of `no_proxy`.
    ///
    /// - Parameter list: the parts, separated by commas or white space.
    init(_ list: String) {
        for octets in list.utf8.split(whereSeparator: { $0 == UInt8(ascii: ",") || $0 == 0x20 || (0x09...0x0D).contains($0) }) {
            let part = list[octets.startIndex..<octets.endIndex]
            if let entry = Self.entry(part) { entries.append(entry) } else { ignored.append(part) }
        }
    }

    private static func entry(_ part: Substring) -> (hosts: Hosts, port: Int?)? {
        if part.isExactly("*") { return (.all, nil) }
        if let network = network(part) { return (network, nil) }
        guard let (host, port) = split(part) else { return nil }
        if let address = network(host) { return (address, port) }
        let dots = host.hasOctetPrefix("*.") ? 2 : host.hasOctetPrefix(".") ? 1 : 0
        let name = host[host.utf8.index(host.startIndex, offsetBy: dots)...]
        guard !name.containsOctet(UInt8(ascii: "*")), let normal = try? Host.normalized(name, in: ""), !normal.hasOctetPrefix("[") else {
            return nil
        }
        return (.name(Host.comparable(normal)), port)
    }

    /// Parses a network, or an address with or without brackets. Returns `nil` for any other text.
    private static func network(_ text: Substring) -> Hosts? {
        let parts = text.split(atOctet: UInt8(ascii: "/"), maxSplits: 1, omittingEmptyPieces: false)
        let isBracketed = parts[0].hasOctetPrefix("[") && parts[0].hasOctetSuffix("]") && parts[0].utf8.count > 1
        guard let address = try? IPAddress(String(isBracketed ? parts[0].dropFirst().dropLast() : parts[0])) else { return nil }
        let most = address.isIPv4 ? 32 : 128
        guard parts.count == 2 else { return .addresses(address, prefixBits: most) }
        guard parts[1].utf8.allSatisfy(\.isASCIIDigit), let bits = Int(parts[1]), bits <= most else { return nil }
        return .addresses(address, prefixBits: bits)
    }

    /// Splits a part of `no_proxy` into a host and a port. If the part has no port, the port is `nil`. If the port is invalid, the
    /// whole result is `nil`.
    private static func split(_ part: Substring) -> (Substring, Int?)? {
        let afterBracket = part.utf8.lastIndex(of: UInt8(ascii: "]")) ?? part.startIndex
        guard let colon = part[afterBracket...].utf8.firstIndex(of: UInt8(ascii: ":")) else { return (part, nil) }
        let digits = part[part.utf8.index(after: colon)...]
        guard let port = Int(portDigits: digits.utf8) else { return nil }
        return (part[..<colon], port)
    }

    func contain(_ origin: Origin) -> Bool {
        if entries.isEmpty { return false }
        let host = Host.comparable(origin.host)
        let isBracketed = origin.host.hasOctetPrefix("[")
        let address = try? IPAddress(isBracketed ? String(origin.host.dropFirst().dropLast()) : host)
        return entries.contains { entry in
            if let port = entry.port, port != origin.effectivePort { return false }
            return switch entry.hosts {
            case .all: true
            case .name(let name): address == nil && (host == name || host.hasOctetSuffix("." + name))
            case .addresses(let network, let bits): address.map { Self.isEqual($0, network, prefixBits: bits) } ?? false
            }
        }
    }

    private static func isEqual(_ first: IPAddress, _ second: IPAddress, prefixBits: Int) -> Bool {
        guard first.isIPv4 == second.isIPv4 else { return false }
        let (whole, rest) = (prefixBits / 8, prefixBits % 8)
        let (first, second) = (first.octets, second.octets)
        guard first[..<whole] == second[..<whole] else { return false }
        return rest == 0 || first[whole] >> (8 - rest) == second[whole] >> (8 - rest)
    }
}
