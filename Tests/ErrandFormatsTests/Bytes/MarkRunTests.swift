import ErrandTesting
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

    // MARK: Windows

    /// The same definition, without windows: each scalar counts in turn.
    private static func hasLongRun(_ octets: [UInt8]) -> Bool {
        var (run, rest) = (0, octets[...])
        while let first = rest.first {
            let length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
            let scalar = String(validating: rest.prefix(length), as: UTF8.self)?.unicodeScalars.first
            run = scalar.map { MarkRun.isMark($0.value) } == true ? run + 1 : 0
            if run > MarkRun.limit { return true }
            rest = rest.dropFirst(scalar == nil ? 1 : length)
        }
        return false
    }

    /// The same definition, without windows: the scanner reads the whole text in order.
    private static func hasLongRunInOrder(_ octets: [UInt8], _ syntax: MarkRun.Syntax) -> Bool {
        octets.withUnsafeBytes { MarkRunScanner(text: $0, syntax: syntax).readInOrder(from: 0, to: octets.count) == nil }
    }

    private static let letters = ["a", " ", "n", "u", "9", "\n", "é", "ω", "日", "각", "\u{1F680}", "\u{2028}", "\u{200D}", "\u{E01EF}"]
    private static let broken: [[UInt8]] = [[0x80], [0xCC], [0xE3, 0x82], [0xF0, 0x9D, 0x85], [0xC1, 0x80], [0xF5, 0x80], [0xFF]]

    /// The written forms of marks, the texts that are invisible between marks, and the texts that end a run.
    private static func forms(_ syntax: MarkRun.Syntax) -> (marks: [[UInt8]], invisible: [[UInt8]], ends: [[UInt8]]) {
        let (marks, invisible, ends): ([String], [String], [String]) =
            switch syntax {
            case .plain: ([], [], [#"\u0301"#, "&#769;"])
            case .json:
                (
                    [#"\u0301"#, #"\u05B0"#, #"\ud834\udd65"#],
                    ["\\\n", "\\\r", "\\\r\n", "\\\u{2028}", "\\\u{2029}"],
                    [#"\\u0301"#, #"\u0061"#, #"\ud834"#, #"\u03"#, #"\n"#, #"\"#, #"\""#, "\n", "\r", "0301", "f"]
                )
            case .xml:
                (
                    ["&#769;", "&#x301;", "&#X0000000301;"], ["<![CDATA[", "]]>", "]]><![CDATA["],
                    ["&#x61;", "&#769", "&#;", "&amp;", "&", "]]", "<![CDATA", "]", "<", "T", ";", "0301"]
                )
            }
        return (
            (Self.marks + marks).map { Array($0.utf8) }, invisible.map { Array($0.utf8) },
            (letters + ends).map { Array($0.utf8) } + broken
        )
    }

    /// Random texts whose runs are a little shorter or longer than the limit, at random places.
    @Test(arguments: [MarkRun.Syntax.plain, .json, .xml]) func windowsFindTheRunsThatReadingInOrderFinds(_ syntax: MarkRun.Syntax) {
        var random = SeededGenerator(seed: 1)
        let (allMarks, invisible, ends) = Self.forms(syntax)
        var counts = (long: 0, short: 0)
        for _ in 0..<500 {
            // A text of few different marks has shorter or longer runs, in octets.
            let marks = (0..<Int.random(in: 1...4, using: &random)).map { _ in allMarks.randomElement(using: &random) ?? [] }
            var text: [UInt8] = []
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                for _ in 0..<Int.random(in: 0...(Bool.random(using: &random) ? 4 : 300), using: &random) {
                    text += ends.randomElement(using: &random) ?? []
                }
                for _ in 0..<Int.random(in: 120...132, using: &random) {
                    text += marks.randomElement(using: &random) ?? []
                    if Int.random(in: 0..<8, using: &random) == 0 { text += invisible.randomElement(using: &random) ?? [] }
                    if Int.random(in: 0..<200, using: &random) == 0 { text += ends.randomElement(using: &random) ?? [] }
                }
            }
            let isLong = text.withUnsafeBytes { MarkRun.isTooLong(in: $0, syntax) }
            if isLong { counts.long += 1 } else { counts.short += 1 }
            #expect(isLong == Self.hasLongRunInOrder(text, syntax), "\(text)")
            if syntax == .plain { #expect(isLong == Self.hasLongRun(text), "\(text)") }
        }
        #expect(counts.long > 100 && counts.short > 100, "\(counts)")
    }

    /// A window ends at each place of a run, and of the characters before and after the run.
    @Test(arguments: [MarkRun.Syntax.plain, .json, .xml]) func aRunIsFoundAtEachPlace(_ syntax: MarkRun.Syntax) {
        let (marks, _, ends) = Self.forms(syntax)
        for mark in marks {
            let (long, most) = (mark.repeated(129), mark.repeated(128))
            for (index, end) in ends.enumerated() {
                let front = [UInt8](repeating: 0x20, count: 255 + index % 5) + end
                // A backslash before an escape makes one mark fewer.
                let isLong = (front + long).withUnsafeBytes { MarkRun.isTooLong(in: $0, syntax) }
                #expect(isLong == Self.hasLongRunInOrder(front + long, syntax))
                let short = front + most + [0x20] + most + end
                #expect(!short.withUnsafeBytes { MarkRun.isTooLong(in: $0, syntax) })
            }
            for count in 0..<MarkRunScanner.windowBytes {
                let text = [UInt8](repeating: 0x2E, count: count) + long
                #expect(text.withUnsafeBytes { MarkRun.isTooLong(in: $0, syntax) })
            }
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
