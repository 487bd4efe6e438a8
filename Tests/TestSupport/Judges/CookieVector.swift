/// A case of the cookie suite in ``Suites``: the received `Set-Cookie` values, and the cookies of the next request.
public struct CookieVector: Decodable, Sendable {
    /// The name and the value of a cookie.
    public struct Pair: Codable, Sendable, Hashable {
        public let name: String
        public let value: String

        public init(name: String, value: String) { (self.name, self.value) = (name, value) }
    }

    private enum CodingKeys: String, CodingKey {
        case name = "test"
        case received, sent, excluded
        case sentBy6265bis = "sent_6265bis"
        case target = "sent-to"
    }

    public let name: String
    public let received: [String]
    /// Why nobody has to pass the case; `nil` for the other cases.
    public let excluded: String?
    private let sent: [Pair]
    private let sentBy6265bis: [Pair]?
    private let target: String?

    /// The URL of the response.
    public var url: String { "http://home.example.org:8888/cookie-parser?\(name)" }
    /// The URL of the next request.
    public var nextURL: String {
        let target = target ?? "/cookie-parser-result?\(name)"
        return target.hasPrefix("http") ? target : "http://home.example.org:8888" + target
    }
    /// The cookies of the next request, in order, by RFC 6265bis.
    public var expected: [Pair] { sentBy6265bis ?? sent }

    /// The 111 cases, without the case that its authors have disabled.
    public static func all() throws -> [CookieVector] { try Suites.load("cookies/vectors.json", as: [CookieVector].self) }
}
