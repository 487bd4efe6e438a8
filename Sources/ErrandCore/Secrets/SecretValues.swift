internal import ErrandFormats

/// The values of secrets with a sensitive name, collected to find the same values in other texts of the exchange.
package struct SecretValues: Sendable {
    /// The maximum total size of the values, in bytes. Further values are not collected.
    private static let limitBytes = 256 * 1024
    /// The maximum size of a request's body that is searched, in bytes.
    package static let bodyLimitBytes = 64 * 1024
    private static let placeholders = [Sensitivity.placeholder, Sensitivity.urlPlaceholder, Sensitivity.userInfoPlaceholder]

    private let shortestBytes: Int
    private var values: Set<OctetKey> = []
    private var bytes = 0

    /// - Parameter shortestBytes: the minimum length of a value. Shorter values are not collected, because other texts contain such values
    ///   by chance.
    package init(shortestBytes: Int) { self.shortestBytes = shortestBytes }

    /// The values, without duplicates and in no order.
    package var texts: [String] { values.map(\.text) }
    package var isEmpty: Bool { values.isEmpty }

    /// Returns whether `text` contains one of the values, as written or percent-encoded.
    package func isIn(_ text: String) -> Bool {
        let plain = PercentEncoding.decodedLeniently(text)
        return values.contains { text.containsOctets($0.text) || plain.containsOctets($0.text) }
    }

    // MARK: Collecting

    /// Adds a value. If the value is too short, or is a placeholder, does nothing.
    package mutating func learn(_ value: String) {
        guard value.utf8.count >= shortestBytes, !Self.placeholders.contains(where: value.isExactly) else { return }
        guard bytes + value.utf8.count <= Self.limitBytes, values.insert(OctetKey(value)).inserted else { return }
        bytes += value.utf8.count
    }

    /// Adds the credentials and the secret items of a URL, or of a path with a query.
    package mutating func learn(fromURL url: String, by sensitivity: Sensitivity) {
        for value in sensitivity.secretValues(inURL: url) { learn(value) }
    }

    /// Adds the values of a sensitive field: the whole value, the credentials after a scheme, and the password of Basic. For a cookie, only
    /// its value is added.
    package mutating func learn(_ field: HTTPField) {
        switch field.name.canonicalName {
        case "cookie": for pair in field.value.split(atOctet: UInt8(ascii: ";")) { learnPair(pair) }  // octets: ASCII
        case "set-cookie":  // octets: ASCII
            if let pair = field.value.split(atOctet: UInt8(ascii: ";"), maxSplits: 1).first { learnPair(pair) }
        default:
            learn(field.value)
            guard let space = field.value.utf8.firstIndex(where: \.isSpace) else { return }
            let credentials = String(Substring(field.value.utf8[space...].drop(while: \.isSpace)))
            learn(credentials)
            guard field.value[..<space].isExactlyIgnoringCase("basic"), let decoded = Data(base64Encoded: credentials) else { return }
            let pair = String(decoding: decoded, as: UTF8.self)
            learn(pair)
            if let password = pair.split(atOctet: UInt8(ascii: ":"), maxSplits: 1).last { learn(String(password)) }
        }
    }

    private mutating func learnPair(_ pair: Substring) {
        guard let equals = pair.utf8.firstIndex(of: UInt8(ascii: "=")) else { return }
        let quote = UInt8(ascii: "\"")
        let rest = pair.utf8[pair.utf8.index(after: equals)...].drop { $0.isSpace || $0 == quote }
        let value = String(Substring(rest.prefix { $0 != quote })).trimmingOptionalWhitespace()
        learn(value)
        if let decoded = PercentEncoding.decode(value) { learn(decoded) }
    }

    /// Adds the secrets of a request's URL and fields.
    package mutating func learn(fromHeadOf request: Request, by sensitivity: Sensitivity) {
        learn(fromURL: "//" + (request.head.authority ?? "") + request.writtenTarget, by: sensitivity)
        for field in request.completedFields {
            if sensitivity.isSensitive(field) { learn(field) } else { learn(fromURL: field.value, by: sensitivity) }
        }
    }

    /// Adds the secrets of a request's body, if the body is in memory, has at most ``bodyLimitBytes``, and is JSON or a form.
    mutating func learn(fromBodyOf request: Request, by sensitivity: Sensitivity) {
        guard let data = request.body.bufferedData, !data.isEmpty, data.count <= Self.bodyLimitBytes else { return }
        if let json = try? JSONValue(parsing: data) {
            learn(json, isSecret: false, by: sensitivity)
        } else if request.completedFields.single(.contentType).flatMap({ MediaType($0) })?.essence == FormURLEncoded.mediaType {
            for item in FormURLEncoded.decode(String(decoding: data, as: UTF8.self)) where sensitivity.isSensitive(queryName: item.name) {
                learn(item.value ?? "")
            }
        }
    }

    private mutating func learn(_ json: JSONValue, isSecret: Bool, by sensitivity: Sensitivity) {
        switch json {
        case .string(let text): if isSecret { learn(text) }
        case .number(let number): if isSecret { learn(number.description) }
        case .array(let elements): for element in elements { learn(element, isSecret: isSecret, by: sensitivity) }
        case .object(let members):
            for (name, value) in members {
                learn(value, isSecret: isSecret || sensitivity.isSensitive(memberName: name), by: sensitivity)
            }
        case .bool, .null: break
        }
    }
}

extension SecretValues: CustomStringConvertible, HidesStorage {
    /// The number of values. The values are not shown.
    package var description: String { values.count.counted("secret") }
}
