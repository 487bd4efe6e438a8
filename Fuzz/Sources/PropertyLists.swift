import ErrandCore
import Foundation

@testable import ErrandFormats

// Property lists, which Foundation reads once the check lets them through, and forms as values.

let valueTargets = [Target("property-list", propertyList), Target("form-decode", formDecode)]

/// Any value, as a type of an app reads it.
private indirect enum Anything: Decodable {
    case list([Anything])
    case members([String: Anything])
    case value

    init(from decoder: any Decoder) throws {
        guard let container = try? decoder.singleValueContainer() else { throw CancellationError() }
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

private func propertyList(_ input: inout Input) {
    var bytes = input.bytes()
    // Most inputs are not far from a list.
    if let first = bytes.first, first & 1 == 1 { bytes = Array("<plist><array>".utf8) + bytes.dropFirst() + Array("</array></plist>".utf8) }
    guard bytes.withUnsafeBytes({ PropertyListCheck.problem(in: $0) }) == nil else { return }
    _ = try? PropertyListDecoder().decode(Anything.self, from: Data(bytes))
}

private func formDecode(_ input: inout Input) {
    struct Model: Decodable {
        var text: String?
        var number: Int?
        var ratio: Double?
        var list: [Anything]?
        var at: Date?
        var json: JSONValue?
    }
    let coding = JSONCoding(keys: input.byte() & 1 == 0 ? .asDeclared : .snakeCase)
    let data = Data(input.bytes())
    _ = try? FormURLEncoded.decode(Model?.self, from: data, coding: coding)
    _ = try? FormURLEncoded.decode([String: Anything].self, from: data, coding: coding)
    guard let lists = try? FormURLEncoded.decode([String: [String]].self, from: data, coding: coding) else { return }
    let pairs = FormURLEncoded.decode(String(decoding: data, as: UTF8.self))
    expectEqual(lists.values.map(\.count).reduce(0, +), pairs.count, "members of a form are lost")
}
