/// The cookies of a text file in the format of Netscape, which `curl` and other programs read and write
/// ([curl's description](https://curl.se/docs/http-cookies.html)).
///
/// Each line is a cookie. Tabs separate its seven fields:
/// - the domain
/// - whether subdomains get the cookie
/// - the path
/// - whether the cookie is secure
/// - the expiry in seconds since 1970
/// - the name
/// - the value
///
/// Lines that begin with `#` are comments, except `#HttpOnly_DOMAIN`.
package struct NetscapeCookieFile: Sendable {
    /// One cookie.
    package struct Entry: Sendable, Hashable {
        /// The domain in lower case, without a dot at the beginning. An IPv6 address has brackets.
        package var domain: String
        /// Whether subdomains of the domain get the cookie.
        package var includesSubdomains: Bool
        /// The path, which begins with a slash.
        package var path: String
        /// Whether the cookie is sent only over `https`.
        package var isSecure: Bool
        /// The expiry in seconds since 1970, from 1 to ``Entry/latestExpiry``; `nil` for a cookie of the session.
        package var expires: Int64?
        /// The name; may be empty.
        package var name: String
        /// The value; may be empty, unless the name is empty.
        package var value: String
        /// Whether scripts of a page must not read the cookie.
        package var isHTTPOnly: Bool

        /// The latest expiry, the end of the year 9999. A later expiry is read as this expiry.
        package static let latestExpiry: Int64 = 253_402_300_799

        package init(
            domain: String, includesSubdomains: Bool, path: String, isSecure: Bool, expires: Int64?, name: String, value: String,
            isHTTPOnly: Bool
        ) {
            (self.domain, self.includesSubdomains, self.path, self.isSecure) = (domain, includesSubdomains, path, isSecure)
            (self.expires, self.name, self.value, self.isHTTPOnly) = (expires, name, value, isHTTPOnly)
        }
    }

    /// The reason why a line is not a cookie. The text contains no part of the line.
    package enum Problem: String, Error, Sendable, CaseIterable {
        case length = "the line has more than 8,192 octets"
        case fields = "the line does not have seven fields separated by tabs"
        case domain = "the domain is invalid"
        case flag = "the second or the fourth field is neither TRUE nor FALSE"
        case path = "the path does not begin with a slash"
        case expiry = "the expiry is not a number of seconds"
        case empty = "the name and the value are empty"
        case octet = "the line has a control character"
        case encoding = "the line is not UTF-8"
        case count = "the file has too many cookies"
    }

    /// A line that is not a cookie.
    package struct BadLine: Sendable, Hashable {
        /// The number of the line. The first line has the number 1.
        package let number: Int
        package let problem: Problem
    }

    /// The longest line, in octets, without its end: 8,192.
    package static let lineLimitBytes = 8192
    /// The largest number of cookies of a file: 10,000. If there are more cookies, the reading stops with ``Problem/count``.
    package static let entryLimit = 10_000
    /// The largest number of bad lines that are kept: 100.
    package static let badLineLimit = 100

    /// The cookies, in the order of the lines.
    package private(set) var entries: [Entry] = []
    /// The first 100 bad lines.
    package private(set) var badLines: [BadLine] = []
    /// The number of all bad lines.
    package private(set) var badLineCount = 0

    /// Reads a file. A bad line does not prevent the reading of the other lines. Lines end in LF or CR LF.
    package init(parsing octets: UnsafeBufferPointer<UInt8>) {
        var (start, number) = (octets.hasByteOrderMark ? 3 : 0, 0)
        while start < octets.count {
            number += 1
            var end = start
            while end < octets.count, octets[end] != UInt8(ascii: "\n") { end += 1 }
            let line = octets.part(start..<(end > start && octets[end - 1] == UInt8(ascii: "\r") ? end - 1 : end))
            start = end + 1
            do throws(Problem) {
                guard let entry = try Entry(line: line) else { continue }
                guard entries.count < Self.entryLimit else { throw .count }
                entries.append(entry)
            } catch {
                badLineCount += 1
                if badLines.count < Self.badLineLimit { badLines.append(BadLine(number: number, problem: error)) }
                if error == .count { return }
            }
        }
    }

    /// The first lines of a file, which programs use to recognize the format.
    private static let head = "# Netscape HTTP Cookie File\n# https://curl.se/docs/http-cookies.html\n\n"

    /// Returns the text of a file. Entries without a line (``Entry/line``) are left out.
    package static func text(of entries: some Sequence<Entry>) -> String {
        entries.reduce(into: head) { text, entry in if let line = entry.line { text += line + "\n" } }
    }
}

extension NetscapeCookieFile.Entry {
    private typealias Problem = NetscapeCookieFile.Problem

    private static let httpOnlyPrefix = "#HttpOnly_"

    /// Reads a line without its end; `nil` for a comment and for an empty line.
    init?(line: UnsafeBufferPointer<UInt8>) throws(NetscapeCookieFile.Problem) {
        var rest = line
        let isHTTPOnly = rest.starts(with: Self.httpOnlyPrefix.utf8)
        if isHTTPOnly { rest = rest.part(Self.httpOnlyPrefix.utf8.count..<rest.count) }
        guard isHTTPOnly || rest.first != UInt8(ascii: "#"), rest.contains(where: { !$0.isSpace }) else { return nil }
        guard line.count <= NetscapeCookieFile.lineLimitBytes else { throw .length }
        var fields: [UnsafeBufferPointer<UInt8>] = []
        var start = 0
        for index in rest.indices where rest[index] == UInt8(ascii: "\t") {
            fields.append(rest.part(start..<index))
            start = index + 1
        }
        fields.append(rest.part(start..<rest.count))
        // Editors that remove white space at the end of a line also remove the tab in front of an empty value.
        if fields.count == 6 { fields.append(rest.part(rest.count..<rest.count)) }
        guard fields.count == 7 else { throw .fields }
        guard ByteScan.firstControl(in: rest).control == nil else { throw .octet }
        let domain = try Self.domain(fields[0])
        let (includesSubdomains, isSecure) = (try Self.flag(fields[1]), try Self.flag(fields[3]))
        guard fields[2].first == UInt8(ascii: "/") else { throw .path }
        let expires = try Self.expiry(fields[4])
        guard !fields[5].isEmpty || !fields[6].isEmpty else { throw .empty }
        self.init(
            domain: domain, includesSubdomains: includesSubdomains, path: try Self.text(fields[2]), isSecure: isSecure, expires: expires,
            name: try Self.text(fields[5]), value: try Self.text(fields[6]), isHTTPOnly: isHTTPOnly)
    }

    private static func text(_ octets: UnsafeBufferPointer<UInt8>) throws(NetscapeCookieFile.Problem) -> String {
        guard let text = String(validating: octets, as: UTF8.self) else { throw .encoding }
        return text
    }

    private static func flag(_ octets: UnsafeBufferPointer<UInt8>) throws(NetscapeCookieFile.Problem) -> Bool {
        let word = String(decoding: octets.part(0..<min(octets.count, 6)), as: UTF8.self)
        if word.isExactlyIgnoringCase("TRUE") { return true }
        guard word.isExactlyIgnoringCase("FALSE") else { throw .flag }
        return false
    }

    private static func expiry(_ octets: UnsafeBufferPointer<UInt8>) throws(NetscapeCookieFile.Problem) -> Int64? {
        guard octets.count <= 32, let seconds = Int64(clampingDigits: octets) else { throw .expiry }
        return seconds == 0 ? nil : min(seconds, latestExpiry)
    }

    private static func domain(_ octets: UnsafeBufferPointer<UInt8>) throws(NetscapeCookieFile.Problem) -> String {
        let octets = octets.first == UInt8(ascii: ".") ? octets.part(1..<octets.count) : octets
        guard (1...253).contains(octets.count), octets.allSatisfy({ $0.isHostNameOctet || $0 == UInt8(ascii: ":") }) else { throw .domain }
        let text = String(decoding: octets.lazy.map(\.asciiLowercased), as: UTF8.self)
        if text.containsOctet(UInt8(ascii: ":")) {
            // Other programs write an IPv6 address without its brackets.
            let isAddress = octets.allSatisfy { $0.isHexDigit || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") }
            guard isAddress, octets.count(where: { $0 == UInt8(ascii: ":") }) > 1 else { throw .domain }
            return "[\(text)]"
        }
        let labels = text.hasOctetSuffix(".") ? text.dropLast() : text[...]
        for label in labels.split(atOctet: UInt8(ascii: "."), omittingEmptyPieces: false) {
            guard (1...63).contains(label.utf8.count) else { throw .domain }
        }
        return text
    }

    /// The line of the cookie, without its end; `nil` if the format can't express the cookie.
    ///
    /// The format can't express the following cookies:
    /// - a cookie without a name, because `curl` reads its value as the name
    /// - a cookie with a tab or another control character
    /// - a cookie whose line is longer than 8,192 octets, or whose domain or path is invalid
    package var line: String? {
        var written = self
        // An expiry of 0 means a cookie of the session. Therefore, an expiry before 1 is written as 1, which is also in the past.
        written.expires = expires.map { max(1, min($0, Self.latestExpiry)) }
        let isAddress = domain.hasOctetPrefix("[") && domain.hasOctetSuffix("]")
        let fields = [
            (isHTTPOnly ? Self.httpOnlyPrefix : "") + (includesSubdomains ? "." : "")
                + (isAddress ? String(domain.dropFirst().dropLast()) : domain),
            includesSubdomains ? "TRUE" : "FALSE", path, isSecure ? "TRUE" : "FALSE", String(written.expires ?? 0), name, value,
        ]
        let line = fields.joined(separator: "\t")
        // A line is written only if a reader of the line gets the same cookie.
        let read = line.withUTF8Bytes { octets in try? Self(line: octets) }
        return !name.isEmpty && !line.containsOctet(UInt8(ascii: "\n")) && read == written ? line : nil
    }
}
