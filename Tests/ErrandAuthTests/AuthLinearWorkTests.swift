#if Auth
import Foundation
import TestSupport
import Testing

@testable import ErrandAuth

/// The files of cookies and of HSTS hosts are read in time in proportion to their bytes.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct AuthLinearWorkTests {
    struct Reader: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let text: @Sendable (Int) -> String
        let read: @Sendable (String) -> Void

        init(_ name: String, text: @escaping @Sendable (Int) -> String, _ read: @escaping @Sendable (String) -> Void) {
            (testDescription, self.text, self.read) = (name, text, read)
        }
    }

    private static let readHosts: @Sendable (String) -> Void = { _ = HSTSFile.hosts(in: $0) }
    private static let readCookies: @Sendable (String) -> Void = { _ = try? CookieFile.json(parsing: Data($0.utf8)) }

    private static func repeated(_ text: String) -> @Sendable (Int) -> String { { String(repeating: text, count: $0) } }

    private static func file(of cookies: String) -> String {
        #"{"cookies": ["# + cookies + #"], "format": "errand-cookies", "version": 1}"#
    }

    static let readers: [Reader] = [
        Reader("hosts, lines", text: repeated("a.example \"unlimited\"\n"), readHosts),
        Reader("hosts, notes", text: repeated("# noted 1\n"), readHosts),
        Reader("hosts, one line", text: repeated("a"), readHosts),
        Reader("hosts, one name", text: { String(repeating: "a.", count: $0) + " \"unlimited\"" }, readHosts),
        Reader("hosts, spaces", text: repeated(" "), readHosts),
        Reader("hosts, marks", text: { "a\u{301}" + String(repeating: "\u{316}\u{301}", count: $0) + " \"unlimited\"" }, readHosts),
        Reader("cookies, brackets", text: repeated("[{"), readCookies),
        Reader("cookies, wrong members", text: { file(of: String(repeating: "{},", count: $0) + "{}") }, readCookies),
        Reader("cookies, a long value", text: { file(of: #"{"value": "\#(String(repeating: "a", count: $0))"}"#) }, readCookies),
        Reader("cookies, marks", text: { file(of: #"{"value": "a\#(String(repeating: "\u{301}\u{316}", count: $0))"}"#) }, readCookies),
    ]

    @Test(arguments: readers) func eightTimesTheTextTakesAboutEightTimesAsLong(_ reader: Reader) {
        let growth = growth(of: 1_000, making: reader.text) { reader.read($0) }
        #expect(growth < 30, "quadratic work grows 64 times")
    }
}
#endif
