import ErrandFormats
import Foundation
import TestSupport
import Testing

/// The public vectors for structured fields, both ways. None differs.
@Suite(.timeLimit(.minutes(5)), .enabled(if: Suites.folder != nil, Comment(rawValue: Suites.missing)))
struct StructuredFieldSuiteTests {
    /// Any of the three.
    enum Field: Equatable {
        case item(StructuredItem)
        case list(StructuredList)
        case dictionary(StructuredDictionary)

        init(parsing text: String, as type: String) throws {
            switch type {
            case "item": self = .item(try StructuredItem(parsing: text))
            case "list": self = .list(try StructuredList(parsing: text))
            default: self = .dictionary(try StructuredDictionary(parsing: text))
            }
        }

        func serialized() throws -> String? {
            switch self {
            case .item(let item): try item.serialized()
            case .list(let list): try list.serialized()
            case .dictionary(let dictionary): try dictionary.serialized()
            }
        }
    }

    private struct Case {
        let name: String
        let raw: [String]?
        let type: String
        let expected: Field?
        let canonical: [String]?
        let mustFail: Bool
        let canFail: Bool
    }

    private func cases(_ folder: String) throws -> [Case] {
        let base = try #require(Suites.folder).appendingPathComponent(folder)
        let files = try FileManager.default.contentsOfDirectory(at: base, includingPropertiesForKeys: nil)
        return try files.filter { $0.pathExtension == "json" }.sorted { $0.path < $1.path }.flatMap { file in
            try JSONText.value(of: Data(contentsOf: file)).array.map { test in
                let type = test["header_type"]?.string ?? ""
                return Case(
                    name: "\(file.lastPathComponent): \(test["name"]?.string ?? "")", raw: test["raw"]?.array.map(\.string), type: type,
                    expected: test["expected"].map { field($0, type) }, canonical: test["canonical"]?.array.map(\.string),
                    mustFail: test["must_fail"] == .bool(true), canFail: test["can_fail"] == .bool(true))
            }
        }
    }

    private func field(_ json: JSONText, _ type: String) -> Field {
        switch type {
        case "item": .item(item(json))
        case "list": .list(StructuredList(json.array.map(member)))
        default:
            .dictionary(
                json.array.reduce(into: StructuredDictionary()) { $0[$1.array[0].string] = member($1.array[1]) })
        }
    }

    private func member(_ json: JSONText) -> StructuredMember {
        guard case .array(let items) = json.array[0] else { return .item(item(json)) }
        return .innerList(StructuredInnerList(items.map(item), parameters: parameters(json.array[1])))
    }

    private func item(_ json: JSONText) -> StructuredItem { StructuredItem(bare(json.array[0]), parameters: parameters(json.array[1])) }

    private func parameters(_ json: JSONText) -> StructuredParameters {
        json.array.reduce(into: StructuredParameters()) { $0[$1.array[0].string] = bare($1.array[1]) }
    }

    private func bare(_ json: JSONText) -> StructuredBareItem {
        switch json {
        case .integer(let number): .integer(number)
        case .decimal(let number): .decimal(number)
        case .bool(let value): .boolean(value)
        case .string(let text): .string(text)
        default:
            switch (json["__type"]?.string ?? "", json["value"]) {
            case ("token", let value?): .token(value.string)
            case ("binary", let value?): .byteSequence(base32(value.string))
            case ("displaystring", let value?): .displayString(value.string)
            case ("date", .integer(let seconds)?): .date(secondsSinceEpoch: seconds)
            default: .token("")  // equal to nothing
            }
        }
    }

    private func base32(_ text: String) -> [UInt8] {
        var (bytes, bits, count) = ([UInt8](), UInt32(0), 0)
        for digit in text.utf8.prefix(while: { $0 != UInt8(ascii: "=") }) {
            let value = digit >= UInt8(ascii: "A") ? digit - UInt8(ascii: "A") : digit - UInt8(ascii: "2") + 26
            (bits, count) = ((bits << 5 | UInt32(value)) & 0xFFF, count + 5)
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        return bytes
    }

    @Test func everyFieldIsReadOrRefused() throws {
        let cases = try cases("structured-fields")
        #expect(cases.count >= 1_591)
        for test in cases {
            let text = try #require(test.raw, "\(test.name)").joined(separator: ", ")
            let field = try? Field(parsing: text, as: test.type)
            if test.canFail, field == nil { continue }
            let isRight = field == (test.mustFail ? nil : test.expected)
            #expect(isRight, "\(test.name): \(field.map { "\($0)" } ?? "refused")")
        }
    }

    @Test func everyValueIsWrittenInItsCanonicalForm() throws {
        for test in try cases("structured-fields") where !test.mustFail {
            let lines = try #require(test.expected, "\(test.name)").serialized().map { [$0] } ?? []
            #expect(lines == test.canonical ?? test.raw, "\(test.name)")
        }
    }

    @Test func everyValueThatCannotBeWrittenIsRefused() throws {
        let cases = try cases("structured-fields/serialisation-tests")
        #expect(cases.count >= 544)
        for test in cases {
            let text = try? test.expected?.serialized()
            #expect(text.map { [$0] } == (test.mustFail ? nil : test.canonical), "\(test.name)")
        }
    }
}

/// JSON that keeps `1` and `1.0` apart, as no decoder does.
private indirect enum JSONText: Equatable {
    case null, bool(Bool), integer(Int64), decimal(Double), string(String), array([JSONText]), object([String: JSONText])

    static func value(of data: Data) throws -> JSONText {
        var reader = Reader(bytes: Array(data))
        return try reader.value()
    }

    var array: [JSONText] { if case .array(let elements) = self { elements } else { [] } }
    var string: String { if case .string(let text) = self { text } else { "" } }
    subscript(name: String) -> JSONText? { if case .object(let members) = self { members[name] } else { nil } }

    private struct Reader {
        let bytes: [UInt8]
        var place = 0

        init(bytes: [UInt8]) { self.bytes = bytes }

        mutating func skip(_ more: String = "") {
            while place < bytes.count, (" \n\r\t" + more).utf8.contains(bytes[place]) { place += 1 }
        }

        mutating func value() throws -> JSONText {
            skip()
            let start = place
            switch bytes[place] {
            case UInt8(ascii: "["):
                var elements: [JSONText] = []
                place += 1
                skip()
                while bytes[place] != UInt8(ascii: "]") {
                    elements.append(try value())
                    skip(",")
                }
                place += 1
                return .array(elements)
            case UInt8(ascii: "{"):
                var members: [String: JSONText] = [:]
                place += 1
                skip()
                while bytes[place] != UInt8(ascii: "}") {
                    let name = try value().string
                    skip(":")
                    members[name] = try value()
                    skip(",")
                }
                place += 1
                return .object(members)
            case UInt8(ascii: "\""):
                place += 1
                while bytes[place] != UInt8(ascii: "\"") { place += bytes[place] == UInt8(ascii: "\\") ? 2 : 1 }
                place += 1
                return .string(try JSONDecoder().decode(String.self, from: Data(bytes[start..<place])))
            default:
                while !",]} \n\r\t".utf8.contains(bytes[place]) { place += 1 }
                let word = String(decoding: bytes[start..<place], as: UTF8.self)
                if let number = Int64(word) { return .integer(number) }
                if let number = Double(word) { return .decimal(number) }
                return word == "null" ? .null : .bool(word == "true")
            }
        }
    }
}
