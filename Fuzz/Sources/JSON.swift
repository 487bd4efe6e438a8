import ErrandCore
import ErrandFormats
import ErrandRedaction
import Foundation

let jsonTargets = [
    Target("json", json), Target("json-number", jsonNumber), Target("json-decode", jsonDecode), Target("problem-details", problemDetails),
]

private func json(_ input: inout Input) {
    let bytes = input.bytes()
    let problem = bytes.withUnsafeBytes { JSONDepth.problem(in: $0, limit: JSONValue.depthLimit) }
    if let object = bytes.withUnsafeBytes({ JSONMembers.needed(["a", "error"], in: $0) }) {
        expect(object.first == UInt8(ascii: "{") && object.last == UInt8(ascii: "}"), "the needed members are no object")
        expect(object.count <= bytes.count + 2, "the needed members are longer than the text")
    }
    guard let value = try? JSONValue(parsing: bytes) else { return }
    // Names are counted there with their escapes.
    expect(problem?.contains("name") ?? true, "valid JSON is refused: \(problem ?? "")")
    let redaction = JSONRedaction(bytes, placeholder: "", isSensitive: { _ in false })
    expect(redaction.isValid && redaction.edits.isEmpty, "valid JSON is not valid to the redaction")
    let text = value.bytes()
    for written in [text, value.bytes(isIndented: true)] {
        let again = try? JSONValue(parsing: written)
        expectEqual(again, value, "a value changes when it is written and read")
        expectEqual(again?.bytes(), text, "a value changes its text when it is written and read")
    }
    expect(value.isSubset(of: value), "a value is not a subset of itself")
}

private func jsonNumber(_ input: inout Input) {
    let digits = Int(input.byte() % 40) + 1
    let text = input.text()
    guard let number = JSONNumber(text) else { return }
    expectEqual(JSONNumber(number.description), number, "a number changes when it is written and read")
    expectEqual(JSONNumber(number.description)?.description, number.description, "a number changes its text")
    if let exact = Double(text), let other = JSONNumber(exactly: exact) {
        expectEqual(number.doubleValue, exact, "a number is not the nearest Double")
        expectEqual(other.doubleValue, exact, "a Double changes in a number")
    }
    if let whole = number.intValue {
        expectEqual(JSONNumber(whole), number, "a whole number changes")
        expect(number.isWhole, "a whole number counts as a fraction")
    }
    let rounded = number.text(roundedTo: digits)
    guard let near = JSONNumber(rounded) else {
        // Rounded up beyond the range.
        expect(abs(number.doubleValue) > 1e307, "a rounded number is no number: \(rounded)")
        return
    }
    let difference = abs(near.doubleValue - number.doubleValue)
    expect(difference <= abs(number.doubleValue) * (digits < 2 ? 0.6 : 0.06) + .leastNormalMagnitude, "\(text) is rounded to \(rounded)")
}

/// A type of an app, which can nest.
private struct Model: Decodable {
    var value: JSONValue?
    var nested: [Model]?
    var createdAt: Date?
    var map: [String: Int]?
    var bytes: Data?
    var url: URL?
    var number: Float?
}

/// The result of Foundation's decoder for bytes that `JSONCoding` accepts.
private func jsonDecode(_ input: inout Input) {
    let settings = input.byte()
    let dates: [JSONCoding.Dates] = [.iso8601, .secondsSince1970, .millisecondsSince1970, .secondsSince2001]
    let coding = JSONCoding(dates: dates[Int(settings & 3)], keys: settings & 4 == 0 ? .asDeclared : .snakeCase)
    let bytes = input.bytes()
    let data = Data(bytes)
    _ = try? coding.decode(Model.self, from: data)
    guard let decoded = try? coding.decode([JSONValue].self, from: data), let value = try? JSONValue(parsing: bytes) else { return }
    // If several members have one name, or names that are equal as Unicode text, each decoder takes a different member.
    var names = 0
    _ = JSONRedaction(bytes, placeholder: "") { _ in
        names += 1
        return false
    }
    guard names == members(of: value) else { return }
    expect(areClose(.array(decoded), value), "a value within another type is read otherwise: \(decoded)")
}

/// The number of members, at any depth.
private func members(of value: JSONValue) -> Int {
    switch value {
    case .array(let elements): elements.reduce(0) { $0 + members(of: $1) }
    case .object(let object): object.values.reduce(object.count) { $0 + members(of: $1) }
    default: 0
    }
}

/// Whether two values are equal, with numbers as Swift's coders hold them: about 16 digits.
private func areClose(_ first: JSONValue, _ second: JSONValue) -> Bool {
    switch (first, second) {
    case (.number(let first), .number(let second)):
        return abs(first.doubleValue - second.doubleValue) <= abs(second.doubleValue) * 1e-15
    case (.array(let first), .array(let second)):
        return first.count == second.count && zip(first, second).allSatisfy { areClose($0, $1) }
    case (.object(let first), .object(let second)):
        return first.count == second.count && first.allSatisfy { areClose($0.value, second[$0.key] ?? .null) }
    default: return first == second
    }
}

private func problemDetails(_ input: inout Input) {
    let bytes = input.bytes()
    let value = try? JSONValue(parsing: bytes)
    let problem = try? ProblemDetails(parsing: bytes)
    expectEqual(problem != nil, value?.objectValue != nil, "problem details are a JSON object, and nothing else is")
    guard let problem, let members = value?.objectValue else { return }
    expect(problem.status.map { (100...599).contains($0) } ?? true, "a status that is none")
    expect(problem.extensions.allSatisfy { members[$0.key] == $0.value }, "an extension that is not in the body")
    _ = problem.description
}
