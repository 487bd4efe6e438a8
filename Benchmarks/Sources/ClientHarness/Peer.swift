/// The kinds of requests.
public enum Kind: String, CaseIterable, Sendable {
    /// GETs of a small body.
    case get
    /// GETs of a small body of JSON, decoded.
    case typed
    /// GETs of a large body, read in chunks.
    case download
    /// PUTs of a file, read while it is sent. The server responds with the number of bytes.
    case upload
}

/// The server and the settings with which a client is measured.
public struct Setting: Sendable {
    public let url: String
    /// The number of requests in progress at a time, and so of connections.
    public let atOnce: Int
    /// The PEM file of the authority to trust.
    public let authorityFile: String?
    /// Whether the server offers HTTP/2, and the client uses it.
    public let usesHTTP2: Bool
    /// The file to upload.
    public let uploadFile: String?
}

/// A client to measure.
public protocol Peer: Sendable {
    /// The executor of the client's calls; `nil`: Swift's thread pool.
    var executor: (any TaskExecutor)? { get }

    /// Makes `count` requests, one after the other.
    func run(_ kind: Kind, count: Int) async throws -> Share

    func shutdown() async throws
}

extension Peer {
    public var executor: (any TaskExecutor)? { nil }
}

/// A client that is called for each request.
public protocol CallPeer: Peer {
    /// Makes a request, and returns the number of body bytes.
    func request(_ kind: Kind) async throws -> Int
}

extension CallPeer {
    public func run(_ kind: Kind, count: Int) async throws -> Share {
        var share = Share(count: count)
        for _ in 0..<count { share.add(try await request(kind)) }
        return share
    }
}

/// An error: the response is not the expected one, or the client does not support the case.
public struct WrongResponse: Error, CustomStringConvertible {
    public let description: String
    public init(_ text: String) { description = text }

    /// The number that the server responds to an upload with.
    public static func checked(uploaded text: String) throws -> Int {
        guard let bytes = Int(text) else { throw WrongResponse("not a number of bytes: \(text)") }
        return bytes
    }
}

/// The JSON that the server sends for the small GET.
public struct Document: Decodable, Sendable {
    struct Item: Decodable {
        let id: Int
        let name: String
        let isActive: Bool
        let score: Double
        let tags: [String]
    }

    let page: Int
    let total: Int
    let title: String
    let items: [Item]

    /// Returns the number of items, after checking it.
    public func checkedCount() throws -> Int {
        guard total == items.count, !items.isEmpty else { throw WrongResponse("\(items.count) items of \(total)") }
        return items.count
    }
}
