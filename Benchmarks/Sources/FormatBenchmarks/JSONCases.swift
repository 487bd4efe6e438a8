import ErrandFormats
import Foundation

/// JSON of any shape, parsed, and three members read.
enum JSONCases {
    static func all() throws -> [Measured] {
        try [
            measured("a small response", smallResponse, calls: 2000, budget: (1, 100)) { json in
                (json.user.name.stringValue?.utf8.count ?? 0) + (json.user.address.city.stringValue?.utf8.count ?? 0) + (json.count.intValue ?? 0)
            } peer: { json in
                let user = json["user"] as? [String: Any]
                let name = (user?["name"] as? String)?.utf8.count
                return (name ?? 0) + (((user?["address"] as? [String: Any])?["city"] as? String)?.utf8.count ?? 0) + (json["count"] as? Int ?? 0)
            },
            measured("a list of 1 MB", list, calls: 4, budget: (1, 200_000)) { json in
                (json.items[0].id.intValue ?? 0) + (json.items[4999].title.stringValue?.utf8.count ?? 0) + (json.next.stringValue?.utf8.count ?? 0)
            } peer: { json in
                let items = json["items"] as? [[String: Any]] ?? []
                return (items[0]["id"] as? Int ?? 0) + ((items[4999]["title"] as? String)?.utf8.count ?? 0)
                    + ((json["next"] as? String)?.utf8.count ?? 0)
            },
            try typed("a small response", smallResponse, calls: 2000, budget: (1, 100), as: Small.self) { json in
                (json.user.name.stringValue?.utf8.count ?? 0) + (json.user.address.city.stringValue?.utf8.count ?? 0) + (json.count.intValue ?? 0)
            } peer: {
                $0.user.name.utf8.count + $0.user.address.city.utf8.count + $0.count
            },
            try typed("a list of 1 MB", list, calls: 4, budget: (1, 200_000), as: List.self) { json in
                (json.items[0].id.intValue ?? 0) + (json.items[4999].title.stringValue?.utf8.count ?? 0) + (json.next.stringValue?.utf8.count ?? 0)
            } peer: {
                $0.items[0].id + $0.items[4999].title.utf8.count + $0.next.utf8.count
            },
            measured("60 levels", deep, calls: 2000, budget: (1, 400)) { json in
                (json.a.a.a.value.intValue ?? 0) + (json.value.intValue ?? 0) + (json.a.value.intValue ?? 0)
            } peer: { json in
                let first = json["a"] as? [String: Any]
                let third = (first?["a"] as? [String: Any])?["a"] as? [String: Any]
                return (third?["value"] as? Int ?? 0) + (json["value"] as? Int ?? 0) + (first?["value"] as? Int ?? 0)
            },
        ]
    }

    private static func measured(
        _ name: String, _ text: String, calls: Int, budget: (Double, Double), _ read: @escaping @Sendable (JSONValue) -> Int,
        peer: @escaping @Sendable ([String: Any]) -> Int
    ) throws -> Measured {
        let data = Data(text.utf8)
        return Measured(
            name: "JSON: \(name)", peerName: "Foundation, JSONSerialization", bytes: data.count * calls, units: calls, budget: budget
        ) {
            var sum = 0
            for _ in 0..<calls { sum += read(try JSONValue(parsing: data)) }
            return sum
        } peer: {
            var sum = 0
            for _ in 0..<calls { sum += peer(try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]) }
            return sum
        }
    }

    private struct Small: Decodable {
        struct User: Decodable {
            struct Address: Decodable { var street, city, zip: String }
            var id: Int
            var name: String
            var address: Address
            var tags: [String]
            var admin: Bool
            var score: Double
        }
        var user: User
        var count: Int
        var next: String?
        var time: String
    }

    private struct List: Decodable {
        struct Item: Decodable {
            struct Stock: Decodable { var north, south: Int }
            var id: Int
            var title: String
            var price: Double
            var tags: [String]
            var stock: Stock
            var active: Bool
            var note: String
        }
        var items: [Item]
        var next: String
    }

    private static func typed<Value: Decodable>(
        _ name: String, _ text: String, calls: Int, budget: (Double, Double), as type: Value.Type,
        _ read: @escaping @Sendable (JSONValue) -> Int, peer: @escaping @Sendable (Value) -> Int
    ) throws -> Measured {
        let data = Data(text.utf8)
        return Measured(
            name: "JSON: \(name)", peerName: "Foundation, JSONDecoder", bytes: data.count * calls, units: calls, budget: budget
        ) {
            var sum = 0
            for _ in 0..<calls { sum += read(try JSONValue(parsing: data)) }
            return sum
        } peer: {
            let decoder = JSONDecoder()
            var sum = 0
            for _ in 0..<calls { sum += peer(try decoder.decode(Value.self, from: data)) }
            return sum
        }
    }

    private static let smallResponse = """
        {"user":{"id":7,"name":"Ada Lovelace","address":{"street":"12 St James's Square","city":"London","zip":"SW1Y 4JH"},
        "tags":["math","engines"],"admin":false,"score":19.25},"count":3,"next":null,"time":"2026-11-24T10:00:00Z"}
        """

    private static let list: String = {
        let items = (0..<5000).map { number in
            #"{"id":\#(number),"title":"Item number \#(number), with a title of its own","price":\#(number).95,"tags":["a","b"],"#
                + #""stock":{"north":\#(number % 17),"south":\#(number % 11)},"active":\#(number % 2 == 0),"note":"Zürich \u00e4 \n x"}"#
        }
        return #"{"items":["# + items.joined(separator: ",") + #"],"next":"/items?page=2"}"#
    }()

    private static let deep: String = {
        String(repeating: #"{"value":1,"list":[1,2,3],"a":"#, count: 60) + "null" + String(repeating: "}", count: 60)
    }()
}
