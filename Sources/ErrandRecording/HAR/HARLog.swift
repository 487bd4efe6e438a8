public import ErrandCore
internal import ErrandFormats

/// An HTTP archive, [version 1.2](http://www.softwareishard.com/blog/har-12-spec/): the file format that browsers' developer tools read and
/// write.
///
/// ```swift
/// let log = try HARLog(fileContent: Data(contentsOf: file))
/// log.entries.map(\.request.url)
/// ```
///
/// All members that the format requires are present. Members that begin with an underscore in the file are additions, which the format
/// allows and other readers ignore. Sizes are in bytes, and times are in milliseconds. The value -1 means that the size or the time is
/// unknown.
public struct HARLog: Codable, Sendable, Hashable {
    /// The program that created the file.
    public struct Creator: Codable, Sendable, Hashable {
        /// The name of the program.
        public var name: String
        /// The version of the program.
        public var version: String

        /// Creates a description of a program.
        public init(name: String, version: String) { (self.name, self.version) = (name, version) }
    }

    /// The version of the format: `1.2`.
    public var version = "1.2"
    /// The program that created the file.
    public var creator: Creator
    /// The exchanges, in the order in which they began.
    public var entries: [HAREntry]

    /// Creates a log.
    public init(creator: Creator = .errand, entries: [HAREntry] = []) { (self.creator, self.entries) = (creator, entries) }

    private struct File: Codable { var log: HARLog }

    /// Reads the content of a file.
    ///
    /// - Throws: `DecodingError` if the content isn't an HTTP archive.
    public init(fileContent: Data) throws {
        // A byte order mark is allowed. `JSONCoding` is not used, because `JSONCoding` refuses long runs of combining marks. A recorded
        // body may contain long runs of combining marks. The names of the members are fixed.
        self = try JSONDecoder().decode(File.self, from: Data(fileContent.withoutByteOrderMark)).log  // octets: a file of the app
    }

    /// Returns the content of a file: UTF-8, indented, with sorted members. Therefore, two versions can be compared line by
    /// line.
    ///
    /// - Throws: `EncodingError` for a number that JSON can't represent.
    public func fileContent() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(File(log: self)) + Data("\n".utf8)
    }
}

extension HARLog.Creator {
    /// The name and version that this library writes as the creator.
    public static let errand = HARLog.Creator(name: "Errand", version: "1")
}

/// One exchange in an archive.
public struct HAREntry: Codable, Sendable, Hashable {
    /// The time when the exchange began: ISO 8601, with milliseconds.
    public var startedDateTime: String
    /// The time from the beginning to the end or the failure, in milliseconds. The time is the sum of ``timings``.
    public var time: Double
    /// The request.
    public var request: HARRequest
    /// The response.
    public var response: HARResponse
    /// The use of the app's cache.
    public var cache = HARCache()
    /// `cache` if the response comes from the app's cache without a request, so that the entry has no exchange; `nil` for a response of the
    /// server. Browsers write `memory` or `disk`.
    public var fromCache: String?
    /// The times of the phases.
    public var timings: HARTimings
    /// The IP address of the server or proxy; `nil` if the address is not known, or if there was no exchange.
    public var serverIPAddress: String?
    /// The number of the connection, as in ``/ErrandCore/ConnectionInfo``; `nil` if the number is not known, or if there was no exchange.
    public var connection: String?
    /// A comment; `nil` without a comment.
    public var comment: String?

    /// Creates an entry.
    public init(startedDateTime: String, time: Double, request: HARRequest, response: HARResponse, timings: HARTimings) {
        self.startedDateTime = startedDateTime
        self.time = time
        self.request = request
        self.response = response
        self.timings = timings
    }

    private enum CodingKeys: String, CodingKey {
        case startedDateTime, time, request, response, cache, timings, serverIPAddress, connection, comment
        case fromCache = "_fromCache"
    }
}

/// The times of an exchange's phases, in milliseconds. The value -1 means that the time is unknown, or that the exchange did not have the
/// phase.
///
/// ``HAREntry/time`` is the sum of the times, without `ssl`, which is a part of `connect`, and without each -1.
///
/// If a transport reports the steps of connecting, an exchange that opens a connection has the times `dns`, `connect` and `ssl`.
/// The transport over SwiftNIO reports these steps. If a transport reports only that a connection is available, the whole time to
/// connect is in `blocked`. If a transport reports no steps, the whole time to connect is in `wait`.
public struct HARTimings: Codable, Sendable, Hashable {
    /// The time before the connection was available, without `dns` and `connect`. This time includes, for example, the time in a
    /// queue and failed attempts to connect.
    public var blocked: Double? = -1
    /// The time to resolve the host, in the last attempt to connect.
    public var dns: Double? = -1
    /// The time to connect, including the TLS handshake, in the last attempt to connect.
    public var connect: Double? = -1
    /// The time of the TLS handshake, which is a part of `connect`.
    public var ssl: Double? = -1
    /// The time to send the request; 0 if the transport does not report this time.
    public var send: Double
    /// The time from the end of the request to the head of the response.
    public var wait: Double
    /// The time from the head to the end of the body.
    public var receive: Double

    /// Creates times.
    public init(send: Double = 0, wait: Double, receive: Double) { (self.send, self.wait, self.receive) = (send, wait, receive) }
}

/// A request in an archive.
public struct HARRequest: Codable, Sendable, Hashable {
    /// The method.
    public var method: String
    /// The absolute URL, without a fragment.
    public var url: String
    /// The version: `HTTP/1.1`, `HTTP/2`, or `unknown`.
    public var httpVersion: String
    /// Always empty in a recording, because the redacted cookies are in the fields.
    public var cookies: [HARCookie] = []
    /// The header fields, in order.
    public var headers: [HARField]
    /// The names and values of the query, decoded, in order.
    public var queryString: [HARField]
    /// The body; `nil` if there is no body.
    public var postData: HARPostData?
    /// The size of the head: always -1 in a recording.
    public var headersSize = -1
    /// The size of the body on the wire; -1 if the size is unknown.
    public var bodySize: Int

    /// Creates a request.
    public init(
        method: String, url: String, httpVersion: String = "unknown", headers: [HARField] = [], queryString: [HARField] = [],
        postData: HARPostData? = nil, bodySize: Int = -1
    ) {
        self.method = method
        self.url = url
        self.httpVersion = httpVersion
        self.headers = headers
        (self.queryString, self.postData, self.bodySize) = (queryString, postData, bodySize)
    }
}

/// The body of a request.
public struct HARPostData: Codable, Sendable, Hashable {
    /// The `Content-Type`; empty if there is no such field.
    public var mimeType: String
    /// The pairs of a form, decoded; `nil` for other bodies. ``text`` contains the body as it was sent.
    public var params: [HARField]?
    /// The body as text; `nil` if the body is not in the file.
    public var text: String?
    /// `base64` if ``text`` is base64; `nil` if ``text`` is plain or missing. Any other encoding in a file is ignored. This member is an
    /// addition, because the format has the member only for responses.
    public var encoding: String?
    /// The reason why the body is missing or incomplete; `nil` if the body is complete.
    public var incomplete: HARIncomplete?

    /// Creates a body without content.
    public init(mimeType: String) { self.mimeType = mimeType }

    private enum CodingKeys: String, CodingKey {
        case mimeType, params, text
        case encoding = "_encoding"
        case incomplete = "_incomplete"
    }
}

/// A response in an archive.
public struct HARResponse: Codable, Sendable, Hashable {
    /// The status code; 0 if there was no response.
    public var status: Int
    /// The reason phrase of the status.
    public var statusText: String
    /// The version: `HTTP/1.1`, `HTTP/2`, or `unknown`.
    public var httpVersion: String
    /// Always empty in a recording, because the redacted cookies are in the fields.
    public var cookies: [HARCookie] = []
    /// The header fields, in order.
    public var headers: [HARField]
    /// The body.
    public var content: HARContent
    /// The `Location`; empty if there is no such field.
    public var redirectURL = ""
    /// The size of the head: always -1 in a recording.
    public var headersSize = -1
    /// The size of the body on the wire. If the body was decoded, or was not read to its end, the size is unknown, and the value is -1.
    public var bodySize: Int
    /// The chunks of a streamed body, in order; `nil` for a body in one piece.
    public var chunks: [HARChunk]?
    /// The trailer fields ([RFC 9110, section 6.5](https://www.rfc-editor.org/rfc/rfc9110#section-6.5)); `nil` if there were no
    /// trailer fields.
    public var trailers: [HARField]?
    /// The content coding from which the body was decoded before the recording. `nil`: the body was recorded as it arrived.
    public var contentCoding: String?
    /// The reason why the body is missing or incomplete; `nil` if the body is complete.
    public var incomplete: HARIncomplete?
    /// The failure, in words; `nil` if there was no failure.
    public var error: String?
    /// The failure, for replays; `nil` if there was no failure.
    public var failure: HARFailure?

    /// Creates a response.
    public init(
        status: Int, statusText: String = "", httpVersion: String = "unknown", headers: [HARField] = [], content: HARContent,
        bodySize: Int = -1
    ) {
        self.status = status
        self.statusText = statusText
        self.httpVersion = httpVersion
        self.headers = headers
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
    /// The size of the decoded body, even if the body is not in the file.
    public var size: Int
    /// The `Content-Type`; empty if there is no such field.
    public var mimeType: String
    /// The body as text; `nil` if the body is empty, or is not in the file.
    public var text: String?
    /// `base64` if ``text`` is base64; `nil` if ``text`` is plain or missing. Any other encoding in a file is ignored.
    public var encoding: String?
    /// A comment; `nil` without a comment.
    public var comment: String?

    /// Creates a body without content.
    public init(size: Int, mimeType: String) { (self.size, self.mimeType) = (size, mimeType) }
}

/// The name and the value of a header field, a query item or a form item.
public struct HARField: Codable, Sendable, Hashable {
    /// The name.
    public var name: String
    /// The value; `nil` for an item of a form or a query without an equals sign.
    public var value: String?
    /// `latin1` if the octets of the field are not UTF-8. Each character of ``value`` then represents one octet. `nil` if the octets are
    /// UTF-8. Any other encoding in a file is ignored.
    public var encoding: String?

    /// Creates a field.
    public init(name: String, value: String?, encoding: String? = nil) { (self.name, self.value, self.encoding) = (name, value, encoding) }

    private enum CodingKeys: String, CodingKey {
        case name, value
        case encoding = "_encoding"
    }
}

/// A cookie, as in browsers' files.
public struct HARCookie: Codable, Sendable, Hashable {
    /// The name.
    public var name: String
    /// The value.
    public var value: String

    /// Creates a cookie.
    public init(name: String, value: String) { (self.name, self.value) = (name, value) }
}

/// One chunk of a streamed body.
public struct HARChunk: Codable, Sendable, Hashable {
    /// The length in bytes.
    public var bytes: Int
    /// The time since the head of the response, in milliseconds.
    public var time: Double

    /// Creates a chunk.
    public init(bytes: Int, time: Double) { (self.bytes, self.time) = (bytes, time) }
}

/// The reason why a body is missing or incomplete in the file. An open set.
public struct HARIncomplete: RawRepresentable, Codable, Sendable, Hashable, CustomStringConvertible {
    /// The reason, as written in the file.
    public var rawValue: String
    /// Creates a reason from its text in the file.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The body was longer than the limit of the recording. The exchange can't be replayed.
    public static let truncated = HARIncomplete(rawValue: "truncated")
    /// The body was not kept, because secrets can't be found in a body with a content coding. The exchange can't be replayed.
    public static let coded = HARIncomplete(rawValue: "coded")
    /// The body was not kept, because its text has a syntax in which secrets can't be found, such as HTML. The exchange can't be replayed.
    /// With `keepsUnknownText: true`, a ``Recording`` keeps the body.
    public static let hidden = HARIncomplete(rawValue: "hidden")
    /// The body was not read to its end before the file was written. A replay returns the recorded part, and then fails.
    public static let unfinished = HARIncomplete(rawValue: "unfinished")

    public var description: String {
        switch self {
        case .truncated: "its body is longer than the recorded part"
        case .coded: "its body was encoded and not recorded"
        case .hidden: "its body is text of an unknown syntax, and is only recorded with keepsUnknownText: true"
        case .unfinished: "its body was not read to its end"
        default: "its body is incomplete"
        }
    }
}

/// The failure that a replay throws: the parts of a ``/ErrandCore/TransportError``.
public struct HARFailure: Codable, Sendable, Hashable {
    /// The code, as in ``/ErrandCore/TransportError``.
    public var code: String
    /// The phase, as in ``/ErrandCore/ExchangePhase``.
    public var phase: String
    /// Whether the request was sent: the raw value of an ``/ErrandCore/Delivery``.
    public var delivery: String

    /// Creates a failure.
    public init(code: String, phase: String, delivery: String) {
        (self.code, self.phase, self.delivery) = (code, phase, delivery)
    }
}
