#if Auth
public import ErrandCore
internal import ErrandFormats

/// The file formats of cookies: the Netscape format, which `curl` reads and writes, and JSON.
///
/// ```swift
/// let file = try CookieFile.netscape(parsing: Data(contentsOf: url))
/// for cookie in file.cookies { print(cookie.name, cookie.domain) }
/// ```
///
/// The texts contain the values of the cookies, which are secrets. ``FileCookieStore`` keeps cookies in a private file.
public enum CookieFile {
    /// The maximum length of a file: 16 MiB.
    public static let limitBytes = 16 << 20

    /// The cookies of a file in the Netscape format, and the lines that are not cookies.
    public struct Netscape: Sendable {
        /// The cookies in the order of the lines. Some of the cookies may have expired.
        public let cookies: [Cookie]
        /// The first 100 lines that are neither a cookie nor a comment.
        public let problems: [Problem]
        /// The number of all lines that are neither a cookie nor a comment.
        public let problemCount: Int
    }

    /// A line that is not a cookie, in a file of cookies.
    public struct Problem: Sendable, Hashable, CustomStringConvertible {
        /// The number of the line. The first line has the number 1.
        public let line: Int
        /// The reason, which contains no part of the line.
        public let reason: String

        /// The line and the reason: `line 7: the path does not begin with a slash`.
        public var description: String { "line \(line): \(reason)" }
    }

    // MARK: Netscape

    /// Reads a file in the Netscape format ([curl's description](https://curl.se/docs/http-cookies.html)).
    ///
    /// A line has seven fields, separated by tabs. A line that begins with `#HttpOnly_` has the attribute `HttpOnly`. Other lines that
    /// begin with `#` are comments. An invalid line does not prevent the reading of the other lines. A line has at most 8,192 octets. If a
    /// file has more than 10,000 cookies, only the first 10,000 cookies are read.
    ///
    /// - Parameters:
    ///   - data: the file in UTF-8, at most ``limitBytes``. Lines end in LF or CR LF.
    ///   - now: the creation date of the cookies, because the format has no such date. Default: the current date.
    /// - Returns: the cookies and the invalid lines. ``Cookie/sameSite`` is `nil`, because the format has no such attribute.
    /// - Throws: ``CookieFileError`` with the code `tooLarge`.
    public static func netscape(parsing data: Data, at now: Date = Date()) throws(CookieFileError) -> Netscape {
        guard data.count <= limitBytes else { throw CookieFileError(.tooLarge) }
        let created = HTTPDate(now)
        let file = data.withUnsafeBytes { NetscapeCookieFile(parsing: $0.bindMemory(to: UInt8.self)) }
        let cookies = file.entries.map { entry in
            Cookie(
                name: entry.name, value: entry.value, domain: entry.domain, isHostOnly: !entry.includesSubdomains, path: entry.path,
                expires: entry.expires.map { HTTPDate(secondsSinceEpoch: $0) }, isSecure: entry.isSecure, isHTTPOnly: entry.isHTTPOnly,
                created: created)
        }
        return Netscape(
            cookies: cookies, problems: file.badLines.map { Problem(line: $0.number, reason: $0.problem.rawValue) },
            problemCount: file.badLineCount)
    }

    /// Returns the text of a file in the Netscape format, including the session cookies.
    ///
    /// The format has no ``Cookie/sameSite`` and no ``Cookie/created``. Cookies that the format can't express are omitted:
    /// ``hasNetscapeForm(_:)``.
    public static func netscape(of cookies: some Sequence<Cookie>) -> String {
        NetscapeCookieFile.text(of: cookies.lazy.map(entry))
    }

    /// Returns whether the Netscape format can express a cookie. The format can't express these cookies:
    /// - a cookie without a name
    /// - a cookie with a tab or another control character
    /// - a cookie with an invalid domain or path
    /// - a cookie whose line would have more than 8,192 octets
    public static func hasNetscapeForm(_ cookie: Cookie) -> Bool { entry(cookie).line != nil }

    private static func entry(_ cookie: Cookie) -> NetscapeCookieFile.Entry {
        NetscapeCookieFile.Entry(
            domain: cookie.domain, includesSubdomains: !cookie.isHostOnly, path: cookie.path, isSecure: cookie.isSecure,
            expires: cookie.expires?.secondsSinceEpoch, name: cookie.name, value: cookie.value, isHTTPOnly: cookie.isHTTPOnly)
    }
}
#endif
