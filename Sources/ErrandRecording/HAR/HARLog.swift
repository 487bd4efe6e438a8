public import ErrandCore

/// An HTTP archive, version 1.2: the file format that browsers' developer tools read and write.
///
/// Every member that the format requires is there; those that it makes optional are optional. Members that begin with an underscore
/// are additions, as the format allows; other readers pass over them. Sizes are in bytes and -1 where unknown, times in milliseconds.
public struct HARLog: Codable, Sendable, Hashable {
    /// Who made the file.
    public struct Creator: Codable, Sendable, Hashable {
        public var name: String
        public var version: String

        public init(name: String, version: String) { (self.name, self.version) = (name, version) }
    }

    /// `1.2`.
    public var version = "1.2"
    public var creator: Creator
    /// In the order in which they were begun.
    public var entries: [HAREntry]

    public init(creator: Creator = .errand, entries: [HAREntry] = []) { (self.creator, self.entries) = (creator, entries) }

    private struct File: Codable { var log: HARLog }

    /// Reads a file's content.
    ///
    /// - Throws: `DecodingError`.
    public init(fileContent: Data) throws {
        // A byte order mark is allowed.
        let text = fileContent.starts(with: [0xEF, 0xBB, 0xBF]) ? fileContent.dropFirst(3) : fileContent
        self = try JSONDecoder().decode(File.self, from: Data(text)).log
    }

    /// The file's content: UTF-8, indented, with its members sorted, so that two versions of a file compare line by line.
    ///
    /// - Throws: `EncodingError` for a number that JSON does not have.
    public func fileContent() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(File(log: self)) + Data("\n".utf8)
    }
}

extension HARLog.Creator {
    /// This library.
    public static let errand = HARLog.Creator(name: "Errand", version: "1")
}

/// One exchange of an archive.
public struct HAREntry: Codable, Sendable, Hashable {
    /// ISO 8601, with milliseconds.
    public var startedDateTime: String
    /// From the start to the end, or to where it broke off.
    public var time: Double
    public var request: HARRequest
    public var response: HARResponse
    public var cache = HARCache()
    public var timings: HARTimings
    public var comment: String?

    public init(startedDateTime: String, time: Double, request: HARRequest, response: HARResponse, timings: HARTimings) {
        (self.startedDateTime, self.time, self.request, self.response, self.timings) = (startedDateTime, time, request, response, timings)
    }
}

/// What a cache had to do with an exchange: here always nothing.
public struct HARCache: Codable, Sendable, Hashable {
    public init() {}
}

/// Where the time of an exchange went, in milliseconds. What is -1 is unknown.
public struct HARTimings: Codable, Sendable, Hashable {
    public var blocked: Double? = -1
    public var dns: Double? = -1
    public var connect: Double? = -1
    public var ssl: Double? = -1
    /// Recorded as 0: it can't be told from `wait`.
    public var send: Double
    /// Until the head of the response.
    public var wait: Double
    /// From there to the end of the body.
    public var receive: Double

    public init(send: Double = 0, wait: Double, receive: Double) { (self.send, self.wait, self.receive) = (send, wait, receive) }
}

/// A request of an archive.
public struct HARRequest: Codable, Sendable, Hashable {
    public var method: String
    /// Absolute, without a fragment.
    public var url: String
    /// `HTTP/1.1`, `HTTP/2`, or `unknown`.
    public var httpVersion: String
    /// Left empty: the fields hold them, replaced.
    public var cookies: [HARCookie] = []
    public var headers: [HARField]
    /// Names and values of the query, unescaped, in order.
    public var queryString: [HARField]
    /// Nil where nothing was sent.
    public var postData: HARPostData?
    public var headersSize = -1
    public var bodySize: Int

    public init(
        method: String, url: String, httpVersion: String = "unknown", headers: [HARField] = [], queryString: [HARField] = [],
        postData: HARPostData? = nil, bodySize: Int = -1
    ) {
        (self.method, self.url, self.httpVersion, self.headers) = (method, url, httpVersion, headers)
        (self.queryString, self.postData, self.bodySize) = (queryString, postData, bodySize)
    }
}

/// The body of a request.
public struct HARPostData: Codable, Sendable, Hashable {
    public var mimeType: String
    /// The pairs of a form, unescaped; nil for other bodies. The body is in ``text`` as well, as it was sent.
    public var params: [HARField]?
    /// Nil where it is not in the file.
    public var text: String?
    /// `base64` where ``text`` is that; nil for text. The format has this for responses alone.
    public var encoding: String?
    /// Why the body is not here, or not all of it; nil where it is.
    public var incomplete: HARIncomplete?

    public init(mimeType: String) { self.mimeType = mimeType }

    private enum CodingKeys: String, CodingKey {
        case mimeType, params, text
        case encoding = "_encoding"
        case incomplete = "_incomplete"
    }
}

/// A response of an archive.
public struct HARResponse: Codable, Sendable, Hashable {
    /// 0 where none came.
    public var status: Int
    public var statusText: String
    /// `HTTP/1.1`, `HTTP/2`, or `unknown`.
    public var httpVersion: String
    /// Left empty: the fields hold them, replaced.
    public var cookies: [HARCookie] = []
    public var headers: [HARField]
    public var content: HARContent
    /// The `Location`; empty where there is none.
    public var redirectURL = ""
    public var headersSize = -1
    /// -1 where it is not known what was on the wire: after decoding, or where the body was not read to its end.
    public var bodySize: Int
    /// The chunks of a streamed body, in order; nil for one that came at once.
    public var chunks: [HARChunk]?
    /// The trailer fields (RFC 9110, 6.5); nil where there were none.
    public var trailers: [HARField]?
    /// The coding that the body was decoded from before it was recorded; nil where it was recorded as it came.
    public var contentCoding: String?
    /// Why the body is not here, or not all of it; nil where it is.
    public var incomplete: HARIncomplete?
    /// What went wrong, in words.
    public var error: String?
    /// What went wrong, to be replayed.
    public var failure: HARFailure?

    public init(
        status: Int, statusText: String = "", httpVersion: String = "unknown", headers: [HARField] = [], content: HARContent,
        bodySize: Int = -1
    ) {
        (self.status, self.statusText, self.httpVersion, self.headers) = (status, statusText, httpVersion, headers)
        (self.content, self.bodySize) = (content, bodySize)
    }

    private enum CodingKeys: String, CodingKey {
        case status, statusText, httpVersion, cookies, headers, content, redirectURL, headersSize, bodySize
        case chunks = "_chunks"
        case trailers = "_trailers"
        case contentCoding = "_contentCoding"
        case incomplete = "_incomplete"
        case error = "_error"
        case failure = "_failure"
    }
}

/// The body of a response.
public struct HARContent: Codable, Sendable, Hashable {
    /// Of the decoded body, whether or not it is here.
    public var size: Int
    /// The `Content-Type`; empty where there was none.
    public var mimeType: String
    /// Nil where the body is empty, or not in the file.
    public var text: String?
    /// `base64` where ``text`` is that; nil for text.
    public var encoding: String?
    public var comment: String?

    public init(size: Int, mimeType: String) { (self.size, self.mimeType) = (size, mimeType) }
}

/// A name and a value: of a field, a query item or a form.
public struct HARField: Codable, Sendable, Hashable {
    public var name: String
    /// Nil where a form or a query has a name alone.
    public var value: String?
    /// `latin1` where the value is no UTF-8 and each of its characters stands for one byte; nil otherwise.
    public var encoding: String?

    public init(name: String, value: String?, encoding: String? = nil) { (self.name, self.value, self.encoding) = (name, value, encoding) }

    private enum CodingKeys: String, CodingKey {
        case name, value
        case encoding = "_encoding"
    }
}

/// A cookie, as browsers' files have them.
public struct HARCookie: Codable, Sendable, Hashable {
    public var name: String
    public var value: String

    public init(name: String, value: String) { (self.name, self.value) = (name, value) }
}

/// One chunk of a streamed body.
public struct HARChunk: Codable, Sendable, Hashable {
    public var bytes: Int
    /// Milliseconds from the head of the response.
    public var time: Double

    public init(bytes: Int, time: Double) { (self.bytes, self.time) = (bytes, time) }
}

/// Why a body is not in the file, or not all of it. An open set.
public struct HARIncomplete: RawRepresentable, Codable, Sendable, Hashable, CustomStringConvertible {
    public var rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// It was longer than what a recording keeps. Such an exchange is not replayed.
    public static let truncated = HARIncomplete(rawValue: "truncated")
    /// It was in a content coding, in which secrets can't be seen, and was not kept. Such an exchange is not replayed.
    public static let coded = HARIncomplete(rawValue: "coded")
    /// Nobody read it to its end, or had by the time of writing. What there is of it is replayed, and then fails.
    public static let unfinished = HARIncomplete(rawValue: "unfinished")

    public var description: String {
        switch self {
        case .truncated: "its body is longer than what was kept"
        case .coded: "its body is coded, and was not kept"
        case .unfinished: "its body was not read to its end"
        default: "its body is incomplete"
        }
    }
}

/// What a replay throws where an exchange failed: the parts of a ``TransportError``.
public struct HARFailure: Codable, Sendable, Hashable {
    public var code: String
    public var phase: String
    /// `no`, `maybe` or `yes`.
    public var delivery: String
    /// Whether the server said that it did not process the request (RFC 9113, 8.7). Not in the file unless it is true.
    public var isUnprocessed: Bool

    public init(code: String, phase: String, delivery: String, isUnprocessed: Bool = false) {
        (self.code, self.phase, self.delivery, self.isUnprocessed) = (code, phase, delivery, isUnprocessed)
    }

    private enum CodingKeys: String, CodingKey {
        case code, phase, delivery
        case isUnprocessed = "_unprocessed"
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        code = try container.decode(String.self, forKey: .code)
        phase = try container.decode(String.self, forKey: .phase)
        delivery = try container.decode(String.self, forKey: .delivery)
        isUnprocessed = try container.decodeIfPresent(Bool.self, forKey: .isUnprocessed) ?? false
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(code, forKey: .code)
        try container.encode(phase, forKey: .phase)
        try container.encode(delivery, forKey: .delivery)
        if isUnprocessed { try container.encode(true, forKey: .isUnprocessed) }
    }
}
