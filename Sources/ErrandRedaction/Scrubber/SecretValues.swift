package import ErrandCore
internal import ErrandFormats

extension Sensitivity {
    /// The number of levels of nested percent-encoding that are decoded.
    private static var escapeLevels: Int { 3 }

    /// Returns the decoded values that ``redactedURL(_:)`` replaces. Nested percent-encoding is decoded as in that function.
    package func secretValues(inURL url: String) -> [String] {
        var text = url
        var values = plainSecretValues(inURL: text)
        for _ in 0..<Self.escapeLevels where text.utf8.contains(UInt8(ascii: "%")) {
            text = PercentEncoding.decodedLeniently(text)
            values += plainSecretValues(inURL: text)
        }
        return values
    }

    private func plainSecretValues(inURL url: String) -> [String] {
        var values: [String] = []
        for part in url.utf8.split(whereSeparator: "?#&;".utf8.contains).map({ String(Substring($0)) }) {
            guard let equals = part.utf8.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let name = part[..<equals]
            guard isSensitive(queryName: PercentEncoding.decode(name) ?? String(name)) else { continue }
            // In a `Link` field, the URL ends before the end of its item.
            let value = String(Substring(part[part.utf8.index(after: equals)...].utf8.prefix { !"<>\" ".utf8.contains($0) }))
            values.append(PercentEncoding.decode(value) ?? value)
            // Some readers decode a plus as a space.
            if value.containsOctet(UInt8(ascii: "+")) { values += FormURLEncoded.decode("=" + value).compactMap(\.value) }
        }
        return values + credentials(inURL: Array(url.utf8))
    }

    /// Returns the user information of each authority, and the password in it.
    private func credentials(inURL url: [UInt8]) -> [String] {
        guard let lastAt = url.lastIndex(of: UInt8(ascii: "@")) else { return [] }
        var values: [String] = []
        var rest = url[...]
        var isFirst = true
        while let slashes = rest.firstRange(of: "//".utf8), slashes.upperBound <= lastAt {  // octets: of bytes
            let authority = url[slashes.upperBound...].prefix { !"/?#".utf8.contains($0) }
            var at = authority.lastIndex(of: UInt8(ascii: "@"))
            // An invalid port may be the beginning of a password.
            if at == nil, isFirst, let colon = authority.firstIndex(of: UInt8(ascii: ":")),
                !authority[(colon + 1)...].allSatisfy(\.isASCIIDigit)
            {
                at = url[authority.endIndex...].firstIndex(of: UInt8(ascii: "@"))
            }
            if let at {
                let userInfo = String(decoding: url[slashes.upperBound..<at], as: UTF8.self)
                let password = userInfo.utf8.firstIndex(of: UInt8(ascii: ":")).map { userInfo[userInfo.utf8.index(after: $0)...] }
                values += [userInfo[...], password].compactMap { $0 }.map { PercentEncoding.decode($0) ?? String($0) }
            }
            isFirst = false
            rest = url[max(at ?? 0, authority.endIndex)...]
        }
        return values
    }
}
