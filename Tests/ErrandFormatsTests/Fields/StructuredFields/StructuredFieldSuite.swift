import ErrandFormats
import Foundation

/// The public vectors for structured fields, both ways. The program `conformance` runs them too: its folder has a link to this file.
struct StructuredFieldSuite {
    /// The results of a run.
    struct Report {
        /// The number of texts in the parsing vectors.
        var parsed = 0
        /// The number of values in the serializing vectors.
        var serialized = 0
        /// The differences from the vectors, a line for each.
        var differences: [String] = []

        fileprivate mutating func check(_ isRight: Bool, _ test: Case, _ what: @autoclosure () -> String) {
            if !isRight { differences.append("\(test.name): \(what())") }
        }
    }

    /// The folder `structured-fields`.
    let folder: URL

    /// Runs all vectors.
    ///
    /// - Throws: the error of Foundation if a folder or a file can't be read.
    func run() throws -> Report {
        var report = Report()
        for test in try cases(in: folder) {
            let text = test.raw?.joined(separator: ", ") ?? ""
            let field = try? Field(parsing: text, as: test.type)
            report.parsed += 1
            if !test.canFail || field != nil {
                report.check(field == (test.mustFail ? nil : test.expected), test, "parsed: \(field.map { "\($0)" } ?? "refused")")
            }
            if !test.mustFail { check(test, test.canonical ?? test.raw, &report) }
        }
        for test in try cases(in: folder.appendingPathComponent("serialisation-tests")) {
            check(test, test.mustFail ? nil : test.canonical, &report)
        }
        return report
    }

    private func check(_ test: Case, _ expected: [String]?, _ report: inout Report) {
        report.serialized += 1
        let lines = Result { try (test.expected?.serialized()).map { [$0] } ?? [] }
        report.check((try? lines.get()) == expected, test, "serialized: \(lines)")
    }

    /// An item, a list or a dictionary.
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

    fileprivate struct Case {
        let name: String
        let raw: [String]?
        let type: String
        let expected: Field?
        let canonical: [String]?
        let mustFail: Bool
        let canFail: Bool
    }

    private func cases(in folder: URL) throws -> [Case] {
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
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
}

/// JSON that distinguishes `1` and `1.0`, which no decoder does.
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
