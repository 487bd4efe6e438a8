import TestSupport
import Testing

@testable import ErrandFormats

/// Runs of combining marks, which are slow to compare.
@Suite(.timeLimit(.minutes(5))) struct MarkRunTests {
    private func isTooLong(_ text: String, _ syntax: MarkRun.Syntax = .plain) -> Bool {
        Array(text.utf8).withUnsafeBytes { MarkRun.isTooLong(in: $0, syntax) }
    }

    private static let marks = [
        "\u{301}", "\u{316}", "\u{483}", "\u{5B0}", "\u{64B}", "\u{F73}", "\u{F75}", "\u{F81}", "\u{302A}", "\u{3099}", "\u{A66F}",
        "\u{FB1E}", "\u{1D165}", "\u{1E8D0}",
    ]

    @Test(arguments: marks) func aRunOf128IsTheLongest(_ mark: String) {
        let (long, most) = (String(repeating: mark, count: 129), String(repeating: mark, count: 128))
        for front in ["", "a", "日本", "1234567"] {
            #expect(isTooLong(front + long) && isTooLong(front + long + "b") && !isTooLong(front + most + "b" + most))
        }
        #expect(
            Array((long + "a").utf16).flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }.withUnsafeBytes { MarkRun.isTooLong(inUTF16: $0) })
        #expect(
            !Array((most + "a" + most).utf16).flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }.withUnsafeBytes {
                MarkRun.isTooLong(inUTF16: $0)
            })
    }

    /// If a reader of the text sees a run, the text has a run, in every written form.
    @Test(
        arguments: [
            (#"\u0301"#, MarkRun.Syntax.json), (#"\u0301\u0316"#, .json), (#"\ud834\udd65"#, .json), (#"\uD834\uDD65"#, .json),
            ("\u{301}\\u0316", .json),
            ("\\\u{301}", .json), ("\u{301}\\\n", .json), ("\u{301}\\\r\n", .json), ("\u{301}\\\u{2028}", .json), ("&#x301;", .xml),
            ("&#X0000301;", .xml), ("&#769;", .xml), ("&#000769;", .xml),
            ("\u{301}<![CDATA[\u{316}]]>", .xml), ("<![CDATA[\u{301}]]>", .xml), ("\u{301}&#790;", .xml),
        ] as [(String, MarkRun.Syntax)])
    func escapedMarksCount(_ unit: String, _ syntax: MarkRun.Syntax) {
        #expect(isTooLong("a" + String(repeating: unit, count: 129), syntax))
        #expect(!isTooLong("a" + String(repeating: unit + "b", count: 300), syntax))
    }

    @Test(
        arguments: [
            ("é", MarkRun.Syntax.plain), ("e\u{301}", .plain), ("ệ", .plain), ("각", .plain), ("\u{1F1E9}", .plain), ("\u{200D}", .plain),
            ("\\u0301", .plain),
            ("\\\\u0301", .json), ("\\n\u{301}", .json), ("\\u0061\u{301}", .json), ("\\ud834", .json), ("\\u030", .json),
            ("\u{301}\",\"", .json), ("&#x;", .xml),
            ("&#x301", .xml), ("&amp;\u{301}", .xml), ("&#97;\u{301}", .xml), ("<string>\u{301}</string>", .xml), ("\u{301} ", .plain),
        ] as [(String, MarkRun.Syntax)])
    func otherTextHasNoRun(_ unit: String, _ syntax: MarkRun.Syntax) {
        #expect(!isTooLong(String(repeating: unit, count: 500), syntax))
    }

    /// The ranges that are passed over have no marks.
    @Test func everyScalarIsJudgedByItsClass() {
        for value in UInt32(0)...0x10_FFFF {
            guard let scalar = Unicode.Scalar(value), ![0xF73, 0xF75, 0xF81].contains(value) else { continue }
            if MarkRun.isMark(value) != (scalar.properties.canonicalCombiningClass.rawValue != 0) {
                Issue.record("U+\(String(value, radix: 16))")
            }
        }
    }

    @Test func bytesThatAreNotUTF8EndARun() {
        let half = Array(String(repeating: "\u{301}", count: 100).utf8)
        for bytes in [[0xCC], [0xFF], [0xC0, 0x80], [0xE3, 0x82], [0xF5, 0x80, 0x80, 0x80]] as [[UInt8]] {
            #expect(!(half + bytes + half).withUnsafeBytes { MarkRun.isTooLong(in: $0) })
            #expect(!(half + half.prefix(50) + bytes).withUnsafeBytes { MarkRun.isTooLong(in: $0) })
        }
    }

    // MARK: Readers of values

    private static let long = "a" + String(repeating: "\u{301}\u{316}", count: 65)

    @Test func valuesOfJSONAreRefused() throws {
        func problem(_ text: String) -> String? { Array(text.utf8).withUnsafeBytes { JSONDepth.problem(in: $0) } }
        let escaped = "a" + String(repeating: #"\u0301\u0316"#, count: 65)
        for value in [Self.long, escaped] {
            for text in ["\"\(value)\"", "{\"a\":[\"\(value)\"]}"] {
                #expect(problem(text) == MarkRun.problem)
                let error = #expect(throws: JSONParsingError.self) { try JSONValue(parsing: text.utf8) }
                #expect(error?.message == MarkRun.problem && error?.exceedsLimit == true)
            }
        }
        let most = String(repeating: "a" + String(repeating: "\u{301}", count: 128), count: 9)
        #expect(problem("[\"\(most)\"]") == nil)
        #expect(try JSONValue(parsing: "[\"\(most)\"]".utf8) == [.string(most)])
    }

    @Test func problemDetailsRefuseARun() {
        #expect(throws: JSONParsingError.self) { try ProblemDetails(parsing: "{\"type\":\"\(Self.long)\"}".utf8) }
    }
}
