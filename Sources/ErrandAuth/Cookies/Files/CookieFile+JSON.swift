#if Auth
public import ErrandCore
internal import ErrandFormats

extension CookieFile {
    /// Reads a file that ``json(of:)`` has written.
    ///
    /// - Parameter data: the file, at most ``limitBytes``.
    /// - Returns: the cookies in the order of the file. Some of the cookies may have expired.
    /// - Throws: ``CookieFileError`` with one of these codes: `foreign`, `newerVersion`, `corrupt`, `tooLarge`.
    public static func json(parsing data: Data) throws(CookieFileError) -> [Cookie] {
        guard data.count <= limitBytes else { throw CookieFileError(.tooLarge) }
        guard let head = try? coding.decode(Head.self, from: data), head.format.isExactly(format) else { throw CookieFileError(.foreign) }
        guard head.version <= version else { throw CookieFileError(.newerVersion) }
        guard head.version == version, let body = try? coding.decode(Body.self, from: data) else { throw CookieFileError(.corrupt) }
        return body.cookies.map(\.cookie)
    }

    /// Returns the JSON of cookies, including the session cookies.
    ///
    /// ```json
    /// {"cookies": [{"created": 1792658201, "domain": "a.example", "expires": 1795250201, "hostOnly": true, "httpOnly": true,
    ///     "name": "sid", "path": "/", "sameSite": "Lax", "secure": true, "value": "31d4d96e407aad42"}],
    ///     "format": "errand-cookies", "version": 1}
    /// ```
    ///
    /// Dates are seconds since 1970. The members `expires` and `sameSite` may be missing. If a text has octets other than visible ASCII
    /// characters and spaces, the file has an object with the text in base64: `{"base64": "w6k="}`.
    public static func json(of cookies: some Sequence<Cookie>) -> Data {
        let body = Body(format: format, version: version, cookies: cookies.map(Record.init))
        do {
            return try coding.encode(body)
        } catch {
            preconditionFailure("numbers, texts and flags must be encodable as JSON: \(error)")
        }
    }

    private static let coding = JSONCoding()
    private static let format = "errand-cookies"
    private static let version = 1
}

private struct Head: Decodable {
    let format: String
    let version: Int
}

private struct Body: Codable {
    let format: String
    let version: Int
    let cookies: [Record]
}

private struct Record: Codable {
    let cookie: Cookie

    private enum CodingKeys: String, CodingKey {
        case created, domain, expires, name, path, sameSite, value
        case isHostOnly = "hostOnly"
        case isHTTPOnly = "httpOnly"
        case isSecure = "secure"
    }

    init(_ cookie: Cookie) { self.cookie = cookie }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        func date(_ seconds: Int64) throws -> HTTPDate {
            guard dates.contains(seconds) else {
                throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "not a date"))
            }
            return HTTPDate(secondsSinceEpoch: seconds)
        }
        let sameSite = try members.decodeIfPresent(String.self, forKey: .sameSite)
        let known = sameSite.flatMap { Cookie.SameSite(rawValue: $0) }
        guard sameSite == nil || known != nil else {
            throw DecodingError.dataCorruptedError(forKey: .sameSite, in: members, debugDescription: "not a value of SameSite")
        }
        cookie = Cookie(
            name: try members.decode(StoredText.self, forKey: .name).text, value: try members.decode(StoredText.self, forKey: .value).text,
            domain: try members.decode(StoredText.self, forKey: .domain).text,
            isHostOnly: try members.decode(Bool.self, forKey: .isHostOnly),
            path: try members.decode(StoredText.self, forKey: .path).text,
            expires: try members.decodeIfPresent(Int64.self, forKey: .expires).map(date),
            isSecure: try members.decode(Bool.self, forKey: .isSecure), isHTTPOnly: try members.decode(Bool.self, forKey: .isHTTPOnly),
            sameSite: known, created: try date(members.decode(Int64.self, forKey: .created)))
    }

    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        func seconds(_ date: HTTPDate) -> Int64 { min(max(date.secondsSinceEpoch, dates.lowerBound), dates.upperBound) }
        try members.encode(seconds(cookie.created), forKey: .created)
        try members.encode(StoredText(text: cookie.domain), forKey: .domain)
        try members.encodeIfPresent(cookie.expires.map(seconds), forKey: .expires)
        try members.encode(cookie.isHostOnly, forKey: .isHostOnly)
        try members.encode(cookie.isHTTPOnly, forKey: .isHTTPOnly)
        try members.encode(StoredText(text: cookie.name), forKey: .name)
        try members.encode(StoredText(text: cookie.path), forKey: .path)
        try members.encodeIfPresent(cookie.sameSite?.rawValue, forKey: .sameSite)
        try members.encode(cookie.isSecure, forKey: .isSecure)
        try members.encode(StoredText(text: cookie.value), forKey: .value)
    }
}

/// The dates that a file can have, in seconds since 1970: the years from 1 to 9999.
private let dates: ClosedRange<Int64> = -62_135_596_800...NetscapeCookieFile.Entry.latestExpiry

/// A text of a cookie. A server may choose a text that is slow to compare. ``JSONCoding`` refuses to read such a text. Therefore, the text
/// is stored as base64.
private struct StoredText: Codable {
    let text: String

    private enum CodingKeys: String, CodingKey { case base64 }

    init(text: String) { self.text = text }

    init(from decoder: any Decoder) throws {
        if let text = try? decoder.singleValueContainer().decode(String.self) {
            self.text = text
            return
        }
        let members = try decoder.container(keyedBy: CodingKeys.self)
        guard let text = String(validating: try members.decode(Data.self, forKey: .base64), as: UTF8.self) else {
            throw DecodingError.dataCorruptedError(forKey: .base64, in: members, debugDescription: "not UTF-8")
        }
        self.text = text
    }

    func encode(to encoder: any Encoder) throws {
        if text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) {
            var value = encoder.singleValueContainer()
            try value.encode(text)
        } else {
            var members = encoder.container(keyedBy: CodingKeys.self)
            try members.encode(Data(text.utf8), forKey: .base64)
        }
    }
}
#endif
