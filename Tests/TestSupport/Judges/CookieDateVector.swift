public import ErrandFormats

/// A date of the cookie suite in ``Suites``.
public struct CookieDateVector: Decodable, Sendable {
    private enum CodingKeys: String, CodingKey {
        case text = "test"
        case expected
    }

    /// The date as a server writes it in `Expires`.
    public let text: String
    /// The date in the form of `Date`; `nil` if `text` is not a date.
    public let expected: String?

    /// The 70 dates.
    public static func all() throws -> [CookieDateVector] { try Suites.load("cookies/dates.json", as: [CookieDateVector].self) }

    /// A cookie with one of the dates, as the proxy of the suite reads a case.
    public struct Case: Encodable, Sendable {
        private enum CodingKeys: String, CodingKey {
            case name = "test"
            case received, sent
        }

        public let name: String
        public let received: [String]
        /// The cookie, or no cookie.
        public let sent: [CookieVector.Pair]
        /// The date of the response and of the next request.
        public let now: HTTPDate
    }

    /// Two cases for each date: the cookie is sent one second before the date, and is not sent at the date. One case for each text that is
    /// not a date: the cookie is a session cookie, which is sent at any time.
    public static func cases() throws -> [Case] {
        let farAway = HTTPDate(secondsSinceEpoch: 253_402_300_799)
        return try all().enumerated().flatMap { number, vector in
            func makeCase(_ name: String, isSent: Bool, at now: HTTPDate) -> Case {
                let pair = CookieVector.Pair(name: "foo", value: "bar")
                return Case(name: "\(name)\(number)", received: ["foo=bar; Expires=\(vector.text)"], sent: isSent ? [pair] : [], now: now)
            }
            guard let expected = vector.expected.flatMap({ HTTPDate($0, now: farAway) }) else {
                return [makeCase("session", isSent: true, at: farAway)]
            }
            let before = HTTPDate(secondsSinceEpoch: expected.secondsSinceEpoch - 1)
            return [makeCase("before", isSent: true, at: before), makeCase("at", isSent: false, at: expected)]
        }
    }
}
