import ErrandCore
import ErrandFormats
import Foundation

/// Forms, queries and structured fields.
enum FieldCases {
    static func all() throws -> [Measured] {
        [
            encodePairs(budget: (1, 16)), try encodeValue(budget: (7, 61)), decodePairs(budget: (1.5, 50)),
            try parseFields(budget: (12, 24)), try writeFields(budget: (30, 8)),
        ]
    }

    private static let calls = 2000

    struct Order: Encodable {
        var customer = "Ada Lovelace"
        var street = "12 St James's Square"
        var city = "Zürich"
        var mail = "ada+orders@a.example"
        var quantity = 12
        var price = 19.5
        var gift = true
        var note = "Please ring twice & leave it at the door = 50% chance that I'm in."
    }

    private static let pairs = [
        (name: "customer", value: "Ada Lovelace"), (name: "street", value: "12 St James's Square"), (name: "city", value: "Zürich"),
        (name: "mail", value: "ada+orders@a.example"), (name: "quantity", value: "12"), (name: "price", value: "19.5"),
        (name: "gift", value: "true"), (name: "note", value: "Please ring twice & leave it at the door = 50% chance that I'm in."),
    ]

    private static func encodePairs(budget: (Double, Double)) -> Measured {
        let length = FormURLEncoded.encode(pairs).utf8.count
        let allowed = CharacterSet(charactersIn: "*-._abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
        @Sendable func escaped(_ text: String) -> String { text.addingPercentEncoding(withAllowedCharacters: allowed) ?? "" }
        return Measured(
            name: "a form of 8 pairs", peerName: "Foundation, addingPercentEncoding", bytes: length * calls, units: calls, budget: budget
        ) {
            var count = 0
            for _ in 0..<calls { count += FormURLEncoded.encode(pairs).isEmpty ? 0 : 1 }
            return count
        } peer: {
            var count = 0
            for _ in 0..<calls {
                count += pairs.map { escaped($0.name) + "=" + escaped($0.value) }.joined(separator: "&").isEmpty ? 0 : 1
            }
            return count
        }
    }

    private static func encodeValue(budget: (Double, Double)) throws -> Measured {
        let order = Order()
        let length = try FormURLEncoded.encode(order).utf8.count
        let encoder = JSONEncoder()
        return Measured(
            name: "a form of an Encodable with 8 members", peerName: "Foundation, JSONEncoder", bytes: length * calls, units: calls,
            budget: budget
        ) {
            var count = 0
            for _ in 0..<calls { count += try FormURLEncoded.encode(order).isEmpty ? 0 : 1 }
            return count
        } peer: {
            var count = 0
            for _ in 0..<calls { count += try encoder.encode(order).isEmpty ? 0 : 1 }
            return count
        }
    }

    /// The decoder of forms is not public. It reads the same pairs.
    private static func decodePairs(budget: (Double, Double)) -> Measured {
        let text = FormURLEncoded.encode(pairs).replacing("+", with: "%20")
        return Measured(
            name: "a query of 8 pairs, read", peerName: "Foundation, removingPercentEncoding", bytes: text.utf8.count * calls, units: calls,
            budget: budget
        ) {
            var sum = 0
            for _ in 0..<calls {
                for item in URLQuery(percentEncoded: text).items { sum += item.name.utf8.count + (item.value?.utf8.count ?? 0) }
            }
            return sum
        } peer: {
            var sum = 0
            for _ in 0..<calls {
                for item in text.utf8.split(separator: UInt8(ascii: "&")) {
                    for part in item.split(separator: UInt8(ascii: "="), maxSplits: 1) {
                        sum += Substring(part).removingPercentEncoding?.utf8.count ?? 0
                    }
                }
            }
            return sum
        }
    }

    private static let field =
        #"ExampleCache; hit; ttl=1100, "edge cache"; fwd=uri-miss; stored; detail="from origin", (a b;q=0.9 c);lvl=5, :cHJldGVuZA==:, 42, -1.5, @1659578233"#

    private static func parseFields(budget: (Double, Double)) throws -> Measured {
        Measured(
            name: "a structured field of 7 members, read", peerName: "split at commas, Strings", bytes: field.utf8.count * calls,
            units: calls,
            budget: budget
        ) {
            var sum = 0
            for _ in 0..<calls { sum += try StructuredList(parsing: field).members.count }
            return sum
        } peer: {
            var sum = 0
            for _ in 0..<calls { sum += field.utf8.split(separator: UInt8(ascii: ",")).map { String(Substring($0)) }.count }
            return sum
        }
    }

    private static func writeFields(budget: (Double, Double)) throws -> Measured {
        let list = try StructuredList(parsing: field)
        let length = try list.serialized()?.utf8.count ?? 0
        let texts = try list.members.map { try StructuredList([$0]).serialized() ?? "" }
        return Measured(
            name: "a structured field of 7 members, written", peerName: "join ready Strings", bytes: length * calls, units: calls,
            budget: budget
        ) {
            var sum = 0
            for _ in 0..<calls { sum += try list.serialized()?.utf8.count ?? 0 }
            return sum
        } peer: {
            var sum = 0
            for _ in 0..<calls { sum += texts.joined(separator: ", ").utf8.count }
            return sum
        }
    }
}
