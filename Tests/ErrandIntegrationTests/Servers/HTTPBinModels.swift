#if SWIFT_NIO
internal import Errand

/// The description of a request by httpbin.
struct Echo: Decodable, Sendable {
    let url: String
    let args: [String: JSONValue]
    let headers: [String: String]
    /// By `/anything` alone.
    let method: String?
    // The body, for requests that may have a body.
    let data: String?
    let form: [String: JSONValue]?
    let json: JSONValue?
}

struct Order: Codable, Sendable, Equatable {
    let item: String
    let amount: Int

    static let tea = Order(item: "Grüner Tee", amount: 3)
    static let teaAsJSON = JSONValue.object(["item": .string("Grüner Tee"), "amount": .number(3)])
}

enum HTTPBin {
    static func get(_ query: URLQuery, headers: HTTPFields = HTTPFields()) -> Endpoint<Echo> {
        .get("/get", query: query, headers: headers)
    }

    static func anything(_ name: String) -> Endpoint<Echo> { .get("/anything/\(name, "name")") }

    static func status(_ code: Int) -> Endpoint<Void> { .get("/status/\(code, "code")") }

    static func redirect(_ kind: RedirectKind, _ hops: Int) -> Endpoint<Echo> { .get("/\(kind, "kind")/\(hops, "hops")") }

    /// Responds to `method` with a redirect to `target`.
    static func redirect(
        _ method: HTTPRequest.Method = .get, to target: String, status: Int, headers: HTTPFields = HTTPFields(), body: EndpointBody = .none
    ) -> Endpoint<Echo> {
        Endpoint(
            method, "/redirect-to", query: ["url": target, "status_code": status], headers: headers, body: body, decoding: .json)
    }

    enum RedirectKind: String, Sendable, CaseIterable {
        case any = "redirect"
        case relative = "relative-redirect"
        case absolute = "absolute-redirect"
    }
}
#endif
