import ErrandFormats
import Foundation

/// JSON of any shape, parsed, and three members read.
enum JSONCases {
    static func all() throws -> [Measured] {
        try [
            measured("a small response", smallResponse, calls: 2000, budget: (1, 100), read: membersOfSmall) { json in
                let user = json["user"] as? [String: Any]
                let city = (user?["address"] as? [String: Any])?["city"] as? String
                return length(user?["name"] as? String) + length(city) + (json["count"] as? Int ?? 0)
            },
            measured("a list of 1 MB", list, calls: 4, budget: (1, 200_000), read: membersOfList) { json in
                let items = json["items"] as? [[String: Any]] ?? []
                return (items[0]["id"] as? Int ?? 0) + length(items[4999]["title"] as? String) + length(json["next"] as? String)
            },
            measured("60 levels", deep, calls: 2000, budget: (1, 400), read: membersOfDeep) { json in
                let first = json["a"] as? [String: Any]
                let third = (first?["a"] as? [String: Any])?["a"] as? [String: Any]
                return (third?["value"] as? Int ?? 0) + (json["value"] as? Int ?? 0) + (first?["value"] as? Int ?? 0)
            },
            typed("a small response", smallResponse, calls: 2000, budget: (1, 100), as: Small.self, read: membersOfSmall) {
                $0.user.name.utf8.count + $0.user.address.city.utf8.count + $0.count
            },
            typed("a list of 1 MB", list, calls: 4, budget: (1, 200_000), as: List.self, read: membersOfList) {
                $0.items[0].id + $0.items[4999].title.utf8.count + $0.next.utf8.count
            },
        ]
    }

    private static func length(_ text: String?) -> Int { text?.utf8.count ?? 0 }

    @Sendable private static func membersOfSmall(_ json: JSONValue) -> Int {
        length(json.user.name.stringValue) + length(json.user.address.city.stringValue) + (json.count.intValue ?? 0)
    }

    @Sendable private static func membersOfList(_ json: JSONValue) -> Int {
        (json.items[0].id.intValue ?? 0) + length(json.items[4999].title.stringValue) + length(json.next.stringValue)
    }

    @Sendable private static func membersOfDeep(_ json: JSONValue) -> Int {
        (json.a.a.a.value.intValue ?? 0) + (json.value.intValue ?? 0) + (json.a.value.intValue ?? 0)
    }

    private static func measured(
        _ name: String, _ text: String, calls: Int, budget: (Double, Double), read: @escaping @Sendable (JSONValue) -> Int,
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

    private static func typed<Value: Decodable & SendableMetatype>(
        _ name: String, _ text: String, calls: Int, budget: (Double, Double), as type: Value.Type,
        read: @escaping @Sendable (JSONValue) -> Int, peer: @escaping @Sendable (Value) -> Int
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
