import Foundation
import TestSupport
import Testing

@testable import ErrandFormats

/// Reading property lists from the network.
@Suite(.timeLimit(.minutes(5))) struct PropertyListCheckTests {
    /// Any property list, as a type of an app reads it.
    private indirect enum Anything: Decodable {
        case list([Anything])
        case members([String: Anything])
        case value

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let list = try? container.decode([Anything].self) {
                self = .list(list)
            } else if let members = try? container.decode([String: Anything].self) {
                self = .members(members)
            } else {
                _ = (try? container.decode(Date.self), try? container.decode(Int.self), try? container.decode(Double.self))
                _ = (try? container.decode(String.self), try? container.decode(Data.self), try? container.decode(Bool.self))
                self = .value
            }
        }
    }

    /// Lists that hide their tags from a check, but not from Foundation, and lists at which Foundation ends the process. No such list
    /// reaches Foundation.
    @Test func noPropertyListEndsTheProcess() {
        let many = 20_000
        let texts = [
            "<plist>" + String(repeating: "<dict><key/></key>", count: many),
            "<plist><?>" + String(repeating: "<array>", count: many) + "?>",
            "<plist><!-->" + String(repeating: "<array>", count: many) + "-->",
            "<plist><!--->" + String(repeating: "<array>", count: many) + "-->",
            "<plist><array><date>-9223372036854775807-01-01T00:00:00Z</date></array></plist>",
            "<plist><array><date>99999999999999999999-01-01T00:00:00Z</date></array></plist>",
            "<plist><array><integer>99999999999999999999</integer><real>nan</real><real>1e999</real></array></plist>",
            "<plist><array><date>2026-13-45T99:99:99Z</date></array></plist>",
            "<plist><array><date/><integer/><real/><data/></array></plist>",
            "<plist><array><string>&#xFFFFFFFFF;&#xD800;&#0;&lt;</string></array></plist>",
            "<plist><array><true></true><string/></array></plist>",
            "<plist><dict><key>a</key></dict></plist>", "<plist><dict><string>a</string></dict></plist>", "<plist></plist>", "<plist/>",
        ]
        for text in texts {
            let data = Data(text.utf8)
            if problem(data) == nil { _ = try? PropertyListDecoder().decode(Anything.self, from: data) }
        }
        for text in texts.prefix(6) { #expect(problem(text) != nil, "\(text.prefix(80))") }
    }

    /// Foundation reads a date that is no number, and traps when it is written.
    @Test(arguments: [Double.nan, .signalingNaN, .infinity, -.infinity])
    func aDateWithoutANumberIsRefused(value: Double) {
        func list(_ value: Double, marker: UInt8 = 0x33) -> Data {
            binary([[marker] + (0..<8).map { UInt8(truncatingIfNeeded: value.bitPattern >> (56 - 8 * $0)) }])
        }
        #expect(problem(list(value)) == "it is damaged")
        #expect(problem(list(0)) == nil)
        #expect(problem(list(-1e300)) == nil)
        #expect(problem(list(0, marker: 0x32)) == "it is damaged")
    }

    private func problem(_ data: Data) -> String? { data.withUnsafeBytes { PropertyListCheck.problem(in: $0) } }

    private func problem(_ text: String) -> String? { problem(Data(text.utf8)) }

    private static let head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"x\">\n"

    private static func nested(_ depth: Int) -> String {
        String(repeating: "<array>", count: depth) + String(repeating: "</array>", count: depth)
    }

    /// Whatever Foundation writes is read.
    @Test func outputOfFoundationIsRead() throws {
        let texts = (0..<2_000).map { "text \($0 % 7)" }
        let values: [Any] = [
            [
                "a": [1, 2.5, true, Date(), Data([1, 2]), "ä😀", String(repeating: "x", count: 300)],
                "b": ["c": [:] as [String: Any], "d": []],
            ],
            texts, Array(repeating: ["name": "Ada", "age": 36] as [String: Any], count: 500), ["<a> & ]]> <!-- --> </array>"], [] as [Any],
        ]
        for value in values {
            for format in [PropertyListSerialization.PropertyListFormat.xml, .binary] {
                let data = try PropertyListSerialization.data(fromPropertyList: value, format: format, options: 0)
                #expect(problem(data) == nil, "\(String(decoding: data.prefix(200), as: UTF8.self))")
                #expect(throws: Never.self) { try PropertyListDecoder().decode(Anything.self, from: data) }
            }
        }
    }

    // MARK: XML

    @Test func nestingIsLimited() {
        #expect(problem(Self.head + "<plist version=\"1.0\">\(Self.nested(127))</plist>") == nil)
        #expect(problem(Self.head + "<plist>\(Self.nested(128))</plist>") == PropertyListCheck.tooDeep)
        #expect(problem("<plist>" + String(repeating: "<array/>", count: 1_000) + "</plist>") == nil)
        #expect(problem("<plist><array>" + String(repeating: "<dict></dict>", count: 1_000)) == nil)
        #expect(problem("<plist><dict a='b'\n></dict ></plist >") == nil)
        // An element that one reader treats as empty, and another reader as open.
        #expect(problem("<plist><dict><key/></key></dict></plist>") == "its XML is malformed")
    }

    /// Text that hides a tag from one reader does not hide the tag from another reader.
    @Test(
        arguments: [
            "<!-- \(String(repeating: "</a>", count: 1_000)) -->",
            "<string><![CDATA[\(String(repeating: "</a>", count: 1_000))]]></string>",
            "<?x \(String(repeating: "</a>", count: 1_000)) ?>", "<string>⼼a></string>", "<!-- > < -->",
        ])
    func textThatResemblesATagDoesNotCount(_ text: String) {
        #expect(problem("<plist>\(text)\(Self.nested(127))") == nil)
        #expect(problem("<plist>\(text)\(Self.nested(128))") == PropertyListCheck.tooDeep)
    }

    @Test(
        arguments: [
            "<plist></a></plist></b>", "</plist>", "<plist><array x=\"/>\"></plist>", "<plist><array x=\"</a>\"></plist>", "<plist><a", "<",
            "<plist><",
            "<plist><!-- ", "<plist><![CDATA[", "<?xml", "<!DOCTYPE plist [ <!ENTITY a \"b\"> ]><plist/>", "<plist><>", "<plist x='>",
            "<plist><?>", "<plist><!-->", "<plist><!--->", "<!DOCTYPE plist [ > </a> ]><plist/>", "<plist><?x",
        ])
    func malformedXMLIsRefused(_ text: String) { #expect(problem(text) == "its XML is malformed") }

    /// If a reader finds the end of a comment at another place, the reader finds at most the counted tags.
    @Test(arguments: [("<!-- ", " -->"), ("<![CDATA[", "]]>"), ("<?x ", "?>")]) func hiddenTagsCount(opening: String, closing: String) {
        func text(_ count: Int) -> String { "<plist>\(opening)\(String(repeating: "<array>", count: count))\(closing)</plist>" }
        #expect(problem(text(127)) == nil)
        #expect(problem(text(128)) == PropertyListCheck.tooDeep)
    }

    @Test(
        arguments: [
            "", "x", "{ a = 1; }", "((((", "  ", "bplist", "<?xml version=\"1.0\" encoding=\"UTF-7\"?><plist/>",
            "<?xml version='1.0' encoding='utf-16'?><plist/>", "<?xml encoding utf-8 encoding=\"UTF-7\"?><plist/>",
            "<?xml \(String(repeating: " ", count: 1_100)) encoding=\"UTF-7\"?><plist/>", "<?xml encoding = \"ISO-2022-JP\"?><plist/>",
            // A combining mark hides neither the name nor the sign before it.
            "<?xml encoding\u{301}=\"UTF-7\"?><plist/>", "<?xml encoding=\"\u{301}utf-8\"?><plist/>",
        ])
    func otherFormatsAreRefused(_ text: String) { #expect(problem(text) != nil) }

    @Test(arguments: ["encoding=\"utf-8\"", "encoding=\n'US-ASCII'", "ENCODING =\r\n\"UTF8\"", ""])
    func aKnownEncodingIsRead(_ declaration: String) {
        #expect(problem("<?xml version=\"1.0\" \(declaration)?><plist><array/></plist>") == nil)
    }

    /// Foundation ends the process at some of these.
    @Test(arguments: [[0xF8, 0x31, 0x32, 0x33, 0x34], [0xFF, 0x31], [0xC0, 0xAF], [0xED, 0xA0, 0x80]] as [[UInt8]])
    func bytesThatAreNotUTF8AreRefused(bytes: [UInt8]) {
        #expect(problem(Data("<plist><array><integer>".utf8) + bytes + Data("</integer></array></plist>".utf8)) == "it is not UTF-8")
    }

    /// Long names of combining marks take quadratic time to compare.
    @Test func longNamesAreRefused() throws {
        for name in [
            String(repeating: "\u{301}", count: 129), String(repeating: "&#x301;", count: 40), String(repeating: "x", count: 257) + "ä",
        ] {
            #expect(problem("<plist><dict><key>\(name)</key><string>x</string></dict></plist>") == PropertyListCheck.longName)
            #expect(problem("<plist><dict><key >\(name)<") != nil)
            let isRun = name.unicodeScalars.count == 129
            #expect(problem("<plist><dict><key>x</key><string>\(name)</string></dict></plist>") == (isRun ? MarkRun.problem : nil))
        }
        #expect(problem("<plist><dict><key>\(String(repeating: "x", count: 1_000))</key><string/></dict></plist>") == nil)
        for (name, expected) in [
            (String(repeating: "\u{301}", count: 200), PropertyListCheck.longName), (String(repeating: "\u{301}", count: 100), nil),
            (String(repeating: "x", count: 1_000), nil),
        ] {
            let data = try PropertyListSerialization.data(fromPropertyList: [name: name], format: .binary, options: 0)
            #expect(problem(data) == expected)
        }
    }

    /// Long runs of marks in values are also refused, because an app compares values.
    @Test func longRunsOfMarksAreRefused() throws {
        let (long, most) = (String(repeating: "\u{301}", count: 129), String(repeating: "\u{301}", count: 128))
        for text in [long, String(repeating: "&#x301;", count: 129), "\(most)<![CDATA[\u{316}]]>"] {
            #expect(problem("<plist><array><string>a\(text)</string></array></plist>") == MarkRun.problem)
        }
        #expect(problem("<plist><array><string>\(most)</string><string>\(most)</string></array></plist>") == nil)
        for (value, expected) in [("a" + long, MarkRun.problem), (String(repeating: "a" + most, count: 3), nil)] as [(String, String?)] {
            for list in [value, [value], ["name": value]] as [Any] {
                #expect(problem(try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)) == expected)
            }
        }
        // The same holds in UTF-8, which the format also permits.
        func utf8(_ text: String) -> Data {
            let octets = Array(text.utf8)
            return binary([[0x7F, 0x11, UInt8(octets.count >> 8), UInt8(octets.count & 0xFF)] + octets])
        }
        #expect(problem(utf8(long)) == MarkRun.problem && problem(utf8(most)) == nil)
    }

    @Test func otherEncodingsAreRefused() throws {
        for encoding in [String.Encoding.utf16, .utf16LittleEndian, .utf16BigEndian, .utf32] {
            #expect(problem(try #require("<plist></plist>".data(using: encoding))) == "it is not UTF-8")
        }
        #expect(problem(Data([0xEF, 0xBB, 0xBF]) + Data(" <plist></plist>".utf8)) == nil)
        #expect(problem("<?xml version='1.0' encoding='utf-8' ?><plist/>") == nil)
    }

    // MARK: Binary

    /// A list of these objects, the first of which is the top. References and offsets have two bytes.
    private func binary(_ objects: [[UInt8]], top: Int = 0, referenceSize: UInt8 = 2) -> Data {
        var data = Data("bplist00".utf8)
        var offsets: [Int] = []
        for object in objects {
            offsets.append(data.count)
            data += object
        }
        let table = data.count
        for offset in offsets { data += [UInt8(offset >> 8), UInt8(offset & 0xFF)] }
        data += [0, 0, 0, 0, 0, 0, 2, referenceSize]
        for number in [objects.count, top, table] { data += (0..<8).map { UInt8((number >> (56 - 8 * $0)) & 0xFF) } }
        return data
    }

    private func array(_ references: Int...) -> [UInt8] {
        [0xA0 | UInt8(references.count)] + references.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
    }

    @Test func binaryNestingIsLimited() {
        func nested(_ depth: Int) -> Data { binary((1...depth).map { $0 == depth ? [0x10, 7] : array($0) }) }
        #expect(problem(nested(129)) == nil)
        #expect(problem(nested(130)) == PropertyListCheck.tooDeep)
        #expect(problem(nested(10_000)) == PropertyListCheck.tooDeep)
    }

    @Test func recursiveOrSharedContainersAreRefused() {
        let again = "it refers to an array or a dictionary more than once"
        #expect(problem(binary([array(0)])) == again)
        #expect(problem(binary([array(1), array(0)])) == again)
        #expect(problem(binary([array(1, 1), array(2), [0x09]])) == again)
        // Numbers, texts and empty containers may be shared.
        #expect(problem(binary([array(1, 1, 2, 2), [0x09], [0xA0]])) == nil)
        // A text of 16 KiB, 15,000 times in 46 KB, is more than a list of a program would have.
        let text: [UInt8] = [0x5F, 0x11, 0x40, 0x00] + [UInt8](repeating: 0x61, count: 0x4000)
        let many: [UInt8] =
            [0xAF, 0x11, 0x3A, 0x98] + [UInt8](repeating: 0, count: 15_000 * 2).enumerated().map { $0.offset % 2 == 1 ? 1 : $0.element }
        #expect(problem(binary([many, text])) == "it refers to the same objects too often")
    }

    @Test func damagedBinaryListsAreRefused() {
        let damaged = "it is damaged"
        for objects: [[UInt8]] in [
            [array(7)], [[0xF0]], [[0xA5, 0, 0]], [[0xAF, 0x10]], [[0xAF, 0x13, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]],
            [[0xAF, 0x14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]], [[0x5F]], [[0xAF, 0x50]],
        ] { #expect(problem(binary(objects)) == damaged, "\(objects)") }
        #expect(problem(binary([[0x09]], top: 1)) == damaged)
        #expect(problem(binary([[0x09]], referenceSize: 0)) == damaged)
        let whole = binary([array(1, 2), [0x10, 7], [0x53, 0x61, 0x62, 0x63]])
        #expect(problem(whole) == nil)
        // No part of a list causes a trap, and no list with a changed byte causes a trap.
        for end in whole.indices { _ = problem(whole[..<end]) }
        for index in whole.indices.dropFirst(8) {
            for byte: UInt8 in [0, 1, 0x0F, 0x7F, 0x80, 0xFF] {
                var changed = whole
                changed[index] = byte
                if problem(changed) == nil { _ = try? PropertyListDecoder().decode(Anything.self, from: changed) }
            }
        }
    }

    @Test(
        arguments: [
            "<!--", "<![CDATA[", "\"", "-", "<!-- -->", "<a/>", "<a></a>", "<key>x</key>", "<a b='c'></a>",
            "<date>2026-01-01T00:00:00Z</date>", "&#x301;", "ä", "a\u{301}", "&#0", "<![CDATA[]]>\u{301}a",
            "<![CDATA[]]>", "]]", "?",
        ])
    func theTimeIsLinear(_ unit: String) {
        let times = growth(of: 2_000, making: { Data(("<plist>" + String(repeating: unit, count: $0)).utf8) }) { _ = problem($0) }
        #expect(times < 30, "8 times the bytes took \(times) times as long")
    }

    @Test func theTimeOfABinaryListIsLinear() throws {
        for value in [1, ["a"], ["name": "Ada"]] as [Any] {
            let times = growth(
                of: 200,
                making: {
                    (try? PropertyListSerialization.data(fromPropertyList: Array(repeating: value, count: $0), format: .binary, options: 0))
                        ?? Data()
                }
            ) { _ = problem($0) }
            #expect(times < 30, "8 times the elements took \(times) times as long")
        }
    }
}
