import Errand
import Foundation

/// A definition of the suite for caches: requests that a client sends one after the other, and the expected result of each.
struct CacheTest: Sendable {
    /// Whose cache is tested.
    enum Mode: String, CaseIterable {
        /// A cache of one user, as in a browser.
        case `private`
        /// A cache that several users share.
        case shared
    }

    let id: String
    let name: String
    let requests: [CacheTestRequest]
    private let members: [String: JSONValue]

    init?(_ json: JSONValue) {
        guard let members = json.objectValue, let id = json["id"].stringValue, let requests = json["requests"].arrayValue else {
            return nil
        }
        (self.members, self.id, name) = (members, id, json["name"].stringValue ?? "")
        self.requests = requests.enumerated().map { CacheTestRequest($1.objectValue ?? [:], number: $0 + 1) }
    }

    /// Whether the test is meant for a cache of a mode.
    func isFor(_ mode: Mode) -> Bool {
        let excluding = mode == .private ? ["cdn_only", "browser_skip"] : ["browser_only"]
        return !excluding.contains { members[$0]?.boolValue == true }
    }

    /// Whether a request has the field `Cookie`.
    var hasCookie: Bool {
        requests.contains { request in
            (request.members["request_headers"]?.arrayValue ?? []).contains {
                $0.arrayValue?.first?.stringValue?.lowercased() == "cookie"
            }
        }
    }

    /// The configuration of the server: the requests, each with the identifier and the name of the test.
    var configuration: JSONValue {
        JSONValue(requests.map { JSONValue($0.members.merging(["id": JSONValue(id), "name": JSONValue(name)]) { $1 }) })
    }

    /// Reads the definitions: an array of suites, each with an array of tests.
    ///
    /// - Throws: `DecodingError` for a file of another form.
    static func all(in file: Data) throws -> [CacheTest] {
        try JSONDecoder().decode([JSONValue].self, from: file).flatMap { suite in
            (suite["tests"].arrayValue ?? []).compactMap { CacheTest($0) }
        }
    }
}

/// A check of a test that did not hold.
struct CacheTestFailure: Error, Equatable {
    /// Whether the check belongs to the preparation of the test: the test then says nothing about the cache.
    let isSetup: Bool
    let message: String
}

/// The response to a request of a test, as the client got it.
struct CacheTestResponse: Sendable {
    var status: Int
    var fields: HTTPFields
    var body: String
    /// The informational responses before it.
    var interim: [HTTPResponse] = []
    /// Whether the client had no response, so that the runner has made a 504.
    var isSynthetic = false

    /// All values of a field, joined; `nil` if the field is missing.
    func value(of name: String) -> String? { HTTPField.Name(name).flatMap { fields[$0] } }
    func number(of name: String) -> Int? { value(of: name).flatMap { Int($0) } }
}
