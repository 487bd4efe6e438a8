import Errand
import TestSupport
import Testing

@testable import ErrandCore

/// The time to read and to show text from the network is proportional to the length of the text.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct LinearWorkTests {
    struct Reader: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let count: Int
        let text: @Sendable (Int) -> String
        let read: @Sendable (String) -> Void

        init(_ name: String, _ count: Int, text: @escaping @Sendable (Int) -> String, _ read: @escaping @Sendable (String) -> Void) {
            (testDescription, self.count, self.text, self.read) = (name, count, text, read)
        }
    }

    private static func repeated(_ text: String) -> @Sendable (Int) -> String { { String(repeating: text, count: $0) } }

    private static func redaction(_ text: String, _ front: String = "") -> Reader {
        Reader("redaction, \(front)\(text)", 2_000, text: { front + String(repeating: text, count: $0) }) {
            _ = Sensitivity.standard.redactedURL($0)
        }
    }

    private static func url(_ text: String, front: String = "https://", end: String = "/") -> Reader {
        Reader("URL, \(front)\(text)", 1_000, text: { front + String(repeating: text, count: $0) + end }) {
            _ = try? HTTPURL($0)
            _ = try? URLReference($0).resolved(against: URLReference("http://a/b/c"))
            _ = try? URLReference(received: $0).resolved(against: URLReference("http://a/b/c"))
        }
    }

    static let readers: [Reader] = [
        redaction("x@//:x//:x"), redaction("//:x"), redaction("//:x", "@"), redaction("//a:b@"), redaction("//u@"), redaction(":/a:b\\"),
        redaction("@"), redaction("?a=1&token=2;b=3#"), redaction("%2525", "?a="), redaction("%3D%26", "?a="), redaction("%40%2F%2F:"),
        redaction("a:b@\n"), redaction("\\", "@"), redaction("/", "@"), redaction("?", "//a:b@"), redaction("é", "?a="), redaction("🇩"),
        redaction("%25", "?next=%2F%2Fa%3Ab%40"), redaction("%253Ftoken%253D", "?x="), redaction("token", "?"), redaction("<//u:p@h/>, "),
        url("🇩"), url("a."), url("ä"), url("a", end: "\u{301}/"), url("]"), url(":"), url("[::"), url("1", front: "https://[::"),
        url("/..", front: "https://a"), url("../", front: "", end: "g"), url("/./a", front: "//h"), url("?", front: "https://a/?"),
        url("x@", front: "https://"), url("🇩", front: "https://a/#"), url("%41", front: "https://a/"),
        url(" ", front: "", end: "x"), url("%", front: "/"), url("ä b[", front: "/"), url("\u{301}\u{316}", front: "/a"),
        url("\u{301}\u{316}", front: "/?a#"),
        Reader("form, marks in values", 4_000, text: { "x=a" + String(repeating: "\u{301}\u{316}", count: $0) }) { text in
            _ = try? FormURLEncoded.decode([String: Bool].self, from: Data(text.utf8))
            _ = try? FormURLEncoded.decode([String: Set<String>].self, from: Data(text.utf8))
        },
        Reader("JSON of an app, marks in values", 4_000, text: { "[\"a" + String(repeating: "\u{301}\u{316}", count: $0) + "\"]" }) {
            text in
            _ = try? JSONCoding.standard.decode(Set<String>.self, from: Data(text.utf8))
        },
        Reader("invalid URL", 4_000, text: repeated("//:x@")) { _ = InvalidURLError($0, .credentials) },
        Reader("shown safely", 20_000, text: repeated("a\u{301}\u{0}")) { _ = $0.shownSafely(limit: .max) },
        Reader("address, colons", 8_000, text: repeated(":")) { _ = try? IPAddress($0) },
        Reader("address, an interface", 8_000, text: { "fe80::1%" + String(repeating: "1", count: $0) }) { _ = try? IPAddress($0) },
        Reader("certificate, values", 8_000, text: { "0\u{3}" + String(repeating: "0\0", count: $0) }) { text in
            _ = CertificateParts(Array(text.utf8)[...])
            var reader = DERReader(Array(text.utf8)[...])
            while reader.read() != nil {}
        },
        Reader("path pattern", 4_000, text: repeated("/a")) { _ = PathPattern("/{a}/{b}/**").values(in: $0) },
        Reader("path template", 4_000, text: repeated("/a;b")) { _ = try? PathTemplate(verbatim: $0).resolved() },
        Reader("escapes", 8_000, text: repeated("%41%")) { text in
            _ = PercentEncoding.decode(text)
            _ = PercentEncoding.decodedLeniently(text)
            _ = PercentEncoding.encode(text, allowing: .segment)
        },
        Reader("lines, short", 8_000, text: repeated("a\n")) { split($0, by: 1000) },
        Reader("lines, one in many pieces", 8_000, text: repeated("a")) { split($0, by: 1) },
        Reader("lines, of carriage returns", 8_000, text: repeated("\r\n\r")) { split($0, by: 3) },
        Reader("fields", 100, text: repeated("<https://u:p@h/?token=x>; rel=next, ")) { text in
            let fields = HTTPFields(
                (0..<8).map { HTTPField(name: HTTPField.Name("X-\($0)-Link")!, value: text) } + [HTTPField(name: .location, value: text)])
            _ = Sensitivity.standard.shown(fields)
        },
    ]

    private static func split(_ text: String, by count: Int) {
        var splitter = LineSplitter()
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            splitter.append(rest.prefix(count))
            rest = rest.dropFirst(count)
            while splitter.next() != nil {}
        }
        _ = splitter.finish()
    }

    @Test(arguments: readers) func eightTimesTheTextTakesAboutEightTimesAsLong(_ reader: Reader) {
        let growth = growth(of: reader.count, making: reader.text) { reader.read($0) }
        #expect(growth < 30, "quadratic work grows 64 times")
    }

    @Test func manyFieldsAreShownInTimeInProportionToTheirNumber() {
        func fields(_ count: Int) -> HTTPFields {
            HTTPFields((0..<count).map { HTTPField(name: HTTPField.Name("X-\($0)")!, value: "\($0)") })
        }
        let growth = growth(of: 200, making: fields) { fields in
            _ = Sensitivity.standard.shown(fields)
            _ = fields.markingSensitive(by: .standard)
        }
        #expect(growth < 30)
    }

    @Test func textCutOffAMessageTakesNoTime() {
        let growth = growth(of: 50_000, making: { String(repeating: "a\u{301}", count: $0) }) { text in
            for _ in 0..<50 { _ = text.shownSafely() }
        }
        #expect(growth < 4)
        let marks = "a" + String(repeating: "\u{301}", count: 10_000)
        #expect(marks.shownSafely().unicodeScalars.count <= 801, "one character may have any number of marks")
        #expect("ab\u{301}".shownSafely(limit: 2) == "ab\u{301}" && "abc".shownSafely(limit: 2) == "ab…")
    }
}
